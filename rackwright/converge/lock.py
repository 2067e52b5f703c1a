"""One converge of a cluster at a time: who holds it, and that a dead holder holds nothing.

The kernel keeps the lock (flock(2)) and drops it when its process ends, however it ends; the file's
text only says whose it is. Runners hold a second one: after ``kill -9`` of a converge, the next one
begins when the last process of the old one is gone.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, TextIO

from rackwright import locks
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK, RUNNERS = "lock", "runners.lock"
ORPHANS_END_WITHIN_S = 20.0
"""A runner sees within a tenth of a second that its converge is gone, and then kills its own."""
_POLL_S = 0.1


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a cluster's lock.

    Args:
        folder: of converges of this cluster; made if it is not there.

    Raises:
        EnvironmentUnfit: another process holds it; the error says which. Or it cannot be held there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o700)  # noqa: PTH101 (also of a folder that somebody made wider)
    with _opened(folder / LOCK) as file:
        if not locks.taken(file.fileno(), folder / LOCK):
            raise _busy(file, folder / LOCK)
        _sign(file)
        _await_orphans(folder / RUNNERS)
        yield
        file.truncate(0)


@contextmanager
def held_by_runner(file: Path) -> Iterator[None]:
    """Hold the runners' lock beside other runners, until their processes are gone."""
    with _opened(file) as runners:
        fcntl.flock(runners, fcntl.LOCK_SH)
        yield


def holder(folder: Path) -> str:
    """Who holds a cluster's lock now; empty if nobody does. Nothing is made."""
    try:
        file = (folder / LOCK).open("r", encoding="utf-8")
    except FileNotFoundError:
        return ""
    with file:
        return _holder(file.read()) if locks.is_held(file.fileno(), folder / LOCK) else ""


def _opened(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+", encoding="utf-8")


def _sign(file: TextIO) -> None:
    holder = {
        "pid": os.getpid(),
        "user": _user(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(sys.argv),
    }
    file.seek(0)
    file.truncate()
    file.write(json.dumps(holder))
    file.flush()


def _user() -> str:
    """By number where the system has no name for it, as in a container that was given any (``docker -u``)."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _await_orphans(path: Path) -> None:
    """Wait for the runners of a converge that was killed."""
    with _opened(path) as file:
        deadline = time.monotonic() + ORPHANS_END_WITHIN_S
        while not locks.taken(file.fileno(), path):
            if time.monotonic() > deadline:
                raise EnvironmentUnfit(
                    "runners of a converge that is gone are still at work",
                    code="CONV002",
                    where=str(path),
                    got=f"a lock that is held for more than {ORPHANS_END_WITHIN_S:g} s",
                    expected="none: they end with their converge",
                    hint=f"see who has it open: fuser {quote(str(path))}",
                )
            time.sleep(_POLL_S)


def _busy(file: TextIO, path: Path) -> EnvironmentUnfit:
    file.seek(0)
    return EnvironmentUnfit(
        "another converge of this cluster is running",
        code="CONV001",
        where=str(path),
        got=_holder(file.read()),
        expected="a lock that nobody holds",
        hint="wait for it; its lock goes when it ends, even when it is killed",
    )


def _holder(text: str) -> str:
    try:
        told = json.loads(text)
        return (
            f"process {told['pid']} of {told['user']} on {told['host']}, since {told['since']}: "
            f"{told['command']}"
        )
    except (ValueError, KeyError, TypeError):
        return "a process that has not said who it is yet"
