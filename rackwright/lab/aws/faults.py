"""Faults of the lab that act in the emulator, from the record that labd keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rackwright.lab.aws.emulation import Faults

if TYPE_CHECKING:
    from pathlib import Path

NO_CAPACITY, THROTTLED = "no-capacity", "throttled"
EVERY = 3
"""Of so many calls one is throttled."""


def standing(record: Path) -> Faults:
    """What is broken now; nothing where nothing was ever planted, or the record is just being replaced."""
    try:
        names = {str(one["name"]) for one in json.loads(record.read_text())["faults"]}
    except FileNotFoundError:
        return Faults()
    return Faults(
        throttled_every=EVERY if THROTTLED in names else 0,
        capacity=0 if NO_CAPACITY in names else None,
    )
