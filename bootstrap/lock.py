"""One set-up at a time on a cache: the second run says who holds it, waits, then finds all cached."""

from __future__ import annotations

import fcntl
import getpass
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from bootstrap import places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@contextmanager
def only_run(path: Path, tell: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock for the length of the block; the system frees it when its holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        _take(file, tell)
        _sign(
            file,
            f"process {os.getpid()} of {_user()}, since {time.strftime('%H:%M:%S')}, in {places.REPOSITORY}",
        )
        try:
            yield
        finally:
            _sign(file, "")


def _take(file: TextIO, tell: Callable[[str], None]) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "a process that has not signed yet"
        tell(f"another set-up is running: {holder}; waiting for it")
        fcntl.flock(file, fcntl.LOCK_EX)


def _sign(file: TextIO, text: str) -> None:
    file.seek(0)
    file.truncate()
    file.write(text)
    file.flush()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.geteuid()}"
