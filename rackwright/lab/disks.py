"""The hosts' disks: files of a fixed size, each with a file system for one host's changes to the image.

A disk is kept over power cycles, as a disk is. Its space is taken when it is made, so that a host
never meets a full machine below a disk that still has room.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.commands import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.lab.model import World

MIB = 1 << 20
_GIB = 1 << 30
RESERVE_MIB = 512
"""Left to the machine: logs, state, evidence."""


def build(world: World) -> Iterator[str]:
    """Make the disks that are missing; each is named when it has been made.

    Raises:
        EnvironmentUnfit: no space for all that are missing (then none is made), or no file system.
    """
    require_space(world)
    for slot, disk in _missing(world).items():
        _make(disk, world.disk_mib)
        yield f"disk of {slot}, {world.disk_mib} MiB"


def require_space(world: World) -> None:
    """Raise EnvironmentUnfit unless all missing disks fit at once."""
    needed = len(_missing(world)) * (world.disk_mib * MIB)
    folder = _existing(world.places.lab)
    free = shutil.disk_usage(folder).free
    if needed and free < needed + RESERVE_MIB * MIB:
        raise EnvironmentUnfit(
            "no space for the hosts' disks",
            code="LAB003",
            where=str(folder),
            got=f"{free / _GIB:.1f} GiB free",
            expected=f"{(needed + RESERVE_MIB * MIB) / _GIB:.1f} GiB",
            hint="free some, or set XDG_STATE_HOME to a folder on a larger file system",
        )


def _missing(world: World) -> dict[str, Path]:
    disks = {host.slot: world.places.disk(host.slot) for host in world.hosts}
    return {slot: disk for slot, disk in disks.items() if not disk.exists()}


def _existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that is there."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def _make(disk: Path, size_mib: int) -> None:
    """Make it under another name first: what is cut off on the way is no disk."""
    disk.parent.mkdir(parents=True, exist_ok=True)
    new = disk.with_suffix(".new")
    new.unlink(missing_ok=True)
    try:
        with new.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_mib * MIB)
        # Without discard, which would give the space back at once.
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", new)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    new.rename(disk)
