"""How far a run is, for people: a live display where there is a terminal, a few plain lines where not."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from rackwright.converge.model import Status
from rackwright.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rackwright.converge.events import TaskEvent
    from rackwright.converge.model import ConvergeReport, ShardReport
    from rackwright.converge.shards import Shard
    from rackwright.converge.tally import Tally

PLAIN_EVERY_S = 10.0


@dataclass
class Estimate:
    """Host-tasks done of those to do, and the time that is left.

    What a host has to do is known from the run before; of a host that was not in it, from those of
    this run that are done; before there is one, nothing is said.
    """

    tally: Tally
    before: dict[str, int]
    """Host → tasks in the run before."""
    hosts: tuple[str, ...]
    """Of this run."""
    begun: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, tally: Tally, last: ConvergeReport | None, hosts: Iterable[str]) -> Estimate:
        """From the report of the run before."""
        known = last.hosts if last else {}
        tasks = {
            name: host.tasks.ok + host.tasks.failed + host.tasks.unreachable + host.tasks.skipped
            for name, host in known.items()
            if host.status is Status.DONE
        }
        return cls(tally, tasks, tuple(hosts))

    def done(self) -> int:
        """Host-tasks that have ended."""
        return sum(host.tasks for host in self.tally.hosts.values())

    def total(self) -> int | None:
        """Host-tasks of the whole run; None while nobody knows."""
        finished = [host.tasks for host in self.tally.hosts.values() if host.status is Status.DONE]
        typical = max(finished, default=0)
        each = [self._of(name, typical) for name in self.hosts]
        return sum(each) if all(each) else None

    def _of(self, name: str, typical: int) -> int:
        host = self.tally.hosts.get(name)
        if host is not None and host.status is not None:
            return host.tasks
        return max(self.before.get(name, typical), host.tasks if host else 0)

    def seconds_left(self, now: float | None = None) -> float | None:
        """None while nobody knows."""
        done, total = self.done(), self.total()
        if not done or total is None:
            return None
        elapsed = (time.monotonic() if now is None else now) - self.begun
        return elapsed / done * max(0, total - done)

    def text(self) -> str:
        """``120 of 340 tasks, about 25 s left``."""
        total, left = self.total(), self.seconds_left()
        of = f" of {total}" if total is not None else ""
        return f"{self.done()}{of} tasks" + (f", about {left:.0f} s left" if left is not None else "")


class Display(Protocol):
    """Whoever follows a run."""

    def begin(self, shard: Shard) -> None:
        """A shard's runner starts."""

    def task(self, event: TaskEvent) -> None:
        """A task has ended on a host."""

    def diff(self, text: str) -> None:
        """What ``--check`` would change."""

    def end(self, shard: Shard, report: ShardReport) -> None:
        """A shard's runner has ended."""

    def close(self) -> None:
        """The run is over."""


def _hosts(number: int) -> str:
    return f"{number} host" if number == 1 else f"{number} hosts"


def failure_line(event: TaskEvent) -> str:
    """A task that failed, in a line."""
    task = f"{event.role} : {event.task}" if event.role else event.task
    return f"{event.host}: {event.outcome.value}: {task}: {event.cause.message if event.cause else ''}"


def end_line(shard: Shard, report: ShardReport) -> str:
    """A shard that has ended, in a line."""
    if report.stopped:
        return f"{shard.name}: stopped after {report.seconds:.0f} s: {report.stopped}"
    well = report.hosts - report.failed
    return f"{shard.name}: {well} of {_hosts(report.hosts)} in {report.seconds:.0f} s"


class Plain:
    """Lines: a shard's end, a failure, and how far it is every ten seconds."""

    def __init__(self, estimate: Estimate, tell: Callable[[str], None]) -> None:
        self._estimate = estimate
        self._tell = tell
        self._told = time.monotonic()
        self._lock = threading.Lock()

    def begin(self, shard: Shard) -> None:
        """Tell it."""
        self._tell(f"{shard.name}: {_hosts(len(shard.hosts))}")

    def task(self, event: TaskEvent) -> None:
        """Tell a failure, and now and then how far it is."""
        if event.cause is not None and event.outcome.value != "ignored":
            self._tell(failure_line(event))
        with self._lock:
            due = time.monotonic() - self._told > PLAIN_EVERY_S
            self._told = time.monotonic() if due else self._told
        if due:
            self._tell(self._estimate.text())

    def diff(self, text: str) -> None:
        """As Ansible has it."""
        self._tell(text)

    def end(self, shard: Shard, report: ShardReport) -> None:
        """Tell it."""
        self._tell(end_line(shard, report))

    def close(self) -> None:
        """Nothing is left on the screen."""


class Live:
    """A bar of the whole run and a line for each shard that is under way.

    Where the terminal is gone nobody looks any more, which is no harm to the run.
    """

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[left]}"))
        self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
        self._all = self._progress.add_task("converge", total=None, left="")
        self._rows: dict[str, TaskID] = {}
        self._progress.start()

    def begin(self, shard: Shard) -> None:
        """Add its line."""
        told = _hosts(len(shard.hosts))
        with suppress(OSError):
            self._rows[shard.name] = self._progress.add_task(shard.name, total=None, left=told)

    def task(self, event: TaskEvent) -> None:
        """Move the bar; a failure stays on the screen."""
        if event.cause is not None and event.outcome.value != "ignored":
            self._print(failure_line(event), style="red")
        if event.shard in self._rows:
            self._progress.update(self._rows[event.shard], left=visible(event.task))
        self._progress.update(
            self._all,
            completed=self._estimate.done(),
            total=self._estimate.total(),
            left=self._estimate.text(),
        )

    def diff(self, text: str) -> None:
        """As Ansible has it."""
        self._print(text)

    def end(self, shard: Shard, report: ShardReport) -> None:
        """Take its line away and say how it ended."""
        if shard.name in self._rows:
            self._progress.remove_task(self._rows.pop(shard.name))
        self._print(end_line(shard, report))

    def _print(self, text: str, style: str | None = None) -> None:
        with suppress(OSError):
            self._progress.console.print(visible(text), markup=False, highlight=False, style=style)

    def close(self) -> None:
        """Take the display away."""
        with suppress(OSError):
            self._progress.stop()


class Silent:
    """Nobody looks (``-q``)."""

    def begin(self, shard: Shard) -> None:
        """Say nothing."""

    def task(self, event: TaskEvent) -> None:
        """Say nothing."""

    def diff(self, text: str) -> None:
        """Say nothing."""

    def end(self, shard: Shard, report: ShardReport) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


def display(estimate: Estimate, tell: Callable[[str], None], *, quiet: bool) -> Display:
    """What fits stderr."""
    if quiet:
        return Silent()
    return Live(estimate) if sys.stderr.isatty() else Plain(estimate, tell)
