"""A process is known by more than its id, and runs once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import processes
from rackwright.lab.processes import Process

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_another_process_of_the_same_id_is_not_it(sleeper: subprocess.Popen[bytes]) -> None:
    real = Process.of(sleeper.pid)
    assert real is not None
    for other in (replace(real, started=real.started - 1), replace(real, boot="another boot")):
        assert not other.alive
        assert not other.kill()
    assert sleeper.poll() is None
    assert real.kill()
    assert sleeper.wait() == -signal.SIGKILL


def test_a_zombie_is_dead() -> None:
    with subprocess.Popen(["true"]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert Process.of(ended.pid) is None


def test_a_name_with_blanks_and_brackets_is_read(tmp_path: Path) -> None:
    program = tmp_path / "a) S (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "600"]) as process:
        assert processes.parent(process.pid) == os.getpid()
        assert Process.of(process.pid) is not None
        process.kill()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "started": 1, "boot": ""}'])
def test_a_pid_file_that_was_cut_off_names_nobody(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.pid"
    file.write_text(text)
    assert processes.read_pid_file(file) is None
    assert processes.read_pid_file(tmp_path / "absent") is None


def test_a_pid_file_of_the_dead_names_nobody_even_if_the_id_lives_again(tmp_path: Path) -> None:
    file, me = tmp_path / "x.pid", Process.of(os.getpid())
    assert me is not None
    fields = {"pid": me.pid, "started": me.started, "boot": me.boot}
    file.write_text(json.dumps(fields))
    assert processes.read_pid_file(file) == me
    file.write_text(json.dumps({**fields, "started": me.started + 1}))
    assert processes.read_pid_file(file) is None


CLAIM = """
import sys, time
from pathlib import Path
from rackwright.lab import processes
try:
    processes.claim_pid_file(Path(sys.argv[1]))
except processes.AlreadyRuns:
    sys.exit(75)
print("claimed", flush=True)
time.sleep(600)
"""


def test_what_holds_a_pid_file_runs_once_until_it_is_dead(tmp_path: Path) -> None:
    file = tmp_path / "x.pid"
    command = [sys.executable, "-c", CLAIM, str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"claimed\n"
        assert processes.read_pid_file(file) == Process.of(first.pid)
        assert subprocess.run(command, check=False, timeout=120).returncode == 75
        assert processes.read_pid_file(file) == Process.of(first.pid)
        first.kill()
    assert processes.read_pid_file(file) is None
    with subprocess.Popen(command, stdout=subprocess.PIPE) as second:
        assert second.stdout is not None
        assert second.stdout.readline() == b"claimed\n"
        second.kill()


def test_what_is_started_outlives_us_and_writes_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "x.log"
    pid = processes.spawn(["sh", "-c", "echo said; echo erred >&2; exec sleep 600"], log)
    started = Process.of(pid)
    assert started is not None
    assert os.getsid(pid) == pid
    while "erred" not in (log.read_text() if log.exists() else ""):
        pass
    assert log.read_text().split() == ["said", "erred"]
    assert log.stat().st_mode & 0o077 == 0
    started.kill()
    os.waitpid(pid, 0)


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    with processes.exclusive(tmp_path) as first, processes.exclusive(tmp_path) as second:
        assert (first, second) == (True, False)
    with processes.exclusive(tmp_path) as again:
        assert again


def test_a_name_is_held_by_one_process_of_the_machine_and_goes_with_it() -> None:
    name = f"rackwright test {os.getpid()}"
    program = f"""
from rackwright.lab import processes
import time
with processes.machine_wide({name!r}, 0):
    print("held", flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(processes.StillHeld), processes.machine_wide(name, 0.1):
            pass
        holder.kill()
    with processes.machine_wide(name, 10):
        pass
