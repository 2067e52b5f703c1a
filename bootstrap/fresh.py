"""Folders that are there whole or not at all, and links that move from one to the next.

A folder is filled under a name of its own and renamed when it is complete; what an earlier run
left half done under such a name is removed first. The caller holds the lock of `lock`.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator

GIB = 1 << 30
MOUNT_TABLE = Path("/proc/self/mountinfo")
_PARTIAL = ".partial"


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which becomes `target` at the end of the block.

    If the block fails, the folder is removed and `target` stays as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_partial(target.parent)
    work = target.with_name(target.name + _PARTIAL)
    work.mkdir()
    try:
        yield work
        remove(target)
        work.rename(target)
    finally:
        remove(work)


def clear_partial(parent: Path) -> None:
    """Remove what killed runs left half done."""
    for left in parent.glob(f"*{_PARTIAL}"):
        remove(left)


def remove(folder: Path) -> None:
    """Delete a folder, if it is there; refuses one that something is still mounted in.

    Raises:
        EnvironmentUnfit: a mount lies below, and deleting would reach into it.
    """
    mounts = [mount for mount in _mounts() if mount.is_relative_to(folder)]
    if mounts:
        raise EnvironmentUnfit(
            "a folder of an earlier set-up has something mounted in it",
            code="SET010",
            where=str(folder),
            got=str(mounts[0]),
            expected="no mount",
            hint=f"unmount it and run the same command again: umount {mounts[0]}",
        )
    if folder.is_symlink():  # what `point` was about to rename
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)


def _mounts() -> list[Path]:
    """Mount points of this namespace; the table writes a blank as an octal escape."""
    points = (line.split()[4] for line in MOUNT_TABLE.read_text().splitlines())
    return [Path(point.replace("\\040", " ")) for point in points]


def point(link: Path, target: Path) -> bool:
    """Make `link` lead to `target`, in one step; tells whether it did not before."""
    if leads(link, target):
        return False
    new = link.with_name(link.name + _PARTIAL)
    new.unlink(missing_ok=True)
    new.symlink_to(target.relative_to(link.parent))
    new.replace(link)
    return True


def leads(link: Path, target: Path) -> bool:
    """Whether `point` would find nothing to do."""
    return link.is_symlink() and link.resolve() == target.resolve()


def require_space(folder: Path, gib: float, purpose: str) -> None:
    """Refuse before the work starts what would fail in its middle.

    Raises:
        EnvironmentUnfit: less than `gib` GiB free where `folder` is or will be.
    """
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    free = shutil.disk_usage(there).free / GIB
    if free < gib:
        raise EnvironmentUnfit(
            f"not enough space for {purpose}",
            code="SET004",
            where=str(folder),
            got=f"{free:.1f} GiB free",
            expected=f"{gib:.1f} GiB",
            hint="make room, or let XDG_CACHE_HOME point to a larger file system",
        )
