"""Who takes a lock is not kept from it by one who only asks; a file system without locks is told."""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from rackwright import locks
from rackwright.converge import lock
from rackwright.errors import EnvironmentUnfit
from rackwright.validate.resume import alone_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_who_takes_one_while_somebody_asks_whether_it_is_held_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, taking = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert not locks.is_held(asking, tmp_path)

    def asked(_: float) -> None:
        with suppress(OSError):
            os.close(asking)

    monkeypatch.setattr("rackwright.locks.time.sleep", asked)
    assert locks.taken(taking, tmp_path)
    os.close(taking)


def test_one_that_stays_with_somebody_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "TRIED_FOR_S", 0)
    first, second = (os.open(tmp_path, os.O_RDONLY) for _ in range(2))
    assert locks.taken(first, tmp_path)
    assert not locks.taken(second, tmp_path)
    assert locks.is_held(second, tmp_path)
    os.close(first)
    assert locks.taken(second, tmp_path)
    os.close(second)


def _hold(folder: Path) -> None:
    with lock.held(folder):
        raise AssertionError


def _begin(folder: Path) -> None:
    with alone_in(folder):
        raise AssertionError


def _look(folder: Path) -> None:
    (folder / lock.LOCK).touch()
    lock.holder(folder)


@pytest.mark.parametrize("use", [_hold, _begin, _look])
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS])
def test_a_file_system_without_locks_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[Path], None], number: int
) -> None:
    """As NFS without its lock server, or Lustre without `flock`, says it."""

    def refused(_handle: int, _how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refused)
    with pytest.raises(EnvironmentUnfit, match="keeps no locks") as caught:
        use(tmp_path)
    assert caught.value.code == "ENV006"
    assert caught.value.where.startswith(str(tmp_path))
    assert caught.value.got == os.strerror(number)
    assert "XDG_STATE_HOME" in caught.value.hint
