"""What a converge has before it talks to a host: the munge key, and a word on those that it leaves alone."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.converge.model import Counts, HostReport, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from rackwright.inventory.model import Absent, Inventory

MUNGE_KEY = "munge.key"
_MUNGE_KEY_BYTES = 1024
"""The longest that mungekey(8) makes."""


def munge_key(folder: Path) -> Path:
    """The cluster's munge key; made once, for hosts with different ones refuse each other."""
    path = folder / MUNGE_KEY
    if not path.exists():
        canonical.write_atomic(path, secrets.token_bytes(_MUNGE_KEY_BYTES), mode=0o600)
    return path


def apart(inventory: Inventory, asked: Collection[str]) -> dict[str, HostReport]:
    """The hosts that are asked for and that nobody may connect to, each with its reason."""
    return {name: _report(gone) for name, gone in inventory.absent.items() if name in asked}


def _report(gone: Absent) -> HostReport:
    status = Status.ABSENT if gone.absence.incomplete else Status.HELD
    message = f"{gone.reason}: {gone.got}" if gone.got else gone.reason
    reason = Reason(task="", message=message, hint=gone.hint)
    return HostReport(status=status, shard="", tasks=Counts(), reason=reason)
