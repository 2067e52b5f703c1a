"""The lock: one at a time, who holds it, and that the dead hold nothing."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rackwright.converge import lock
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

_HOLD = """
import sys, time, pathlib
from rackwright.converge import lock
sys.argv = ["rackwright", "converge", "atlas.yaml"]
with lock.held(pathlib.Path(sys.stdin.readline().strip())):
    print("held", flush=True)
    time.sleep(60)
"""


def _hold(folder: Path) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    holder.stdin.write(f"{folder}\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "held\n"
    return holder


def test_who_holds_it_is_told_and_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    with _hold(tmp_path) as holder:
        with pytest.raises(EnvironmentUnfit) as raised, lock.held(tmp_path):
            pass
        holder.kill()
    error = raised.value
    assert (error.code, error.exit_code, error.where) == ("CONV001", 2, str(tmp_path / "lock"))
    assert f"process {holder.pid} of " in error.got
    assert "rackwright converge atlas.yaml" in error.got
    with lock.held(tmp_path):
        assert f'"pid": {os.getpid()}' in (tmp_path / "lock").read_text()
    assert (tmp_path / "lock").read_text() == ""


def test_a_holder_without_a_name_is_told_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as any number: no entry in passwd, no environment."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    with lock.held(tmp_path):
        assert f"process {os.getpid()} of 54321 on " in lock.holder(tmp_path)


def test_a_run_that_fails_gives_it_back(tmp_path: Path) -> None:
    with pytest.raises(KeyError), lock.held(tmp_path):
        raise KeyError
    with lock.held(tmp_path):
        pass


def test_it_waits_for_the_runners_of_a_killed_converge_and_no_longer_than_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "ORPHANS_END_WITHIN_S", 0.3)
    with (tmp_path / lock.RUNNERS).open("w") as runners:
        fcntl.flock(runners, fcntl.LOCK_SH)
        with pytest.raises(EnvironmentUnfit) as raised, lock.held(tmp_path):
            pass
    assert raised.value.code == "CONV002"
    with lock.held(tmp_path):
        pass


def test_runners_run_side_by_side(tmp_path: Path) -> None:
    with lock.held_by_runner(tmp_path / "r"), lock.held_by_runner(tmp_path / "r"):
        pass


def test_its_folder_is_nobody_elses(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir(mode=0o755)
    with lock.held(tmp_path / "c"):
        assert stat.S_IMODE((tmp_path / "c").stat().st_mode) == 0o700
        assert stat.S_IMODE((tmp_path / "c" / "lock").stat().st_mode) == 0o600
