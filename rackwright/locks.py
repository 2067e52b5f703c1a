"""Locks on open files, which the kernel keeps (flock(2)) and drops when their holder ends, however it ends.

Who only asks whether one is held has it for a moment, beside others who ask: so whoever takes one tries
for a while before it counts as somebody else's.
"""

from __future__ import annotations

import errno
import fcntl
import time
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

TRIED_FOR_S = 0.5
_POLL_S = 0.02
_NO_LOCKS = frozenset({errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})
"""Of a network: Lustre without its option `flock`, NFS whose lock server does not answer."""


def taken(handle: int, path: Path) -> bool:
    """Take a lock alone, until its handle is closed; whether nobody else has it.

    Args:
        handle: an open file or folder.
        path: of it.

    Raises:
        EnvironmentUnfit: its file system keeps no locks.
    """
    ends = time.monotonic() + TRIED_FOR_S
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
