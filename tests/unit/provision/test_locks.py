"""Locks of a folder backend: a dead process of this machine is proven, anything else stays."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from rackwright.provision.locks import holders, release_dead

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
