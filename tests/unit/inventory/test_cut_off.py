"""An inventory cut off wherever it is: its files are whole, no console stays open, the next one goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.inventory import store
from tests.doubles.hall import host_key
from tests.doubles.processes import sleeps_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.hall import Hall

pytestmark = pytest.mark.slow

SCRIPT = Path(sys.executable).with_name("rackwright")

LAST = "gpu-node-003"
WITHIN_S = 300
WAYS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
OBSERVED = "observed.json"
HOLD = """
import os, pathlib, time
number, folder, sync = int(os.environ["TEST_HELD_WRITE"]), pathlib.Path(os.environ["TEST_HELD"]), os.fsync
def fsync(handle):
    sync(handle)
    (folder / str(len(list(folder.iterdir())))).touch()
    if len(list(folder.iterdir())) == number:
        time.sleep(600)
os.fsync = fsync
"""
"""Holds a command when it has written that many files, before the last of them takes its name."""


def _begin(hall: Hall, *options: str, held: Path | None = None, at: int = 0) -> subprocess.Popen[str]:
    """As a terminal does; what is held is the file of that number."""
    holding = {} if held is None else {"PYTHONPATH": str(held.parent), "TEST_HELD": str(held)}
    return subprocess.Popen(
        [str(SCRIPT), "inventory", str(hall.spec_path), *options],
        env=os.environ | holding | {"TEST_HELD_WRITE": str(at)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _done(hall: Hall, *options: str) -> None:
    words = [str(SCRIPT), "inventory", str(hall.spec_path), *options]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=WITHIN_S)
    assert done.returncode == 0, done.stderr


def _holding(folder: Path) -> Path:
    """A folder of modules that make a command hold."""
    hold = folder / "hold"
    hold.mkdir()
    (hold / "sitecustomize.py").write_text(HOLD)
    return hold


def _cut(command: subprocess.Popen[str], has_come: Callable[[], bool], way: signal.Signals) -> None:
    """Wait for the moment, cut, and see how it ended."""
    with command:
        ends = time.monotonic() + WITHIN_S
        while not has_come():
            assert command.poll() is None, command.communicate()
            assert time.monotonic() < ends, "it did not come that far"
            time.sleep(0.02)
        os.killpg(command.pid, way)
        out, err = command.communicate(timeout=WITHIN_S)
    assert command.returncode == (-way if way is signal.SIGKILL else 130), err
    assert "Traceback" not in err
    assert out == ""
    assert way is signal.SIGKILL or "INT001: interrupted: the same command goes on from here" in err


def _there(hall: Hall) -> dict[str, str]:
    """What an inventory has written; what it began to write and never named is no file of it."""
    folder = paths.inventory("atlas")
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("[!.]*") if path.is_file()}
    observed = hall.observed_file
    every = files | ({OBSERVED: observed} if observed.exists() else {})
    return {name: path.read_text() for name, path in every.items()}


def _forget(hall: Hall) -> None:
    for name in _there(hall):
        (paths.inventory("atlas") / name).unlink(missing_ok=True)
    hall.observed_file.unlink(missing_ok=True)


def _open_in(folder: Path) -> list[str]:
    """Who has a file of a folder open."""
    found = []
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if handle.readlink().is_relative_to(folder):
                found.append(str(handle))
    return found


def _assert_it_goes_on(hall: Hall, whole: dict[str, str]) -> None:
    """The same command, to its end: every file is what it would have been, and no console is held."""
    assert _open_in(hall.consoles) == []
    _done(hall, "--wait", "60")
    assert _there(hall) == whole


@pytest.fixture
def whole(hall: Hall) -> dict[str, str]:
    """What an inventory writes that nobody cuts off; it is forgotten."""
    hall.write()
    subprocess.run([SCRIPT, "plan", hall.spec_path], check=True, capture_output=True, timeout=WITHIN_S)
    _done(hall)
    there = _there(hall)
    _forget(hall)
    return there


@pytest.mark.parametrize("way", WAYS)
def test_while_it_waits_for_a_console(hall: Hall, whole: dict[str, str], way: signal.Signals) -> None:
    (hall.consoles / f"{LAST}.log").unlink()
    command = _begin(hall, "--wait", "600")
    assert command.stderr is not None
    said = command.stderr.readline()
    assert f"waiting for the keys of 1 of 3 hosts, first {LAST}" in said
    _cut(command, lambda: True, way)
    assert _there(hall) == {}, "nothing is known before all have been heard"
    hall.prints(LAST)
    _assert_it_goes_on(hall, whole)


@pytest.mark.parametrize("way", WAYS)
def test_while_it_reads_a_console(hall: Hall, whole: dict[str, str], way: signal.Signals) -> None:
    """One on a file server that does not answer."""
    log = hall.consoles / f"{LAST}.log"
    log.unlink()
    os.mkfifo(log)
    command = _begin(hall, "--wait", "600")
    _cut(command, lambda: "wait_for_partner" in sleeps_in(command.pid), way)
    assert _there(hall) == {}
    log.unlink()
    hall.prints(LAST)
    _assert_it_goes_on(hall, whole)


@pytest.mark.parametrize("way", WAYS)
def test_while_it_writes_any_of_its_files(
    hall: Hall, whole: dict[str, str], way: signal.Signals, tmp_path: Path
) -> None:
    folder = _holding(tmp_path)
    seen: list[set[str]] = []
    for number in range(1, len(whole) + 1):
        held = folder / f"written-{number}"
        held.mkdir()
        command = _begin(hall, held=held, at=number)
        _cut(command, lambda held=held, number=number: len(list(held.iterdir())) == number, way)  # type: ignore[misc]  # (a default binds the loop's value)
        there = _there(hall)
        assert there == {name: whole[name] for name in there}, f"whole, or not there: {number}"
        assert way is signal.SIGKILL or _unnamed() == []
        seen.append(set(there))
        _assert_it_goes_on(hall, whole)
        _forget(hall)
    assert [len(names) for names in seen] == list(range(len(whole)))
    assert OBSERVED in seen[1], "keys are known before anybody may use them"
    assert "hosts.yml" not in seen[-1], "it comes last: who reads it finds the others as new"
    _assert_it_goes_on(hall, whole)


def _unnamed() -> list[Path]:
    return [path for path in paths.state("atlas").rglob(".*") if path.is_file()]


@pytest.mark.parametrize("way", WAYS)
def test_a_changed_key_is_taken_wholly_or_not_at_all(
    hall: Hall, whole: dict[str, str], way: signal.Signals, tmp_path: Path
) -> None:
    """Accepting it is cut off; the old key still counts, and the same command takes the new one."""
    _done(hall)
    hall.prints(LAST, "another")
    held = _holding(tmp_path) / "written"
    held.mkdir()
    accept = ("--accept-changed-key", LAST, "--reason", "a test")
    _cut(_begin(hall, *accept, held=held, at=1), lambda: len(list(held.iterdir())) == 1, way)
    assert _there(hall) == whole
    _done(hall, *accept)
    known = store.load(hall.observed_file, "atlas").slots[LAST]
    assert known.host_keys == (host_key("another"),)
