"""Stages of one command: run in order, each named and timed, stopped by Ctrl-C without loss.

A stage is a process of its own session: it reads nothing from the terminal, and a signal reaches it
once, from here. Its output is not touched.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bootstrap import places
from bootstrap.console import duration, tell
from rackwright.errors import BAD, GOOD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BY_SIGNAL = 128
"""What a shell adds to a signal's number to make an exit status of it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One process to run; one with a reason to skip it is told and not run."""

    name: str
    command: tuple[str, ...]
    skip: str = ""


@dataclass(frozen=True, slots=True)
class _Ended:
    stage: Stage
    word: str
    seconds: float
    code: int = GOOD


@dataclass(slots=True)
class _Watch:
    """Hands the signals that reach us to the running stage."""

    process: subprocess.Popen[bytes] | None = None
    received: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    """Received while a stage was being started, and not handed to it yet."""

    def forward(self, number: int, frame: FrameType | None) -> None:
        """Signal handler."""
        del frame
        self.received.append(number)
        self.kept.append(number)
        self._hand_on()

    def _hand_on(self) -> None:
        while self.process and self.kept:
            with suppress(ProcessLookupError, IndexError):  # one that comes in here has taken the last
                os.killpg(self.process.pid, self.kept.pop(0))

    def run(self, command: Sequence[str]) -> int:
        """Run a command to its end and return its exit status as a shell has it."""
        self.process = subprocess.Popen(
            [*_tied(), *command],
            stdin=subprocess.DEVNULL,
            cwd=places.REPOSITORY,
            env={**os.environ, "PATH": places.search_path()},
            start_new_session=True,
        )
        self._hand_on()
        code = self.process.wait()
        self.process = None
        return _BY_SIGNAL - code if code < 0 else code


def _tied() -> list[str]:
    """Prefix by which the kernel interrupts a stage whose runner was killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "INT", "--"] if setpriv else []


@contextmanager
def _watching() -> Iterator[_Watch]:
    watch = _Watch()
    before = {number: signal.signal(number, watch.forward) for number in _SIGNALS}
    try:
        yield watch
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(title: str, stages: Sequence[Stage], *, keep_going: bool = False) -> int:
    """Run stages in order, print each one's time and the total.

    Args:
        title: the command, as the user typed it.
        stages: what to run.
        keep_going: run the rest after a stage that failed, as checks do.

    Returns:
        0, or the exit status of the first stage that failed (with `keep_going`: 1), or 128 plus the
        number of the signal that interrupted.
    """
    ended: list[_Ended] = []
    with _watching() as watch:
        for stage in stages:
            ended.append(_run(stage, watch))
            if watch.received or (ended[-1].code and not keep_going):
                break
    _report(title, ended)
    return _status(title, ended, watch.received, keep_going=keep_going)


def _run(stage: Stage, watch: _Watch) -> _Ended:
    if stage.skip:
        tell(f"--- {stage.name}: not run: {stage.skip}")
        return _Ended(stage, "not run", 0.0)
    tell(f"--- {stage.name}")
    started = time.monotonic()
    code = watch.run(stage.command)
    seconds = time.monotonic() - started
    if watch.received:
        return _Ended(stage, "interrupted", seconds, code)
    return _Ended(stage, f"failed ({code})" if code else "done", seconds, code)


def _report(title: str, ended: Sequence[_Ended]) -> None:
    width = max(len(end.stage.name) for end in ended)
    for end in ended:
        tell(f"{title}: {end.stage.name:<{width}}  {end.word:<12} {duration(end.seconds):>12}")
    tell(f"{title}: {'total':<{width}}  {'':<12} {duration(sum(end.seconds for end in ended)):>12}")


def _status(title: str, ended: Sequence[_Ended], received: Sequence[int], *, keep_going: bool) -> int:
    last = ended[-1]
    if received:
        tell(f"{title}: interrupted in stage {last.stage.name!r}; the same command goes on from there")
        return _BY_SIGNAL + received[0]
    failed = next((end for end in ended if end.code), None)
    if failed is None:
        return GOOD
    tell(f"{title}: stage {failed.stage.name!r} failed with exit status {failed.code}")
    return BAD if keep_going else failed.code
