"""The hosts' disks: files of a fixed size, each with a file system for one host's changes to the image.

A disk is kept over power cycles, as a disk is. Its space is taken when it is made, so that a host
never meets a full machine below a disk that still has room.
"""

from __future__ import annotations

import os
import shutil
import time
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import parts
from rackwright.lab.cloud import records
from rackwright.lab.commands import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.lab.model import World
    from rackwright.lab.places import Places

MIB = 1 << 20
_GIB = 1 << 30
_FREED_WITHIN_S = 10.0
_POLL_S = 0.05
RESERVE_MIB = 512
"""Left to the machine: logs, state, evidence."""


def build(world: World) -> Iterator[str]:
    """Make the disks that are missing; each is named when it has been made.

    Raises:
        EnvironmentUnfit: no space for all that are missing (then none is made), or no file system.
    """
    require_space(world, len(_missing(world)))
    for slot in _missing(world):
        yield from build_one(world, slot)


def build_one(world: World, slot: str) -> Iterator[str]:
    """Make the disk of a host, where it is missing.

    Raises:
        EnvironmentUnfit: no file system.
    """
    disk = world.places.disk(slot)
    if not disk.exists():
        _make(disk, world.disk_mib)
        yield f"disk of {slot}, {world.disk_mib} MiB"


def remove(places: Places, slot: str) -> None:
    """Remove a host's disk and its mount points, once the kernel has let go of it.

    Raises:
        EnvironmentUnfit: something still uses it.
    """
    disk, end = places.disk(slot), time.monotonic() + _FREED_WITHIN_S
    while str(disk) in parts.backing_files().values():
        if time.monotonic() > end:
            raise EnvironmentUnfit("a disk is still in use", code="LAB025", where=str(disk))
        time.sleep(_POLL_S)
    disk.unlink(missing_ok=True)
    shutil.rmtree(places.mounts(slot), ignore_errors=True)


def missing(world: World) -> int:
    """How many disks the hosts of a world lack, and the most instances of its clouds may take."""
    clouds = sum(site.most_instances for site in world.cloud)
    return len(_missing(world)) + max(0, clouds - len(records.read_all(world.places)))


def require_space(world: World, disks: int) -> None:
    """Raise EnvironmentUnfit unless that many more disks fit at once."""
    needed = disks * (world.disk_mib * MIB)
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


def _missing(world: World) -> list[str]:
    return [host.slot for host in world.hosts if not world.places.disk(host.slot).exists()]


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
