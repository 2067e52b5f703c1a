"""Files of a host's root, read and written from outside.

The root was written by whoever is root on the host: no link in it is followed, and nothing but a
folder or a plain file is opened.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path, PurePath

FILE_MODE = 0o644
"""Where nothing says otherwise."""


class UnsafeRoot(Exception):
    """A path leads out of the host's root, or to something that is no file."""


@dataclass(frozen=True, slots=True)
class Content:
    """A plain file.

    Args:
        raw: its bytes.
        mode: its permissions.
        owner: user and group; None for whoever writes it.
    """

    raw: bytes
    mode: int = FILE_MODE
    owner: tuple[int, int] | None = None


def read(root: Path, path: PurePath) -> Content | None:
    """A file below a root; None where there is none.

    Raises:
        UnsafeRoot: a folder on the way is a link or no folder, or the file is none.
    """
    with _folder(root, path.parent, make=False) as folder:
        if folder is None:
            return None
        return _read(folder, path)


def _read(folder: int, path: PurePath) -> Content | None:
    try:
        handle = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnsafeRoot(f"{path}: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise UnsafeRoot(f"{path}: not a plain file")
        return Content(file.read(), stat.S_IMODE(about.st_mode), (about.st_uid, about.st_gid))


def write(root: Path, path: PurePath, content: Content) -> None:
    """Write beside it and rename: what was there, a link included, is replaced, never followed.

    Raises:
        UnsafeRoot: a folder on the way is a link, or no folder.
    """
    with _folder(root, path.parent, make=True) as folder:
        new = f".{path.name}.new"
        with suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE, dir_fd=folder)
        with os.fdopen(handle, "wb") as file:
            if content.owner is not None:
                os.fchown(handle, *content.owner)
            os.fchmod(handle, content.mode)
            file.write(content.raw)
        os.replace(new, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def remove(root: Path, path: PurePath) -> None:
    """Remove a file, or the link that is in its place; one that is gone already is no error.

    Raises:
        UnsafeRoot: a folder on the way is a link, or no folder.
    """
    with _folder(root, path.parent, make=False) as folder:
        if folder is not None:
            with suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)


def missing_folders(root: Path, path: PurePath) -> int:
    """How many of the folders above a path `write` would make.

    Raises:
        UnsafeRoot: a folder on the way is a link, or no folder.
    """
    count = 0
    for above in path.parents[:-1]:
        with _folder(root, above, make=False) as folder:
            if folder is not None:
                break
        count += 1
    return count


def remove_folders(root: Path, path: PurePath, count: int) -> None:
    """Remove so many folders above a path, as far as they are empty.

    Raises:
        UnsafeRoot: a folder on the way is a link, or no folder.
    """
    for gone in path.parents[:count]:
        with _folder(root, gone.parent, make=False) as folder, suppress(OSError):
            if folder is not None:
                os.rmdir(gone.name, dir_fd=folder)


def allocate(root: Path, path: PurePath, size: int) -> None:
    """Make a file that takes up so many bytes of the disk; one that is there is grown.

    Raises:
        UnsafeRoot: a folder on the way is a link or no folder, or there is no such room.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
    with _folder(root, path.parent, make=True) as folder:
        try:
            handle = os.open(path.name, flags, FILE_MODE, dir_fd=folder)
            with os.fdopen(handle, "wb") as file:
                os.posix_fallocate(file.fileno(), 0, os.fstat(handle).st_size + size)
        except OSError as error:
            raise UnsafeRoot(f"{path}: {error.strerror}") from None


@contextmanager
def _folder(root: Path, path: PurePath, *, make: bool) -> Iterator[int | None]:
    """Open a folder below the root for the block; where it is missing it is made, or is None."""
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in path.parts:
            try:
                below = _open_below(handle, name, make=make)
            except FileNotFoundError:
                yield None
                return
            except OSError as error:
                raise UnsafeRoot(f"{path}: {name}: {error.strerror}") from None
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def _open_below(folder: int, name: str, *, make: bool) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            raise
        os.mkdir(name, 0o755, dir_fd=folder)
        return os.open(name, flags, dir_fd=folder)
