"""One key of one of Slurm's files in, what is wrong with it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.findings import did_you_mean

if TYPE_CHECKING:
    from rackwright.catalogue.slurm import SlurmKeys


@dataclass(frozen=True, slots=True)
class KeyFault:
    """Why a key may not stand where it does."""

    problem: str
    """``unknown`` or ``retired``."""
    hint: str


def judge(keys: SlurmKeys, key: str) -> KeyFault | None:
    """What is wrong with a key, whatever its case; None where nothing is."""
    lower = key.lower()
    if lower in {known.lower() for known in keys.known}:
        return None
    for retired, instead in keys.retired.items():
        if retired.lower() == lower:
            return KeyFault("retired", f"write {instead}" if instead else "take it away: nothing replaces it")
    near = did_you_mean(key, keys.known)
    return KeyFault("unknown", near or "see the manual page of that release")
