"""Every cluster-wide file that a plan makes, by its path below the output folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.catalogue.load import load
from rackwright.render import boot, host_files, slurm, slurm_links
from rackwright.render.fabric import kept, opensm
from rackwright.render.slurm_keys import FILES, refuse_strange_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Network

BOOT = "boot"
"""Folder of the boot seeds."""
SLURM = "slurm"
"""Folder of the schedulers' files: ``slurm/main/slurm.conf``."""
SUBNETS = "subnet_manager"
"""Folder of the subnet managers' files: ``subnet_manager/mgmt-001/compute/opensm.conf``."""


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file."""

    path: str
    """Relative, with ``/``."""
    content: str


def rendered(
    plan: Plan, authorized_keys: Sequence[str], found: Mapping[str, Network] | None = None
) -> Iterator[RenderedFile]:
    """All files, each once.

    Args:
        plan: the plan.
        authorized_keys: public keys that may log in to the hosts.
        found: subnet → the network that was found in it, where one is kept.
    """
    for seed in boot.seeds(plan, authorized_keys):
        yield RenderedFile(f"{BOOT}/{seed.path}", seed.content)
    yield from for_roles(plan, found=found)


def for_roles(
    plan: Plan, launched: Mapping[str, str] | None = None, found: Mapping[str, Network] | None = None
) -> Iterator[RenderedFile]:
    """What roles lay out: all but the boot seeds, which a host has before any role.

    Args:
        plan: the plan.
        launched: slot → address, of those whose address is not planned.
        found: subnet → the network that was found in it, where one is kept.

    Raises:
        RenderedInvalid: a file has a key that its release of Slurm does not know.
    """
    for path, text in host_files.files(plan, launched):
        yield RenderedFile(path, text)
    releases = load().slurm if plan.slurm else {}
    for name, scheduler in plan.slurm.items():
        for path, content in slurm.files(scheduler).items():
            if path in FILES and scheduler.version in releases:  # else SLURM014 says that nobody looks
                refuse_strange_keys(path, content, releases[scheduler.version])
            yield RenderedFile(f"{SLURM}/{name}/{path}", content)
        links = slurm_links.links_file(plan, scheduler)
        if links:
            yield RenderedFile(f"{SLURM}/{name}/{slurm_links.NAME}", links)
    for path, text in opensm.of_hosts(plan, found or {}):
        yield RenderedFile(f"{SUBNETS}/{path}", text)


def write_all(plan: Plan, folder: Path, launched: Mapping[str, str] | None = None) -> list[RenderedFile]:
    """Write `for_roles` below a folder; a file of an earlier plan that is in this one no more goes.

    Args:
        plan: the plan.
        folder: `paths.rendered` of its cluster; nothing else lies there.
        launched: slot → address, of those whose address is not planned.

    Raises:
        OSError: a file could not be written whole; it is then the old one.
    """
    found = kept.networks(plan)
    files = sorted(for_roles(plan, launched, found), key=lambda file: file.path)
    for file in files:
        canonical.write_atomic(folder / file.path, file.content)
    _take_away(folder, {folder / file.path for file in files})
    return files


def _take_away(folder: Path, kept: set[Path]) -> None:
    """Files beside the kept ones, and the folders that are then empty."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif path not in kept:
            path.unlink()
