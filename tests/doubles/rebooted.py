"""Hosts, their Slurm and time as a rolling reboot sees them, imitated."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.converge.reboot_model import PREFIX
from rackwright.errors import Incomplete

if TYPE_CHECKING:
    from collections.abc import Callable

WHY = ("kernel_tuning: cmdline iommu=pt",)
SERVICES = frozenset({"slurmd.service", "munge.service"})


@dataclass
class Time:
    """Passes when somebody sleeps, for all threads together."""

    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


@dataclass
class Machine:
    """One host.

    Args:
        boots_in_s: from the order to go down until it answers again; None never.
        goes_down: whether it obeys.
        lacks: services that do not come back.
        waits: reasons that are there after its boot, too.
        jobs: that run on it.
        reason: of the drain that it has.
    """

    boots_in_s: float | None = 40.0
    goes_down: bool = True
    lacks: frozenset[str] = frozenset()
    waits: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()
    reason: str | None = None
    ordered_at: float | None = None
    boots: int = 0


@dataclass
class World:
    """As `Fleet` and `Scheduler`; `at_call` may do something to the run before a call of that number."""

    machines: dict[str, Machine]
    time: Time = field(default_factory=Time)
    said: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)
    drained_at: dict[str, float] = field(default_factory=dict)
    at_call: Callable[[int], None] = lambda _: None
    calls: int = 0

    def _called(self, host: str) -> Machine:
        self.calls += 1
        self.at_call(self.calls)
        return self.machines[host]

    def _up(self, host: str) -> bool:
        one = self.machines[host]
        if one.ordered_at is None or not one.goes_down:
            return True
        return one.boots_in_s is not None and self.time.now() >= one.ordered_at + one.boots_in_s

    def boot_id(self, host: str) -> str:
        one = self._called(host)
        return f"boot {one.boots}" if self._up(host) else ""

    def state(self, host: str) -> str:
        self._called(host)
        return "running" if self._up(host) else ""

    def services(self, host: str) -> frozenset[str]:
        one = self._called(host)
        return SERVICES - (one.lacks if one.boots else frozenset()) if self._up(host) else frozenset()

    def failed(self, host: str) -> frozenset[str]:
        one = self._called(host)
        return one.lacks if self._up(host) else frozenset()

    def reasons(self, host: str) -> tuple[str, ...]:
        one = self._called(host)
        if not self._up(host):
            raise Incomplete("it cannot be asked", where=host, got="no answer over ssh")
        return one.waits if one.boots else WHY

    def reboot(self, host: str, boot_id: str) -> None:
        one = self._called(host)
        if not self._up(host) or boot_id != f"boot {one.boots}":
            return
        assert one.reason is not None, "rebooted without a drain"
        assert not one.jobs, "rebooted under a job"
        one.ordered_at = self.time.now()
        one.boots += one.goes_down

    def drained_for(self, host: str) -> str | None:
        return self._called(host).reason

    def drain(self, host: str, reason: str) -> None:
        self._called(host).reason = reason
        self.drained_at[host] = self.time.now()

    def jobs(self, host: str) -> tuple[str, ...]:
        return self._called(host).jobs

    def registered(self, host: str) -> bool:
        self._called(host)
        return self._up(host)

    def release(self, host: str) -> None:
        self._called(host)
        self.released.append(host)
        self.machines[host].reason = None

    def ours(self) -> dict[str, float]:
        """Host → seconds since we have drained it."""
        return {
            host: self.time.now() - self.drained_at.get(host, self.time.now())
            for host, one in self.machines.items()
            if str(one.reason).startswith(PREFIX)
        }
