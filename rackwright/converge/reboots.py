"""Reboots of hosts that wait for one: one first, then batches; never with jobs; each proven by its boot id.

Roles note why a host waits and reboot nothing. Here each such host is drained under a reason of ours, left
alone where a job runs, rebooted, and given back when it has a new boot id, its services and settings, and
Slurm's word. A host that fails any of that stays drained and stops the batches that have not begun.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Protocol

from rackwright.errors import BAD, GOOD, INCOMPLETE, Incomplete, SubjectFailed, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rackwright.catalogue.model import Reboot
    from rackwright.inventory.model import Absent

PREFIX = "rackwright reboot: "
"""Of our drains; node_health takes back those of its own, which begin otherwise, and leaves these."""
BATCH_PERCENT = 10
POLL_S = 2.0


class End(StrEnum):
    """What became of a host."""

    WAITING = "waiting"
    REBOOTED = "rebooted"
    HELD = "held"
    """A job runs on it: it was not touched."""
    FAILED = "failed"
    """It was to be rebooted, and is not as it should be: it stays drained."""
    UNTOUCHED = "untouched"
    """Its turn did not come: a host before it failed."""
    UNREACHED = "unreached"
    """It could not be asked whether it waits."""


@dataclass(frozen=True, slots=True)
class Result:
    """Of one host.

    Args:
        end: what became of it.
        reasons: why it waited.
        message: why it is held or failed; empty otherwise.
        seconds: from going down to being given back.
    """

    end: End
    reasons: tuple[str, ...]
    message: str = ""
    seconds: float = 0.0


class Fleet(Protocol):
    """The hosts, over ssh."""

    def boot_id(self, host: str) -> str:
        """Of the boot it runs; empty where it does not answer."""
        ...

    def services(self, host: str) -> frozenset[str]:
        """Those that start at boot, and run."""
        ...

    def reasons(self, host: str) -> tuple[str, ...]:
        """Why it waits for a reboot."""
        ...

    def reboot(self, host: str) -> None:
        """Tell it to go down; it may close the connection at once."""
        ...


class Scheduler(Protocol):
    """Its Slurm, as far as a host has one."""

    def drained_for(self, host: str) -> str | None:
        """Reason why it gets no new jobs; None where it gets some, or is in no Slurm."""
        ...

    def drain(self, host: str, reason: str) -> None:
        """Give it no new jobs."""
        ...

    def jobs(self, host: str) -> tuple[str, ...]:
        """Those that have it now."""
        ...

    def registered(self, host: str) -> bool:
        """Whether its slurmd has answered since it booted; true where it is in no Slurm."""
        ...

    def release(self, host: str) -> None:
        """Give it jobs again."""
        ...


class Clock(Protocol):
    """Time, which tests make pass."""

    def now(self) -> float:
        """Seconds of a clock that is never set back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class SystemClock:
    """This machine's."""

    def now(self) -> float:
        """As `Clock`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """As `Clock`."""
        time.sleep(seconds)


class _Failed(Exception):
    """A host that is not as it should be."""


class _Held(Exception):
    """A host that has a job."""


@dataclass(frozen=True)
class Rolling:
    """One rolling reboot.

    Args:
        fleet: the hosts.
        scheduler: their Slurm.
        patience: host → how long its platform takes.
        last: hosts that others need, each rebooted alone when all others are back.
        tell: takes lines of progress.
        clock: to wait by.
        batch_percent: of the waiting hosts, rebooted at once after the first one.
        join_percent: of a batch that must come back; else no further batch begins.
    """

    fleet: Fleet
    scheduler: Scheduler
    patience: Mapping[str, Reboot]
    last: frozenset[str]
    tell: Callable[[str], None]
    clock: Clock = field(default_factory=SystemClock)
    batch_percent: int = BATCH_PERCENT
    join_percent: int = 100

    def run(self, waiting: Mapping[str, tuple[str, ...]]) -> dict[str, Result]:
        """Reboot hosts that wait (host → reasons); none is begun after a batch that did not come back."""
        results: dict[str, Result] = {}
        for batch in batches(waiting, self.last, self.batch_percent):
            with ThreadPoolExecutor(len(batch), "reboot") as pool:
                ended = pool.map(lambda host: self._one(host, waiting[host]), batch)
                results |= dict(zip(batch, ended, strict=True))
            if not self._joined([results[host] for host in batch]):
                self.tell("no further host is rebooted: see what failed")
                break
        untouched = {host: Result(End.UNTOUCHED, reasons) for host, reasons in waiting.items()}
        return dict(sorted({**untouched, **results}.items()))

    def _joined(self, ended: Sequence[Result]) -> bool:
        """Whether enough of those that went down came back; one that was held did not go down."""
        gone = [one for one in ended if one.end is not End.HELD]
        back = sum(one.end is End.REBOOTED for one in gone)
        return back * 100 >= self.join_percent * len(gone)

    def _one(self, host: str, reasons: tuple[str, ...]) -> Result:
        started = self.clock.now()
        try:
            self._through(host, reasons)
        except _Held as held:
            return self._told(host, Result(End.HELD, reasons, str(held)))
        except _Failed as failed:
            return self._told(host, Result(End.FAILED, reasons, str(failed)))
        except SubjectFailed as refused:
            causes = "; ".join(one.cause for one in refused.failures)
            return self._told(host, Result(End.FAILED, reasons, causes))
        except Incomplete as silent:
            return self._told(host, Result(End.FAILED, reasons, f"{silent.message}: {silent.got}"))
        return self._told(host, Result(End.REBOOTED, reasons, seconds=self.clock.now() - started))

    def _told(self, host: str, result: Result) -> Result:
        self.tell(f"{host}: {result.end}" + (f": {result.message}" if result.message else ""))
        return result

    def _through(self, host: str, reasons: tuple[str, ...]) -> None:
        ours = self._drained(host, reasons)
        self._refuse_jobs(host, ours=ours)
        before, services = self.fleet.boot_id(host), self.fleet.services(host)
        if not before:
            raise _Failed("it did not answer before its reboot; it was not touched")
        self.fleet.reboot(host)
        ends = self.clock.now() + self.patience[host].within_s
        self.clock.sleep(self.patience[host].least_s)
        self._await(
            lambda: self.fleet.boot_id(host) not in ("", before), ends, lambda: self._lost(host, before)
        )
        self._await(
            lambda: not self._missing(host, services),
            ends,
            lambda: f"not running again: {', '.join(self._missing(host, services))}",
        )
        left = self.fleet.reasons(host)
        if left:
            raise _Failed(f"it still waits for a reboot after one: {'; '.join(left)}")
        self._await(lambda: self.scheduler.registered(host), ends, lambda: "its slurmd has not registered")
        if ours:
            self.scheduler.release(host)

    def _drained(self, host: str, reasons: tuple[str, ...]) -> bool:
        """Drain it; tells whether the drain is ours, now or from an earlier run."""
        there = self.scheduler.drained_for(host)
        if there is None:
            self.scheduler.drain(host, PREFIX + "; ".join(reasons))
            return True
        return there.startswith(PREFIX)

    def _refuse_jobs(self, host: str, *, ours: bool) -> None:
        """A job that began before the drain runs on."""
        jobs = self.scheduler.jobs(host)
        if jobs:
            if ours:
                self.scheduler.release(host)
            raise _Held(f"jobs {', '.join(jobs)} run on it")

    def _lost(self, host: str, before: str) -> str:
        within = self.patience[host].within_s
        if self.fleet.boot_id(host) == before:
            return f"it has not gone down within {within} s: its boot id is the old one"
        return f"it did not come back within {within} s"

    def _missing(self, host: str, services: frozenset[str]) -> list[str]:
        return sorted(services - self.fleet.services(host))

    def _await(self, holds: Callable[[], bool], ends: float, why: Callable[[], str]) -> None:
        while not holds():
            if self.clock.now() >= ends:
                raise _Failed(why())
            self.clock.sleep(POLL_S)


def batches(waiting: Mapping[str, object], last: frozenset[str], percent: int) -> Iterator[list[str]]:
    """The first host alone, the others in batches, those that others need alone at the end."""
    plain = sorted(waiting.keys() - last)
    size = max(1, ceil(len(plain) * percent / 100))
    if plain:
        yield plain[:1]
    yield from (plain[start : start + size] for start in range(1, len(plain), size))
    yield from ([host] for host in sorted(waiting.keys() & last))


def asked(fleet: Fleet, hosts: Iterable[str]) -> tuple[dict[str, tuple[str, ...]], dict[str, Result]]:
    """Host → why it waits, of those that do; and host → that it cannot be asked."""
    waiting: dict[str, tuple[str, ...]] = {}
    silent: dict[str, Result] = {}
    for host in hosts:
        try:
            waiting[host] = fleet.reasons(host)
        except Incomplete as error:
            silent[host] = Result(End.UNREACHED, (), f"{error.message}: {error.got}")
    return {host: reasons for host, reasons in waiting.items() if reasons}, silent


def unreached(absent: Mapping[str, Absent]) -> dict[str, Result]:
    """Of hosts that should be there and that nobody may connect to: whether they wait is not known."""
    return {
        host: Result(End.UNREACHED, (), f"{gone.reason}: {gone.got}" if gone.got else gone.reason)
        for host, gone in absent.items()
        if gone.absence.incomplete
    }


_CODES = {End.FAILED: BAD, End.UNTOUCHED: BAD, End.UNREACHED: INCOMPLETE}


def exit_code(results: Mapping[str, Result]) -> int:
    """Of the whole: 1 where a host did not come back, else 3 where one could not be asked."""
    return worst(_CODES.get(one.end, GOOD) for one in results.values())
