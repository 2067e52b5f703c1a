"""One converge of a cluster at a time: who holds it, and that a dead holder holds nothing.

The kernel keeps the lock (`rackwright.locks`). Runners hold a second one: after ``kill -9`` of a
converge, the next one begins when the last process of the old one is gone.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from shlex import quote
from typing import TYPE_CHECKING

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
    with locks.alone(folder / LOCK, lambda holder: _busy(holder, folder / LOCK)):
        _await_orphans(folder / RUNNERS)
        yield


@contextmanager
def held_by_runner(file: Path) -> Iterator[None]:
    """Hold the runners' lock beside other runners, until their processes are gone."""
    with locks.opened(file) as runners:
        fcntl.flock(runners, fcntl.LOCK_SH)
        yield


def holder(folder: Path) -> str:
    """Who holds a cluster's lock now; empty if nobody does. Nothing is made."""
    return locks.holder(folder / LOCK)


def _await_orphans(path: Path) -> None:
    """Wait for the runners of a converge that was killed."""
    with locks.opened(path) as handle:
        deadline = time.monotonic() + ORPHANS_END_WITHIN_S
        while not locks.taken(handle, path):
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


def _busy(holder: str, path: Path) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "another converge of this cluster is running",
        code="CONV001",
        where=str(path),
        got=holder,
        expected="a lock that nobody holds",
        hint="wait for it; its lock goes when it ends, even when it is killed",
    )
