"""Reboots of hosts that wait for one: one first, then batches; never with jobs; each proven by its boot id.

Roles note why a host waits and reboot nothing. Here each such host is drained under a reason of ours, left
alone where a job runs, rebooted, and given back when it has a new boot id, its services and settings, and
Slurm's word. A host that fails any of that stays drained and stops the batches that have not begun.

A reboot may be cut off anywhere. What it has drained bears its mark in Slurm, so that the next one finds
it: a host that has booted since is given back, one that is on its way is waited for, and none is told to
go down for a reason that a boot has taken away.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rackwright.converge.reboot_model import PREFIX, Clock, End, Fleet, Result, Scheduler, Stop, SystemClock
from rackwright.errors import BAD, GOOD, INCOMPLETE, Incomplete, SubjectFailed, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from rackwright.catalogue.model import Reboot
    from rackwright.inventory.model import Absent

Answer = TypeVar("Answer")
BATCH_PERCENT = 10
AT_ONCE = 128
"""Hosts, however big a batch: each has an ssh of its own, and a process may have 1,024 files open."""
POLL_S = 2.0
_SILENT = "it did not answer, though nothing of this run was done to it but to drain it"
_BOOTING = ("", "offline", "unknown", "initializing", "starting", "stopping")
"""Of a host whose services are not all what they will be (systemctl(1), is-system-running)."""


class _Failed(Exception):
    """A host that is not as it should be."""


class _Held(Exception):
    """A host that has a job."""


class _Untouched(Exception):
    """A host that was not told to go down: somebody stops the run."""


class _Left(Exception):
    """A host that is waited for no longer."""


class _Seen(NamedTuple):
    """A host before it goes down, or after it came back by an order of a run that was cut off."""

    boot_id: str
    reasons: tuple[str, ...]
    services: frozenset[str]


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
        stop: asks it to stop.
    """

    fleet: Fleet
    scheduler: Scheduler
    patience: Mapping[str, Reboot]
    last: frozenset[str]
    tell: Callable[[str], None]
    clock: Clock = field(default_factory=SystemClock)
    batch_percent: int = BATCH_PERCENT
    join_percent: int = 100
    stop: Stop = field(default_factory=Stop)

    def run(self, waiting: Mapping[str, tuple[str, ...]], begun: Iterable[str] = ()) -> dict[str, Result]:
        """Reboot hosts that wait; none is begun after a batch that did not come back.

        Args:
            waiting: host → reasons.
            begun: hosts that a run which was cut off has drained, and that wait no more, as far as is
                known. They come first: what did not come back of them stops the others as well.
        """
        results: dict[str, Result] = {}
        ours = sorted(begun)
        for batch in [*filter(None, [ours]), *batches(waiting, self.last, self.batch_percent)]:
            with ThreadPoolExecutor(min(len(batch), AT_ONCE), "reboot") as pool:
                ended = pool.map(lambda host: self._one(host, waiting.get(host, ())), batch)
                results |= dict(zip(batch, ended, strict=True))
            if self.stop.asked:
                self.tell("no further host is rebooted: it was stopped")
                break
            if not self._joined([results[host] for host in batch]):
                self.tell("no further host is rebooted: see what failed")
                break
        untouched = {host: Result(End.UNTOUCHED, reasons) for host, reasons in waiting.items()}
        return dict(sorted({**untouched, **results}.items()))

    def _joined(self, ended: Sequence[Result]) -> bool:
        """Whether enough of those that went down came back; one that was held did not go down."""
        gone = [one for one in ended if one.end is not End.HELD]
        back = sum(one.end in (End.REBOOTED, End.GIVEN_BACK) for one in gone)
        return back * 100 >= self.join_percent * len(gone)

    def _one(self, host: str, reasons: tuple[str, ...]) -> Result:
        started = self.clock.now()
        try:
            end = self._through(host, reasons)
        except _Untouched:
            return self._told(host, Result(End.UNTOUCHED, reasons))
        except _Left as left:
            return self._told(host, Result(End.LEFT, reasons, str(left)))
        except _Held as held:
            return self._told(host, Result(End.HELD, reasons, str(held)))
        except (_Failed, SubjectFailed, Incomplete, OSError, ValueError) as failed:
            # What this machine refuses, or cannot read, is the end of this host's turn and of no other's.
            return self._told(host, Result(End.FAILED, reasons, _said(failed)))
        return self._told(host, Result(end, reasons, seconds=self.clock.now() - started))

    def _told(self, host: str, result: Result) -> Result:
        self.tell(f"{host}: {result.end}" + (f": {result.message}" if result.message else ""))
        return result

    def _through(self, host: str, reasons: tuple[str, ...]) -> End:
        ends = self.clock.now() + self.patience[host].within_s
        self._drain(host, reasons)
        self._refuse_jobs(host)
        seen = self._await(lambda: self._seen(host), ends, lambda: _SILENT)
        if seen.reasons:
            self._reboot(host, seen)
        else:
            self._await_services(host, ends, lambda: sorted(self.fleet.failed(host)))
        self._await(lambda: self.scheduler.registered(host), ends, lambda: "its slurmd has not registered")
        self._give_back(host)
        return End.REBOOTED if seen.reasons else End.GIVEN_BACK

    def _reboot(self, host: str, seen: _Seen) -> None:
        """Until it is back as it was."""
        if self.stop.asked:
            self._give_back(host)
            raise _Untouched
        self.fleet.reboot(host, seen.boot_id)
        ends = self.clock.now() + self.patience[host].within_s
        self._pause(self.patience[host].least_s)
        self._await(
            lambda: self.fleet.boot_id(host) not in ("", seen.boot_id),
            ends,
            lambda: self._lost(host, seen.boot_id),
        )
        self._await_services(host, ends, lambda: sorted(seen.services - self.fleet.services(host)))
        left = self.fleet.reasons(host)
        if left:
            raise _Failed(f"it still waits for a reboot after one: {'; '.join(left)}")

    def _drain(self, host: str, reasons: tuple[str, ...]) -> None:
        """Unless somebody else has, or it waits no more.

        Another run's drain is set anew: by its time the next one knows how long the host may take.
        """
        if self.stop.asked and reasons:
            raise _Untouched
        there = self.scheduler.drained_for(host)
        if reasons and (there is None or there.startswith(PREFIX)):
            self.scheduler.drain(host, PREFIX + "; ".join(reasons))

    def _give_back(self, host: str) -> None:
        """Unless somebody has drained it meanwhile, whose drain it is then."""
        there = self.scheduler.drained_for(host)
        if there is not None and there.startswith(PREFIX):
            self.scheduler.release(host)

    def _refuse_jobs(self, host: str) -> None:
        """A job that began before the drain runs on."""
        jobs = self.scheduler.jobs(host)
        if jobs:
            self._give_back(host)
            raise _Held(f"jobs {', '.join(jobs)} run on it")

    def _seen(self, host: str) -> _Seen | None:
        """As it is; None where it does not answer, or goes down by the word of a run that was cut off."""
        boot_id = self.fleet.boot_id(host)
        if not boot_id or self.fleet.state(host) in ("", "stopping"):
            return None
        try:
            seen = _Seen(boot_id, self.fleet.reasons(host), self.fleet.services(host))
        except Incomplete:
            return None
        return seen if seen.services else None

    def _await_services(self, host: str, ends: float, missing: Callable[[], list[str]]) -> None:
        self._await(
            lambda: self.fleet.state(host) not in _BOOTING, ends, lambda: "its boot does not come to an end"
        )
        self._await(lambda: not missing(), ends, lambda: f"not running again: {', '.join(missing())}")

    def _lost(self, host: str, before: str) -> str:
        within = self.patience[host].within_s
        if self.fleet.boot_id(host) == before:
            return f"it has not gone down within {within} s: its boot id is the old one"
        return f"it did not come back within {within} s"

    def _await(self, holds: Callable[[], Answer | None], ends: float, why: Callable[[], str]) -> Answer:
        while not (answer := holds()):
            if self.clock.now() >= ends:
                raise _Failed(why())
            self._pause(POLL_S)
        return answer

    def _pause(self, seconds: float) -> None:
        ends = self.clock.now() + seconds
        while (rest := ends - self.clock.now()) > 0:
            if self.stop.at_once:
                raise _Left("it was told to go down, and is not waited for")
            self.clock.sleep(min(rest, POLL_S))


def _said(failed: Exception) -> str:
    if isinstance(failed, SubjectFailed):
        return "; ".join(one.cause for one in failed.failures)
    return f"{failed.message}: {failed.got}" if isinstance(failed, Incomplete) else str(failed)


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


def begun(
    drained: Mapping[str, float],
    waiting: Collection[str],
    silent: Collection[str],
    patience: Mapping[str, Reboot],
) -> frozenset[str]:
    """Hosts that a run which was cut off, or in which they failed, has left to the next one.

    One that still waits is rebooted like others. One that is silent is on its way for as long as its
    platform may take; then it is a dead host like others, until it answers.

    Args:
        drained: host → seconds since a reboot of ours has drained it.
        waiting: hosts that wait for a reboot.
        silent: hosts that do not answer.
        patience: host → how long its platform takes.
    """
    there = drained.keys() - set(waiting)
    return frozenset(host for host in there if host not in silent or drained[host] < patience[host].within_s)


def unreached(absent: Mapping[str, Absent]) -> dict[str, Result]:
    """Of hosts that should be there and that nobody may connect to: whether they wait is not known."""
    return {
        host: Result(End.UNREACHED, (), f"{gone.reason}: {gone.got}" if gone.got else gone.reason)
        for host, gone in absent.items()
        if gone.absence.incomplete
    }


_CODES = {End.FAILED: BAD, End.UNTOUCHED: BAD, End.LEFT: BAD, End.UNREACHED: INCOMPLETE}


def exit_code(results: Mapping[str, Result]) -> int:
    """Of the whole: 1 where a host did not come back, else 3 where one could not be asked."""
    return worst(_CODES.get(one.end, GOOD) for one in results.values())
