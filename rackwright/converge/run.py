"""Phases of shards in, `ConvergeReport` out: runners side by side, each within its failure budget."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwright import signals
from rackwright.converge import record, shard_run
from rackwright.converge.events import TaskEvent, task_event
from rackwright.converge.model import (
    ConvergeReport,
    HostReport,
    Reason,
    ShardReport,
    totals,
)
from rackwright.converge.progress import Estimate, display
from rackwright.converge.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

    from rackwright.converge.progress import Display
    from rackwright.converge.shard_run import Ending, Settings
    from rackwright.converge.shards import Phase, Shard
    from rackwright.converge.stop_pipe import StopPipe


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is for.

    Args:
        cluster: its name.
        plan_sha256: of the plan the hosts are to be like.
        phases: the hosts, in shards.
        apart: hosts that are asked for and that nothing is sent to.
    """

    cluster: str
    plan_sha256: str
    phases: Sequence[Phase]
    apart: Mapping[str, HostReport]


@dataclass
class _Run:
    """One run under way; its shards are in threads."""

    asked: Asked
    settings: Settings
    tally: Tally
    show: Display
    log: record.EventLog
    ident: str
    on_result: OnResult
    stopping: str = ""
    """Why no further task is begun anywhere; empty while all goes on."""
    active: dict[str, StopPipe] = field(default_factory=dict)
    """Shard → what stops it."""
    _signals: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def phase(self, phase: Phase) -> None:
        """Run a phase's shards, as many at once as there are processors."""
        with ThreadPoolExecutor(_processors(), "shard") as pool:
            for done in [pool.submit(self._shard, phase, shard) for shard in phase.shards]:
                done.result()

    def _shard(self, phase: Phase, shard: Shard) -> None:
        stop = self._begun(shard)
        if stop is None:
            self.tally.close(shard, self._report(phase, shard, None))
            return
        self.show.begin(shard)
        try:
            ending = shard_run.run(
                shard, self.settings, self.ident, on_event=lambda raw: self._take(shard, raw)
            )
        except OSError:
            stop.ask()  # its runner may be at work still, and nobody hears what it tells
            raise
        finally:
            with self._lock:
                del self.active[shard.name]
            stop.close()
        self._note_problem(shard, ending)
        report = self._report(phase, shard, ending)
        self.tally.close(shard, report)
        self.show.end(shard, report)

    def _begun(self, shard: Shard) -> StopPipe | None:
        """What tells a shard that the run stops; None where it has, and the shard is not to begin."""
        # Without the lock, for no signal may wait for it: the disk may hang, or be why the run stops.
        stop = None if self.stopping else shard_run.lay_out(self.settings.place(shard))
        if stop is None:
            return None
        with self._lock:
            if not self.stopping:
                self.active[shard.name] = stop
                return stop
        stop.close()
        return None

    def _take(self, shard: Shard, raw: Mapping[str, Any]) -> None:
        """One event of a shard's runner."""
        event = task_event(raw, shard.name)
        if event is not None:
            self._count(event)
            self.on_result(event, raw["event_data"].get("res"))
        elif raw.get("event") == "playbook_on_stats":
            self.tally.take_stats(raw["event_data"])
        elif raw.get("event") == "runner_on_file_diff" and self.settings.check and self.on_result is nobody:
            self.show.diff(str(raw.get("stdout", "")))

    def _count(self, event: TaskEvent) -> None:
        self.tally.add(event)
        self.log.add(event)
        self.show.task(event)
        if self.tally.problem and not self.stopping:
            self.stop("the inventory was refused")

    def stop(self, why: str, *, now: bool = False) -> None:
        """Begin no further task anywhere. Raises nothing, for a signal's handler calls it."""
        with self._lock:
            self.stopping = self.stopping or why
            for stop in self.active.values():
                stop.ask(now=now)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Ctrl-C, or SIGTERM: running tasks may end; at the second one they are interrupted."""
        del number, frame
        self._signals += 1
        self.stop("the run was stopped", now=self._signals > 1)

    @property
    def interrupted(self) -> bool:
        """Whether somebody asked the run to stop."""
        return self._signals > 0

    def _note_problem(self, shard: Shard, ending: Ending) -> None:
        """A runner that failed unstopped, and no host of it did: the playbook cannot even be read."""
        well = ending.status in (0, shard_run.STOPPED)
        if well or self.stopping or self.tally.failed(shard) or self.tally.problem:
            return
        said = ending.said or f"ansible-playbook ended with status {ending.status}"
        self.tally.problem = Reason(task="", message=said, hint=f"see {self.settings.place(shard)}/artifacts")
        self.stop("the playbook could not be run")

    def _report(self, phase: Phase, shard: Shard, ending: Ending | None) -> ShardReport:
        return ShardReport(
            phase=phase.name,
            hosts=len(shard.hosts),
            failed=self.tally.failed(shard),
            stopped=self._why_stopped(shard, ending),
            seconds=round(ending.seconds, 1) if ending else 0.0,
        )

    def _why_stopped(self, shard: Shard, ending: Ending | None) -> str:
        """Empty where a runner came to its end, though hosts may have failed."""
        if ending is None:
            return self.stopping
        if ending.status == 0 or (ending.status in _HOSTS_FAILED and not self.tally.problem):
            return _OUT_OF_HOSTS if ending.out_of_hosts else ""
        failed, hosts = self.tally.failed(shard), len(shard.hosts)
        if ending.status == shard_run.STOPPED and failed > self.settings.may_fail(shard):
            budget = self.settings.budget_percent
            return f"{failed} of {hosts} hosts of the shard failed, more than {budget} %: it was stopped"
        return self.stopping or f"its runner ended with status {ending.status}"


OnResult: TypeAlias = "Callable[[TaskEvent, object], None]"
_OUT_OF_HOSTS = "the playbook ended early: it goes no further when a host of these fails"
_HOSTS_FAILED = frozenset({2, 3, 4})
"""Exit statuses for failed and unreachable hosts (ansible-core, task_queue_manager)."""


def nobody(event: TaskEvent, result: object) -> None:
    """Take no result: it may hold a secret."""


def converge(
    asked: Asked,
    settings: Settings,
    tell: Callable[[str], None],
    *,
    quiet: bool = False,
    on_result: OnResult = nobody,
) -> ConvergeReport:
    """Converge hosts; whatever becomes of one, the others of its shard and all other shards go on.

    Ctrl-C and SIGTERM end the run in its order and are told in the report.

    Args:
        asked: which hosts, in which order.
        settings: playbook, tags, places.
        tell: takes lines of progress.
        quiet: show none.
        on_result: takes what each task returned, in the thread of its shard.

    Raises:
        OSError: the events or the report could not be written.
    """
    started, begun = datetime.now(UTC), time.monotonic()
    tally = Tally.of(shard for phase in asked.phases for shard in phase.shards)
    estimate = Estimate.of(tally, record.last(settings.folder), tally.hosts)
    show = display(estimate, tell, quiet=quiet)
    try:
        with record.EventLog(settings.folder) as log:
            ident = f"{started:%Y%m%dT%H%M%S.%f}"
            run = _Run(asked, settings, tally, show, log, ident=ident, on_result=on_result)
            with signals.taken_by(run.on_signal):
                for phase in asked.phases:
                    run.phase(phase)
    finally:
        show.close()
    report = _reported(run, started.isoformat(timespec="seconds"), time.monotonic() - begun)
    record.save(settings.folder, report)
    return report


def _reported(run: _Run, started: str, seconds: float) -> ConvergeReport:
    there = {name: host.report() for name, host in run.tally.hosts.items()} | dict(run.asked.apart)
    hosts = dict(sorted(there.items()))
    return ConvergeReport(
        cluster=run.asked.cluster,
        plan_sha256=run.asked.plan_sha256,
        started=started,
        seconds=round(seconds, 1),
        check=run.settings.check,
        tags=run.settings.tags,
        interrupted=run.interrupted,
        problem=run.tally.problem,
        hosts=hosts,
        shards=dict(sorted(run.tally.shards.items())),
        totals=totals(hosts),
    )


def _processors() -> int:
    """Runners at once: each keeps a processor busy with its forks."""
    return max(1, len(os.sched_getaffinity(0)))
