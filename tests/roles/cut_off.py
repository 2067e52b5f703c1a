"""A validation on real hosts that is cut off: at which moments, in which ways, and what is left then."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.verdict.folder import REPORT
from tests.roles.conftest import WITHIN_S
from tests.roles.validation import command, there

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

    from rackwright.validate.model import Run, Step
    from tests.roles.conftest import Site

_POLL_S = 0.01


class Way(StrEnum):
    """How it is cut off."""

    CTRL_C = "Ctrl-C"
    """Of the whole process group, as a terminal sends it."""
    IMPATIENT = "Ctrl-C, again and again until it has ended"
    TERM = "SIGTERM"
    KILL = "SIGKILL"
    KILL_ALL = "SIGKILL of it and every ssh"
    STEP = "SIGKILL of the ssh of a step"
    CONNECTION = "SIGKILL of the ssh that holds the connection"


STOPPED = frozenset({Way.CTRL_C, Way.IMPATIENT, Way.TERM})
"""It can say something, and cancel its job."""
LOST = frozenset({Way.STEP, Way.CONNECTION})
CODES = {**dict.fromkeys(STOPPED, 130), **dict.fromkeys(LOST, 2), Way.KILL: -9, Way.KILL_ALL: -9}


@dataclass(frozen=True)
class Left:
    """What a cut has left."""

    name: str
    way: Way
    code: int
    said: dict[str, object]
    errors: str
    run: Run | None
    jobs: int
    """That it noted."""


@dataclass
class Validation:
    """One folder, and the commands that are at work in it, one after the other.

    Args:
        site: of the lab.
        folder: of the run.
        own: folder of the commands' sockets, by which their processes are known.
    """

    site: Site
    folder: Path
    own: Path
    left: list[Left] = field(default_factory=list)
    process: subprocess.Popen[str] = field(init=False)
    before: Run | None = None
    survivors: frozenset[int] = frozenset()
    """Processes of earlier commands that were there when this one was begun: a killed one's ssh lives on."""

    @property
    def run(self) -> Run | None:
        return there(self.folder)

    def begin(self) -> None:
        """Begin it, or go on with it."""
        self.before = self.run
        self.survivors = frozenset(self.processes())
        option = "--resume" if self.before else "--out"
        self.process = command(self.site, option, str(self.folder), TMPDIR=str(self.own))

    def cut(self, name: str, moment: Callable[[Validation], bool], way: Way) -> Left:
        """Begin, wait for the moment, cut, and see what is left."""
        self.begin()
        ends = time.monotonic() + 2 * WITHIN_S
        while not moment(self):
            assert self.process.poll() is None, f"before {name}: {self.process.communicate()}"
            missed = (self.folder / REPORT).exists() or time.monotonic() > ends
            assert not missed, f"never {name}"
            time.sleep(_POLL_S)
        _CUTS[way](self)
        out, err = self.process.communicate(timeout=WITHIN_S)
        said = json.loads(out) if out else {}
        left = Left(name, way, self.process.returncode, said, err, self.run, len(self.new_jobs()))
        self.left.append(left)
        return left

    def processes(self) -> dict[int, str]:
        """Of all commands of ours that reach the lab: process → its command line."""
        return {pid: line for pid, line in command_lines() if str(self.own) in line}

    def new_processes(self) -> list[str]:
        """Command lines of those of this beginning."""
        return [line for pid, line in self.processes().items() if pid not in self.survivors]

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def press(self) -> None:
        """Ctrl-C until it has ended."""
        while self.process.poll() is None:
            self.signal(signal.SIGINT)
            time.sleep(_POLL_S)

    def kill(self, has: str) -> None:
        """Kill those of its ssh whose command line has this."""
        for pid, line in self.processes().items():
            if has in line:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def kill_all(self) -> None:
        self.signal(signal.SIGKILL)
        while self.processes():
            self.kill("")
            time.sleep(_POLL_S)

    def new_jobs(self) -> tuple[int, ...]:
        """Those of this beginning."""
        run, known = self.run, len(self.before.job_ids) if self.before else 0
        return run.job_ids[known:] if run else ()

    def new_steps(self, pattern: str) -> list[Step]:
        known = {step.name for step in self.before.steps} if self.before else set()
        run = self.run
        steps = run.steps if run else ()
        return [step for step in steps if step.name not in known and fnmatchcase(step.name, pattern)]


_CUTS: dict[Way, Callable[[Validation], None]] = {
    Way.CTRL_C: lambda one: one.signal(signal.SIGINT),
    Way.IMPATIENT: Validation.press,
    Way.TERM: lambda one: one.process.terminate(),
    Way.KILL: lambda one: one.process.kill(),
    Way.KILL_ALL: Validation.kill_all,
    Way.STEP: lambda one: one.kill(" srun "),
    Way.CONNECTION: lambda one: one.kill("[mux]"),
}


def command_lines() -> Iterator[tuple[int, str]]:
    """Of all processes of this machine."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            yield int(folder.name), b" ".join(words).decode(errors="replace")


def reaches_out(one: Validation) -> bool:
    """It has reached the controller, and has written nothing."""
    return bool(one.new_processes()) and not one.folder.exists()


def has_begun(one: Validation) -> bool:
    """It has written that it begins, or goes on."""
    run = one.run
    return run is not None and (one.before is None or run.resumed != one.before.resumed)


def asks_for_a_job(one: Validation) -> bool:
    return any("salloc" in line for line in one.new_processes())


def has_a_job(one: Validation) -> bool:
    return bool(one.new_jobs())


def under_way(pattern: str) -> Callable[[Validation], bool]:
    """A step of that name runs in the job of this beginning."""

    def runs(one: Validation) -> bool:
        return has_a_job(one) and any(
            f"--job-name={name} " in line
            for name in _begun(one.folder, pattern)
            for line in one.new_processes()
        )

    return runs


def _begun(folder: Path, pattern: str) -> list[str]:
    """Steps of that name of which there is output, and no end."""
    run = there(folder)
    ended = {step.name for step in run.steps} if run else set()
    raw = folder / "raw"
    names = [file.relative_to(raw).as_posix().removesuffix(".stdout") for file in raw.rglob("*.stdout")]
    return [name for name in names if name not in ended and fnmatchcase(name, pattern)]


def ended(pattern: str) -> Callable[[Validation], bool]:
    """The last thing that was done was to keep a step of that name."""
    return lambda one: bool(one.new_steps(pattern))


def all_is_made(one: Validation) -> bool:
    run = one.run
    last = [step for step in run.steps if step.name.startswith("counters/after/")] if run else []
    resumed = run is not None and run.resumed != (one.before.resumed if one.before else ())
    return resumed and run is not None and len(last) == len(run.sites["hall"]) and run.finished is None


def is_finished(one: Validation) -> bool:
    """It has its end, and is being judged."""
    run = one.run
    return run is not None and run.finished is not None
