"""The boot server of the lab: lay a host's boot seed into its root, as a network boot would.

The root was written by whoever is root on the host: no link in it is followed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class UnsafeRoot(Exception):
    """A path of the seed leads out of the host's root."""


def lay(seeds: Iterable[Path], root: Path) -> int:
    """Copy seeds over a root, the later over the earlier.

    Args:
        seeds: folders; those that are not there are passed over.
        root: of the host.

    Returns:
        How many files were laid.

    Raises:
        UnsafeRoot: a folder on the way is a link, or no folder.
    """
    count = 0
    for seed in seeds:
        for source in sorted(path for path in seed.rglob("*") if path.is_file()):
            _lay_file(source.read_bytes(), root, source.relative_to(seed))
            count += 1
    return count


def _lay_file(content: bytes, root: Path, path: Path) -> None:
    """Write beside it and rename: what was there, a link included, is replaced, never followed."""
    folder = _folder(root, path.parent)
    try:
        new = f".{path.name}.new"
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), 0o644)
            file.write(content)
        os.replace(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _folder(root: Path, path: Path) -> int:
    """Open a folder below the root, made where it is missing."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for name in path.parts:
        try:
            below = _open_below(handle, name)
        except OSError as error:
            raise UnsafeRoot(f"{path}: {name}: {error.strerror}") from None
        finally:
            os.close(handle)
        handle = below
    return handle


def _open_below(folder: int, name: str) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        os.mkdir(name, 0o755, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)
