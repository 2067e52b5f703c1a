"""One set-up at a time: a second one says who is at work, and a dead one holds nobody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

from bootstrap import places
from bootstrap.lock import only_run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

import pytest

HOLDER = """
import sys, time
from pathlib import Path
from bootstrap.lock import only_run
with only_run(Path(sys.argv[1]), print):
    print("held", flush=True)
    while not Path(sys.argv[1] + ".go").exists():
        time.sleep(0.02)
    Path(sys.argv[1] + ".left").touch()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "setup.lock"


def held(lock: Path) -> subprocess.Popen[str]:
    """Who holds it until it is told to go."""
    command = [sys.executable, "-c", HOLDER, str(lock)]
    holder = subprocess.Popen(command, cwd=places.REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    with held(lock) as process:
        yield process


def test_the_second_run_says_who_holds_the_lock_and_waits(lock: Path, holder: subprocess.Popen[str]) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        lock.with_name("setup.lock.go").touch()

    with only_run(lock, tell):
        assert lock.with_name("setup.lock.left").exists()
    assert len(told) == 1
    assert f"process {holder.pid} " in told[0]
    assert str(places.REPOSITORY) in told[0]


def test_a_killed_holder_frees_the_lock(lock: Path) -> None:
    with held(lock) as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with only_run(lock, print):
            assert f"process {os.getpid()} " in lock.read_text()


def test_nobody_is_named_after_the_end(lock: Path) -> None:
    with only_run(lock, print):
        pass
    assert lock.read_text() == ""
