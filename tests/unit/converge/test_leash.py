"""The leash: nothing that a command started outlives the one that started the leash."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.converge import leash

if TYPE_CHECKING:
    from collections.abc import Callable
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
def command(tmp_path: Path) -> list[str]:
    return [
        *(sys.executable, "-I", "-m", leash.__name__),
        *(str(tmp_path / "stop"), str(tmp_path / "lock")),
    ]


def test_it_ends_as_its_command_does(command: list[str]) -> None:
    assert subprocess.run([*command, "sh", "-c", "exit 7"], check=False).returncode == 7


def test_when_its_parent_is_killed_everything_ends(command: list[str], tmp_path: Path) -> None:
    script = _ESCAPING.replace("BEGUN", str(tmp_path / "begun")).replace("MARK", str(os.getpid()))
    spawn = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    with subprocess.Popen([sys.executable, "-c", spawn, *command, "sh", "-c", script]) as parent:
        _until((tmp_path / "begun").exists)
        sleepers = [f"sleep 61{number}.{os.getpid()}" for number in (1, 2)]
        _until(lambda: all(map(_alive, sleepers)))
        parent.kill()
    _until(lambda: not any(map(_alive, sleepers)))


def test_a_stop_lets_the_command_end_and_now_interrupts_it(command: list[str], tmp_path: Path) -> None:
    trap = f"trap 'echo interrupted > {tmp_path}/said; exit 99' INT"
    script = f"{trap}; touch {tmp_path}/begun; while :; do sleep 0.05; done"
    with subprocess.Popen([*command, "bash", "-c", script]) as guarded:
        _until((tmp_path / "begun").exists)
        (tmp_path / "stop").write_text("")
        time.sleep(0.5)
        assert guarded.poll() is None, "what has begun may end"
        (tmp_path / "stop").write_text(leash.NOW)
        assert guarded.wait(120) == 99
    assert (tmp_path / "said").read_text() == "interrupted\n"
