"""A rolling reboot of hosts whose machines, Slurm and time are imitated."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest

from rackwright.catalogue.model import Reboot
from rackwright.converge.reboots import PREFIX, End, Result, Rolling, batches, exit_code, unreached
from rackwright.inventory.model import Absence, Absent

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


@dataclass
class World:
    """As `Fleet` and `Scheduler`."""

    machines: dict[str, Machine]
    time: Time = field(default_factory=Time)
    said: list[str] = field(default_factory=list)
    released: list[str] = field(default_factory=list)

    def _up(self, host: str) -> bool:
        one = self.machines[host]
        if one.ordered_at is None or not one.goes_down:
            return True
        return one.boots_in_s is not None and self.time.now() >= one.ordered_at + one.boots_in_s

    def boot_id(self, host: str) -> str:
        one = self.machines[host]
        if not self._up(host):
            return ""
        return "new" if one.ordered_at is not None and one.goes_down else "old"

    def services(self, host: str) -> frozenset[str]:
        return SERVICES - (self.machines[host].lacks if self.boot_id(host) == "new" else frozenset())

    def reasons(self, host: str) -> tuple[str, ...]:
        return self.machines[host].waits

    def reboot(self, host: str) -> None:
        assert self.machines[host].reason is not None, "rebooted without a drain"
        assert not self.machines[host].jobs, "rebooted under a job"
        self.machines[host].ordered_at = self.time.now()

    def drained_for(self, host: str) -> str | None:
        return self.machines[host].reason

    def drain(self, host: str, reason: str) -> None:
        self.machines[host].reason = reason

    def jobs(self, host: str) -> tuple[str, ...]:
        return self.machines[host].jobs

    def registered(self, host: str) -> bool:
        return self._up(host)

    def release(self, host: str) -> None:
        self.released.append(host)
        self.machines[host].reason = None


def rolled(
    world: World, last: frozenset[str] = frozenset(), percent: int = 25, join: int = 100
) -> dict[str, Result]:
    patience = dict.fromkeys(world.machines, Reboot(least_s=20, within_s=300))
    rolling = Rolling(world, world, patience, last, world.said.append, world.time, percent, join)
    return rolling.run(dict.fromkeys(world.machines, WHY))


def world(count: int = 6, **changed: Machine) -> World:
    machines = {f"n{number}": Machine() for number in range(1, count + 1)}
    return World({**machines, **changed})


def ends(results: dict[str, Result]) -> dict[str, str]:
    return {host: result.end.value for host, result in results.items()}


def test_all_come_back_drained_before_and_given_back_after() -> None:
    here = world()
    assert set(ends(rolled(here)).values()) == {"rebooted"}
    assert sorted(here.released) == sorted(here.machines)
    assert all(machine.ordered_at is not None for machine in here.machines.values())


def test_one_goes_first_then_batches_then_those_that_serve_others_one_by_one() -> None:
    hosts = dict.fromkeys(["head1", "head2", *(f"n{number}" for number in range(1, 10))], WHY)
    assert list(batches(hosts, frozenset({"head1", "head2"}), 30)) == [
        ["n1"],
        ["n2", "n3", "n4"],
        ["n5", "n6", "n7"],
        ["n8", "n9"],
        ["head1"],
        ["head2"],
    ]


def test_a_host_with_a_job_is_held_and_gets_jobs_again_while_the_others_go_on() -> None:
    here = world(n2=Machine(jobs=("12", "14")))
    results = rolled(here)
    assert (results["n2"].end, results["n2"].message) == (End.HELD, "jobs 12, 14 run on it")
    assert here.machines["n2"].ordered_at is None
    assert here.machines["n2"].reason is None
    assert {result.end for host, result in results.items() if host != "n2"} == {End.REBOOTED}


def test_a_first_host_that_does_not_come_back_leaves_all_others_untouched() -> None:
    here = world(n1=Machine(boots_in_s=None))
    results = rolled(here)
    assert results["n1"].message == "it did not come back within 300 s"
    assert {result.end for host, result in results.items() if host != "n1"} == {End.UNTOUCHED}
    assert [host for host, one in here.machines.items() if one.ordered_at is not None] == ["n1"]
    assert str(here.machines["n1"].reason).startswith(PREFIX), "it stays drained"


def test_a_host_of_a_batch_that_does_not_come_back_stops_the_next_batch() -> None:
    here = world(count=9, n3=Machine(boots_in_s=None))
    found = ends(rolled(here))
    assert [host for host, end in found.items() if end == "failed"] == ["n3"]
    assert [host for host, end in found.items() if end == "untouched"] == ["n5", "n6", "n7", "n8", "n9"]


def test_a_join_rate_below_all_lets_some_fail() -> None:
    here = world(count=9, n3=Machine(boots_in_s=None))
    found = ends(rolled(here, join=60))
    assert [host for host, end in found.items() if end != "rebooted"] == ["n3"]


def test_a_host_that_has_not_gone_down_has_its_old_boot_id() -> None:
    results = rolled(world(n1=Machine(goes_down=False)))
    assert results["n1"].message == "it has not gone down within 300 s: its boot id is the old one"


def test_a_service_that_does_not_come_back_is_named() -> None:
    results = rolled(world(n1=Machine(lacks=frozenset({"slurmd.service"}))))
    assert results["n1"].message == "not running again: slurmd.service"


def test_a_setting_that_a_boot_did_not_bring_is_named() -> None:
    results = rolled(world(n1=Machine(waits=("kernel_tuning: cmdline iommu=pt",))))
    assert results["n1"].message == "it still waits for a reboot after one: kernel_tuning: cmdline iommu=pt"


@pytest.mark.parametrize(
    ("reason", "released"), [("memory errors", False), (f"{PREFIX}from a run that was cut off", True)]
)
def test_only_our_own_drain_is_taken_back(reason: str, released: bool) -> None:  # noqa: FBT001 (a column of the table)
    here = world(n1=Machine(reason=reason))
    assert rolled(here)["n1"].end is End.REBOOTED
    assert ("n1" in here.released) is released


def test_a_drain_of_a_reboot_is_none_that_node_health_takes_back() -> None:
    assert not PREFIX.startswith("rackwright: ")


def _absent(absence: Absence) -> Absent:
    return Absent(
        site="hall", pool="n", absence=absence, code="", reason=f"it is {absence}", got="nothing", hint=""
    )


def test_a_host_that_should_be_there_and_is_not_makes_the_answer_incomplete() -> None:
    told = unreached({"n1": _absent(Absence.NO_KEY), "n2": _absent(Absence.HELD)})
    assert told == {"n1": Result(End.UNREACHED, (), "it is no-key: nothing")}
    assert exit_code(told) == 3
