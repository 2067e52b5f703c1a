"""What nobody knows of is cleared, and nothing that is just beginning, or that a living labd is at."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import labd, processes, stale, supervisor, workbench
from rackwright.lab.processes import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rackwright.lab.model import World

WITHIN_S = 60.0
SLOT = "node-001"
LATE = """
import sys, time
from pathlib import Path
from rackwright.lab import processes
print("begun", flush=True)
time.sleep(float(sys.argv[-2]))
if sys.argv[-1]:
    processes.claim_pid_file(Path(sys.argv[-1]))
time.sleep(600)
"""
DAEMON = """
import subprocess, sys
from pathlib import Path
from rackwright.lab import processes
processes.claim_pid_file(Path(sys.argv[1]))
child = subprocess.Popen(sys.argv[2:])
child.wait()
"""


@pytest.fixture
def world(world: World) -> World:
    """Of a name that no lab of this machine has: hosts are known by it in the kernel."""
    world = world.model_copy(update={"cluster": f"unit-{os.getpid()}"})
    world.places.run.mkdir(parents=True)
    world.places.lab.mkdir(parents=True)
    return world


def _command(world: World, module: str, after_s: float, pid_file: Path | None) -> list[str]:
    """A process of the lab: so long without its pid file."""
    late = [str(after_s), str(pid_file or "")]
    return [sys.executable, "-c", LATE, module, *world.places.arguments(), *late]


@contextmanager
def _running(command: list[str]) -> Iterator[Process]:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        found = Process.of(process.pid)
        assert found is not None
        try:
            yield found
        finally:
            process.kill()


def test_one_that_was_just_started_has_time_to_say_who_it_is(world: World) -> None:
    file = world.places.host_pid(SLOT)
    with _running(_command(world, supervisor.MODULE, 1.0, file)) as process:
        assert list(stale.clear(world)) == []
        assert processes.read_pid_file(file) == process


def test_one_that_never_does_goes(world: World) -> None:
    with _running(_command(world, supervisor.MODULE, 0.0, None)) as process:
        assert list(stale.clear(world)) == [f"process {process.pid} {supervisor.MODULE}"]
        assert not process.alive


@pytest.mark.parametrize("module", [supervisor.MODULE, workbench.MODULE])
def test_what_a_living_labd_has_started_is_its_own(world: World, module: str) -> None:
    child = _command(world, module, 0.0, None)
    daemon = [sys.executable, "-c", DAEMON, str(world.places.labd_pid), *child]
    with _running(daemon) as process:
        (own,) = map(Process.of, processes.children(process.pid))
        assert own is not None
        begun = time.monotonic()
        assert list(stale.clear(world)) == []
        assert time.monotonic() - begun < stale._NAMED_WITHIN_S, "nobody waits for it"  # noqa: SLF001
        assert own.kill()


def test_files_that_a_living_labd_may_be_writing_stay_and_go_once_it_is_dead(world: World) -> None:
    places = world.places
    begun = [places.host_pid(SLOT), places.disk(SLOT).with_suffix(".new"), places.socket]
    for file in begun:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    with _running(_command(world, labd.MODULE, 0.0, places.labd_pid)):
        _until(lambda: processes.read_pid_file(places.labd_pid) is not None)
        assert list(stale.clear(world)) == []
    assert set(stale.clear(world)) == {f"file {file}" for file in (*begun, places.labd_pid)}


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
