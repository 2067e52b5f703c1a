"""A disk of a few hundred KiB that can be filled to the last byte: where ENOSPC is the kernel's own."""

from __future__ import annotations

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILLER = ".filler"
_BLOCK = 4096


class SmallDisk:
    """A mounted tmpfs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def fill(self, *, but: int = 0) -> None:
        """Take all room but so many bytes."""
        room = os.statvfs(self.root)
        with (self.root / FILLER).open("ab") as file:
            file.write(b"\0" * (room.f_bavail * room.f_bsize - but))
        assert os.statvfs(self.root).f_bavail * room.f_bsize <= but + _BLOCK

    def forbid(self) -> None:
        """Let nothing be written any more, as after an error of the drive."""
        subprocess.run(["mount", "-o", "remount,ro", str(self.root)], check=True)

    def empty(self) -> None:
        """Give the room back."""
        (self.root / FILLER).unlink()

    def contents(self) -> dict[str, bytes]:
        """All files on it, by path."""
        found = (path for path in self.root.rglob("*") if path.is_file() and path.name != FILLER)
        return {path.relative_to(self.root).as_posix(): path.read_bytes() for path in found}


@contextmanager
def small_disk(root: Path, kib: int) -> Iterator[SmallDisk]:
    """One of so many KiB at a folder, for as long as it is needed; who may not mount skips."""
    if os.geteuid():
        pytest.skip("a disk of one's own is mounted by root")
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "small", str(root)], check=True)
    try:
        yield SmallDisk(root)
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)
