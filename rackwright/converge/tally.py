"""Events of all shards in, what became of each host so far: the one place that counts."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.converge.events import Outcome
from rackwright.converge.model import Counts, HostReport, Reason, ShardReport, Status

if TYPE_CHECKING:
    from rackwright.converge.events import TaskEvent
    from rackwright.converge.shards import Shard

_COUNTED = {
    Outcome.OK: ("ok",),
    Outcome.CHANGED: ("ok", "changed"),
    Outcome.IGNORED: ("ok",),
    Outcome.FAILED: ("failed",),
    Outcome.UNREACHABLE: ("unreachable",),
    Outcome.SKIPPED: ("skipped",),
}


@dataclass
class HostTally:
    """One host so far."""

    shard: str
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(Counts.model_fields, 0))
    status: Status | None = None
    """What it has come to; None while its tasks go on."""
    reason: Reason | None = None

    def add(self, event: TaskEvent) -> None:
        """Count one task."""
        for name in (*_COUNTED[event.outcome], *(("remote",) if event.remote else ())):
            self.counts[name] += 1
        if event.outcome in (Outcome.FAILED, Outcome.UNREACHABLE) and event.cause:
            self.status = event.cause.status
            name = f"{event.role} : {event.task}" if event.role else event.task
            self.reason = Reason(task=name, message=event.cause.message, hint=event.cause.hint)

    def rescue(self) -> None:
        """A failed task was made good by the playbook itself (a block's ``rescue``)."""
        self.counts["ok"] += self.counts["failed"]
        self.counts["failed"] = 0
        self.status, self.reason = None, None

    @property
    def tasks(self) -> int:
        """Tasks that have ended, skipped ones included."""
        return sum(self.counts[name] for name in ("ok", "failed", "unreachable", "skipped"))

    def report(self) -> HostReport:
        """The host when nothing more is to come."""
        status = self.status or Status.NOT_REACHED
        return HostReport(status=status, shard=self.shard, tasks=Counts(**self.counts), reason=self.reason)


@dataclass
class Tally:
    """All hosts of a run; shards add to it from threads of their own."""

    hosts: dict[str, HostTally] = field(default_factory=dict)
    shards: dict[str, ShardReport] = field(default_factory=dict)
    problem: Reason | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Tally:
        """All hosts, before anything is heard of them; no other is added later."""
        return cls({name: HostTally(shard.name) for shard in shards for name in shard.hosts})

    def add(self, event: TaskEvent) -> None:
        """Count one task; what fails before any host is spoken to is the run's own problem."""
        with self._lock:
            host = self.hosts.get(event.host)
            if host is not None and not (event.delegated and self._is_first(host.shard)):
                host.add(event)
            elif event.outcome is Outcome.FAILED and event.cause:
                self.problem = Reason(task=event.task, message=event.cause.message, hint=event.cause.hint)

    def _is_first(self, shard: str) -> bool:
        """Whether nothing has run on a host of a shard yet: the playbook still asserts its inventory."""
        return not any(host.counts["remote"] for host in self.hosts.values() if host.shard == shard)

    def take_stats(self, data: Mapping[str, object]) -> None:
        """Ansible's own sums at the end of a playbook: who is failed in its eyes."""
        lost = {name for kind in ("failures", "dark") for name in _names(data.get(kind))}
        with self._lock:
            for name in _names(data.get("processed")) - lost:
                if name in self.hosts and self.hosts[name].status is not None:
                    self.hosts[name].rescue()

    def close(self, shard: Shard, report: ShardReport) -> None:
        """Settle what became of a shard's hosts: done, unless it was stopped or nothing ran on one."""
        with self._lock:
            for name in shard.hosts:
                host = self.hosts[name]
                if host.status is None:
                    host.status, host.reason = _settled(host, report)
            self.shards[shard.name] = report

    def failed(self, shard: Shard) -> int:
        """Hosts of a shard that are lost to it so far."""
        with self._lock:
            return sum(self.hosts[name].status in (Status.FAILED, Status.UNREACHABLE) for name in shard.hosts)


def _settled(host: HostTally, report: ShardReport) -> tuple[Status, Reason | None]:
    if report.stopped:
        return Status.NOT_REACHED, Reason(task="", message=report.stopped)
    if not host.tasks:
        hint = "is its pool or role in the playbook, and are there tasks of these tags?"
        return Status.NOT_REACHED, Reason(task="", message="no task was for this host", hint=hint)
    return Status.DONE, None


def _names(hosts: object) -> set[str]:
    return {str(name) for name in hosts} if isinstance(hosts, Mapping) else set()
