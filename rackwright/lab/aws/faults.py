"""Faults of the lab that act in the emulator, from the record that labd keeps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rackwright.lab.aws.emulation import Faults

if TYPE_CHECKING:
    from pathlib import Path

NO_CAPACITY, THROTTLED = "no-capacity", "throttled"
EVERY = 3
"""Of so many calls one is throttled, as `rackwright.lab.faults` says of it."""


def standing(record: Path) -> Faults:
    """What is broken now; nothing where nothing was ever planted."""
    try:
        planted = json.loads(record.read_text())["faults"]
    except FileNotFoundError:
        return Faults()
    return Faults(
        throttled_every=EVERY if any(one["name"] == THROTTLED for one in planted) else 0,
        capacity={one["subject"]: 0 for one in planted if one["name"] == NO_CAPACITY},
    )
