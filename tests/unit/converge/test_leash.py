"""The leash: nothing that a command started outlives the one that started the leash."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.converge import leash
from rackwright.converge.stop_pipe import StopPipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ESCAPING = "setsid sleep 611.MARK & setsid setsid sleep 612.MARK & touch BEGUN; wait"
"""What Ansible's workers and lasting ssh connections do: sessions of their own."""


def _alive(mark: str) -> bool:
    return subprocess.run(["pgrep", "-f", mark], check=False, capture_output=True).returncode == 0


def _until(condition: Callable[[], bool], within_s: float = 120) -> None:
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def stop(tmp_path: Path) -> Iterator[StopPipe]:
    pipe = StopPipe(tmp_path / "stop")
    yield pipe
    pipe.close()


@pytest.fixture
def command(tmp_path: Path, stop: StopPipe) -> list[str]:
    del stop  # it must be there
    return [
        *(sys.executable, "-I", "-m", leash.__name__, str(os.getpid())),
        *(str(tmp_path / "stop"), str(tmp_path / "lock")),
    ]


def test_it_ends_as_its_command_does(command: list[str]) -> None:
    assert subprocess.run([*command, "sh", "-c", "exit 7"], check=False).returncode == 7


def test_when_its_parent_is_killed_everything_ends(command: list[str], tmp_path: Path) -> None:
    script = _ESCAPING.replace("BEGUN", str(tmp_path / "begun")).replace("MARK", str(os.getpid()))
    spawn = "import os, subprocess, sys; subprocess.run([*sys.argv[1:5], str(os.getpid()), *sys.argv[5:]])"
    before, after = command[:4], command[5:]
    with subprocess.Popen([sys.executable, "-c", spawn, *before, *after, "sh", "-c", script]) as parent:
        _until((tmp_path / "begun").exists)
        sleepers = [f"sleep 61{number}.{os.getpid()}" for number in (1, 2)]
        _until(lambda: all(map(_alive, sleepers)))
        parent.kill()
    _until(lambda: not any(map(_alive, sleepers)))


def test_a_parent_that_was_killed_before_it_looked_is_missed(command: list[str]) -> None:
    command[4] = "1"
    subprocess.run([*command, "sleep", f"613.{os.getpid()}"], check=False, timeout=120)
    assert not _alive(f"sleep 613.{os.getpid()}")


def test_what_the_command_leaves_when_it_is_interrupted_is_killed(
    command: list[str], tmp_path: Path, stop: StopPipe
) -> None:
    """A worker in the middle of a module, which Ansible has sent a SIGTERM."""
    mark = f"614.{os.getpid()}"
    stubborn = f"setsid sh -c 'trap : INT TERM HUP; touch {tmp_path}/begun; exec sleep {mark}'"
    with subprocess.Popen([*command, "bash", "-c", f"trap 'exit 99' INT; {stubborn} & wait"]) as guarded:
        _until((tmp_path / "begun").exists)
        stop.ask(now=True)
        assert guarded.wait(120) == 99
    assert not _alive(f"sleep {mark}")


def test_a_command_that_had_to_be_killed_has_not_ended_well(
    command: list[str], tmp_path: Path, stop: StopPipe
) -> None:
    script = f"trap '' INT; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    with subprocess.Popen([*command, "bash", "-c", script]) as guarded:
        _until((tmp_path / "begun").exists)
        stop.ask(now=True)
        assert guarded.wait(120) == 256 - signal.SIGKILL


def test_a_stop_lets_the_command_end_and_now_interrupts_it(
    command: list[str], tmp_path: Path, stop: StopPipe
) -> None:
    trap = f"trap 'echo interrupted > {tmp_path}/said; exit 99' INT"
    script = f"{trap}; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    with subprocess.Popen([*command, "bash", "-c", script]) as guarded:
        _until((tmp_path / "begun").exists)
        stop.ask()
        time.sleep(0.5)
        assert guarded.poll() is None, "what has begun may end"
        stop.ask(now=True)
        assert guarded.wait(120) == 99
    assert (tmp_path / "said").read_text() == "interrupted\n"
