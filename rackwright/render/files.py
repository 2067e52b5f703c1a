"""Every cluster-wide file that a plan makes, by its path below the output folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.render import boot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwright.plan.model import Plan

BOOT = "boot"
"""Folder of the boot seeds."""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file."""

    path: str
    """Relative, with ``/``."""
    content: str


def rendered(plan: Plan, authorized_keys: Sequence[str]) -> Iterator[RenderedFile]:
    """All files, each once.

    Args:
        plan: the plan.
        authorized_keys: public keys that may log in to the hosts.
    """
    for seed in boot.seeds(plan, authorized_keys):
        yield RenderedFile(f"{BOOT}/{seed.path}", seed.content)
