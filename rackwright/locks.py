"""Locks on open files, which the kernel keeps (flock(2)) and drops when their holder ends, however it ends.

Who only asks whether one is held has it for a moment, beside others who ask: so whoever takes one tries
for a while before it counts as somebody else's. A file's text only says whose its lock is.
"""

from __future__ import annotations

import errno
import fcntl
import getpass
import json
import os
import socket
import sys
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rackwright.errors import RackwrightError

TRIED_FOR_S = 0.5
_POLL_S = 0.02
_NO_LOCKS = frozenset({errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""Of a network: Lustre without its option `flock`, NFS whose lock server does not answer."""
_TOLD_BYTES = 64 * 1024
"""More than any command line that a holder tells."""


@contextmanager
def alone(
    path: Path, busy: Callable[[str], RackwrightError], within_s: float | None = None
) -> Iterator[None]:
    """Hold a file's lock, with who holds it as its text.

    Args:
        path: the file; made if it is not there.
        busy: the error where somebody else holds it, by who that is.
        within_s: for how long it is tried; longer where everybody lets go of it soon.

    Raises:
        RackwrightError: somebody else holds it, or its file system keeps no locks.
    """
    with opened(path) as handle:
        if not taken(handle, path, within_s):
            raise busy(_holder(os.pread(handle, _TOLD_BYTES, 0)))
        _sign(handle)
        yield
        os.ftruncate(handle, 0)


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """The handle of a lock's file; made if it is not there."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def holder(path: Path) -> str:
    """Who holds a file's lock now; empty if nobody does. Nothing is made.

    Raises:
        EnvironmentUnfit: its file system keeps no locks.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return ""
    with file:
        return _holder(file.read(_TOLD_BYTES)) if is_held(file.fileno(), path) else ""


def _sign(handle: int) -> None:
    me = {
        "pid": os.getpid(),
        "user": _user(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(sys.argv),
    }
    os.ftruncate(handle, 0)
    with suppress(OSError):  # on a full disk it is held all the same; what is written next tells of the disk
        os.pwrite(handle, json.dumps(me).encode(), 0)


def _user() -> str:
    """By number where the system has no name for it, as in a container that was given any (``docker -u``)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _holder(text: bytes) -> str:
    try:
        told = json.loads(text)
        return (
            f"process {told['pid']} of {told['user']} on {told['host']}, since {told['since']}: "
            f"{told['command']}"
        )
    except (ValueError, KeyError, TypeError):
        return "a process that has not said who it is yet"


def taken(handle: int, path: Path, within_s: float | None = None) -> bool:
    """Take a lock alone, until its handle is closed; whether nobody else has it.

    Args:
        handle: an open file or folder.
        path: of it.
        within_s: for how long it is tried, if not as long as anybody asks.

    Raises:
        EnvironmentUnfit: its file system keeps no locks.
    """
    ends = time.monotonic() + (TRIED_FOR_S if within_s is None else within_s)
    while not (free := _tried(handle, path, fcntl.LOCK_EX)) and time.monotonic() < ends:
        time.sleep(_POLL_S)
    return free


def is_held(handle: int, path: Path) -> bool:
    """Whether somebody has a lock alone; the handle is to be closed at once.

    Raises:
        EnvironmentUnfit: its file system keeps no locks.
    """
    return not _tried(handle, path, fcntl.LOCK_SH)


def _tried(handle: int, path: Path, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise EnvironmentUnfit(
            "its file system keeps no locks, so two could work there at once",
            code="ENV006",
            where=str(path),
            got=error.strerror or "",
            expected="a file system with locks, as every local one is",
            hint="put it on a local one (a run: --out; state: XDG_STATE_HOME), or let this one have locks: "
            "rpc.statd for NFS 3, the mount option `flock` for Lustre",
        ) from None
    return True
