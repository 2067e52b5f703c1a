"""Locks of a folder backend: a dead process of this machine is proven, anything else stays."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision import locks
from rackwright.provision.locks import WORK, at_work, holders, release_dead

HERE = socket.gethostname()


def _lock(state: Path, pid: int, host: str = HERE) -> Path:
    folder = state / "engine" / ".pulumi" / "locks" / "organization" / "onprem" / "t-hall"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{pid}.json"
    written = {"pid": pid, "username": "ada", "hostname": host, "timestamp": "2026-11-28T04:12:19Z"}
    file.write_text(json.dumps(written))
    return file


@pytest.fixture
def dead() -> int:
    """A process id that is no longer used."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def test_no_lock_is_held_by_nobody(tmp_path: Path) -> None:
    assert holders(tmp_path, "onprem", "t-hall") == []
    assert release_dead(tmp_path, "onprem", "t-hall") == []


def test_a_lock_of_a_dead_process_is_taken_away_and_told(tmp_path: Path, dead: int) -> None:
    file = _lock(tmp_path, dead)
    released = release_dead(tmp_path, "onprem", "t-hall")
    assert [str(holder) for holder in released] == [
        f"process {dead} of ada on {HERE}, since 2026-11-28T04:12:19Z"
    ]
    assert not file.exists()


def test_an_id_that_another_program_uses_again_is_a_dead_engine(tmp_path: Path) -> None:
    file = _lock(tmp_path, os.getpid())
    assert release_dead(tmp_path, "onprem", "t-hall")
    assert not file.exists()


def test_a_living_engine_keeps_its_lock(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["bash", "-c", "exec -a /opt/pulumi/pulumi sleep 60"], stdout=subprocess.PIPE
    ) as engine:
        while not _command_line(engine.pid).startswith(b"/opt/pulumi/pulumi"):
            pass
        file = _lock(tmp_path, engine.pid)
        assert release_dead(tmp_path, "onprem", "t-hall") == []
        assert file.exists()
        engine.kill()


def _command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def test_a_lock_of_another_machine_stays(tmp_path: Path, dead: int) -> None:
    file = _lock(tmp_path, dead, host="elsewhere.example")
    assert release_dead(tmp_path, "onprem", "t-hall") == []
    assert file.exists()


@pytest.mark.parametrize("text", ['{"pid": 1', "", "[]", "null", '{"pid": "x"}', '{"pid": null}', "\x00"])
def test_a_lock_that_was_cut_short_stays_and_breaks_nothing(tmp_path: Path, dead: int, text: str) -> None:
    file = _lock(tmp_path, dead)
    file.write_text(text)
    assert release_dead(tmp_path, "onprem", "t-hall") == []
    assert len(holders(tmp_path, "onprem", "t-hall")) == 1
    assert file.exists()


def test_a_lock_that_nobody_came_to_write_is_taken_away(tmp_path: Path, dead: int) -> None:
    unwritten = _lock(tmp_path, dead).with_suffix(".json.18ec3d.tmp")
    unwritten.write_text("")
    assert [str(holder) for holder in release_dead(tmp_path, "onprem", "t-hall")][1:] == [
        "a process that could not write who it is"
    ]
    assert not unwritten.exists()


def test_a_lock_that_somebody_is_writing_stays(tmp_path: Path, dead: int) -> None:
    unwritten = _lock(tmp_path, dead).with_suffix(".json.18ec3d.tmp")
    with unwritten.open("w"):
        assert len(release_dead(tmp_path, "onprem", "t-hall")) == 1
    assert unwritten.exists()


def test_a_lock_that_is_let_go_of_while_locks_are_read_is_nobodys(tmp_path: Path, dead: int) -> None:
    file = _lock(tmp_path, dead)
    file.unlink()
    file.symlink_to(tmp_path / "gone")  # listed, and not there when it is read
    assert holders(tmp_path, "onprem", "t-hall") == []
    assert release_dead(tmp_path, "onprem", "t-hall") == []


def test_a_dead_lock_that_somebody_else_takes_away_is_gone(
    tmp_path: Path, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = _lock(tmp_path, dead)

    def meanwhile(_: int) -> bool:
        file.unlink()
        return False

    monkeypatch.setattr(locks, "_is_engine", meanwhile)
    assert len(release_dead(tmp_path, "onprem", "t-hall")) == 1


_WORK = """
import sys, time, pathlib
from rackwright.provision.locks import at_work
sys.argv = ["rackwright", "up", "atlas.yaml"]
with at_work(pathlib.Path(sys.stdin.readline().strip())):
    print("at work", flush=True)
    time.sleep(60)
"""


def test_one_run_is_at_work_on_a_cluster_and_a_dead_one_is_not(tmp_path: Path) -> None:
    state = tmp_path / "new"
    with subprocess.Popen(
        [sys.executable, "-c", _WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        first.stdin.write(f"{state}\n")
        first.stdin.flush()
        assert first.stdout.readline() == "at work\n"
        with (
            pytest.raises(EnvironmentUnfit, match="another run is at work on this cluster") as caught,
            at_work(state),
        ):
            pass
        first.kill()
    assert (caught.value.code, caught.value.where) == ("UP003", str(state / WORK))
    assert f"process {first.pid} of " in caught.value.got
    assert caught.value.got.endswith(": rackwright up atlas.yaml")
    with at_work(state):
        pass
