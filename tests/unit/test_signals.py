"""Signals that end a run; a lost terminal counts once, is heeded unless it is ignored, and takes no words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from rackwright import signals
from tests.doubles.cutting import wait
from tests.doubles.processes import sleeps_in
from tests.doubles.terminal import OnTerminal

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(sys.executable).with_name("rackwright")
WITHIN_S = 120
HUP, TERM, INT = signal.SIGHUP, signal.SIGTERM, signal.SIGINT


@pytest.mark.parametrize(
    ("come", "passed"),
    [
        ([HUP], [HUP]),
        ([HUP, HUP, HUP], [HUP]),
        ([HUP, TERM, HUP], [HUP]),
        ([TERM, HUP], [TERM]),
        ([HUP, TERM, TERM], [HUP, TERM]),
        ([INT, HUP, INT], [INT, INT]),
        ([INT, TERM, TERM], [INT, TERM, TERM]),
    ],
)
def test_a_lost_terminal_asks_once(come: list[signal.Signals], passed: list[signal.Signals]) -> None:
    """The kernel, the shell and systemd each tell of it; who asks for the second time does so by hand."""
    taken: list[int] = []
    with signals.taken_by(lambda number, _: taken.append(number)):
        for number in come:
            signal.raise_signal(number)
    assert taken == passed


def test_a_hang_up_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(HUP, signal.SIG_IGN)
    try:
        with signals.taken_by(lambda *_: pytest.fail("it was taken")):
            signal.raise_signal(HUP)
        assert signal.getsignal(HUP) is signal.SIG_IGN
    finally:
        signal.signal(HUP, before)


def _waiting(tmp_path: Path, *before: str) -> tuple[Path, list[str]]:
    """A command that opens its spec, and waits for text."""
    spec = tmp_path / "spec.yaml"
    os.mkfifo(spec)
    return spec, [*before, str(SCRIPT), "check", str(spec)]


@contextmanager
def _reading(spec: Path, process: subprocess.Popen[Any]) -> Iterator[TextIO]:
    """Once the command sleeps in its read: a signal from just before is seen only when the read returns."""
    with spec.open("w", encoding="utf-8") as file:
        wait(lambda: "pipe_read" in sleeps_in(process.pid), "the command does not read its spec")
        yield file


@pytest.mark.parametrize("number", [INT, TERM, HUP])
def test_a_command_that_is_ended_says_so_and_how_it_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    """A supervisor's SIGTERM and a lost terminal end it as Ctrl-C does, wherever it is."""
    spec, words = _waiting(tmp_path)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process, _reading(spec, process):
        process.send_signal(number)
        out, err = process.communicate(timeout=WITHIN_S)
    assert (process.returncode, out) == (130, "")
    assert err == "error INT001: interrupted: the same command goes on from here\n"


def test_behind_nohup_it_outlives_its_terminal(tmp_path: Path) -> None:
    spec, words = _waiting(tmp_path, "nohup")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        with _reading(spec, process) as file:
            process.send_signal(HUP)
            time.sleep(0.5)
            assert process.poll() is None
            file.write("{}")
        out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 1, err
    assert "rules" in out, "it has come to its own end"


def test_where_a_lost_terminal_is_ignored_it_goes_on_though_nobody_can_read_it(tmp_path: Path) -> None:
    spec, words = _waiting(tmp_path, "sh", "-c", "trap '' HUP; exec \"$@\"", "sh")
    terminal = OnTerminal(words)
    with _reading(spec, terminal.process) as file:
        terminal.lose()
        file.write("{}")
    assert terminal.process.wait(WITHIN_S) == 1


def test_who_has_lost_the_terminal_ends_as_others_do_though_nobody_reads_it(tmp_path: Path) -> None:
    spec, words = _waiting(tmp_path)
    terminal = OnTerminal(words)
    with _reading(spec, terminal.process):
        terminal.lose()
        assert terminal.process.wait(WITHIN_S) == 130
