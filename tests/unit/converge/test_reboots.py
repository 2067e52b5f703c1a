"""A rolling reboot of hosts whose machines, Slurm and time are imitated."""

from __future__ import annotations

import contextlib
import errno
import functools
import itertools
import signal
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Reboot
from rackwright.converge import reboots
from rackwright.converge.reboot_model import PREFIX, End, Result, Stop
from rackwright.converge.reboots import Rolling, asked, batches, begun, exit_code, unreached
from rackwright.inventory.model import Absence, Absent
from tests.doubles.rebooted import WHY, Machine, World

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BOOTS = {"n1": 1, "n2": 0, "n3": 1, "n4": 1, "n5": 1, "n6": 1}
DRAINS = {**dict.fromkeys(BOOTS), "n3": "memory errors"}
"""Of the hosts of `at_each_call` in the end: one has a job, one is drained by somebody."""


class Killed(BaseException):
    """The run is no more."""


def rolled(world: World, join: int = 100, stop: Stop | None = None) -> dict[str, Result]:
    """As the command: ask who waits and whom an earlier run has left, and go."""
    patience = dict.fromkeys(world.machines, Reboot(least_s=20, within_s=300))
    rolling = Rolling(
        world, world, patience, frozenset(), world.said.append, world.time, 25, join, stop or Stop()
    )
    waiting, silent = asked(world, sorted(world.machines))
    return rolling.run(waiting, begun(world.ours(), waiting, silent, patience))


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


@dataclass
class OutOfFiles(World):
    """No ssh to n3 can be started when its services are to be asked."""

    def services(self, host: str) -> frozenset[str]:
        if host == "n3":
            raise OSError(errno.EMFILE, "Too many open files", "ssh")
        return super().services(host)


def test_what_this_machine_refuses_for_one_host_ends_no_others_turn() -> None:
    here = OutOfFiles(world().machines)
    results = rolled(here)
    assert results["n3"].end is End.FAILED
    assert "Too many open files" in results["n3"].message
    assert {results[host].end for host in ("n1", "n2")} == {End.REBOOTED}
    assert here.machines["n3"].reason is not None, "it stays drained"


def test_a_big_batch_is_gone_through_by_so_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reboots, "AT_ONCE", 2)
    names: set[str] = set()

    def seen(_: int) -> None:
        names.add(threading.current_thread().name)
        time.sleep(0.001)

    here = world(40)
    here.at_call = seen
    assert set(ends(rolled(here)).values()) == {"rebooted"}
    assert len(names - {threading.current_thread().name}) == 2


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


def test_a_drain_that_somebody_has_made_his_own_meanwhile_stays() -> None:
    here = world(count=1)

    def take(_: int) -> None:
        if here.machines["n1"].boots:
            here.machines["n1"].reason = "memory errors"

    here.at_call = take
    assert ends(rolled(here)) == {"n1": "rebooted"}
    assert here.machines["n1"].reason == "memory errors"


def at_each_call(cut: Callable[[Stop, bool], None]) -> Iterator[tuple[World, dict[str, Result]]]:
    """A run that is cut off at its first call, one at its second, and so on to its last; and what it said.

    Args:
        cut: is called with each call from there on, and with whether it is the first one.
    """
    for number in itertools.count(1):
        here, stop = world(n2=Machine(jobs=("12",)), n3=Machine(reason="memory errors")), Stop()
        here.at_call = functools.partial(_from, number, functools.partial(cut, stop))
        results: dict[str, Result] = {}
        with contextlib.suppress(Killed):
            results = rolled(here, stop=stop)
        if here.calls < number:
            return
        here.at_call = lambda _: None
        yield here, results


def _from(number: int, cut: Callable[[bool], None], call: int) -> None:
    if call >= number:
        cut(call == number)


def _kill(_: Stop, first: bool) -> None:  # noqa: FBT001 (of a callback)
    del first
    raise Killed


def is_done(here: World) -> bool:
    """None was rebooted twice, none is drained by us, and somebody's own drain is there."""
    boots = {host: one.boots for host, one in here.machines.items()}
    return boots == BOOTS and {host: one.reason for host, one in here.machines.items()} == DRAINS


@pytest.mark.parametrize("later_s", [0.0, 30.0, 10_000.0])
def test_killed_at_any_moment_the_next_run_reboots_none_twice_and_leaves_none_drained(later_s: float) -> None:
    cuts = 0
    for here, _ in at_each_call(_kill):
        cuts += 1
        here.time.sleep(later_s)
        results = rolled(here)
        assert is_done(here), (cuts, here.machines)
        assert set(ends(results).values()) <= {"held", "rebooted", "given-back"}, cuts
    assert cuts > 50


@pytest.mark.parametrize("signals", [1, 2])
def test_stopped_at_any_moment_it_tells_whom_it_leaves_drained_and_the_next_run_goes_on(signals: int) -> None:
    def stop(it: Stop, first: bool) -> None:  # noqa: FBT001 (of a callback)
        for _ in range(signals if first else 0):
            it.on_signal(signal.SIGINT, None)

    cuts, patient, ever_left = 0, signals == 1, False
    for here, results in at_each_call(stop):
        cuts += 1
        left = {host for host, end in ends(results).items() if end == "left"}
        assert here.ours().keys() == left - {"n3"}, cuts
        ever_left |= bool(left)
        rolled(here)
        assert is_done(here), (cuts, here.machines)
    assert cuts > 50
    assert ever_left is not patient


def test_stopped_once_a_host_is_drained_it_is_given_back_and_not_rebooted() -> None:
    here, stop = world(count=2), Stop()

    def stop_then(_: int) -> None:
        if here.ours() and not stop.asked:
            stop.on_signal(signal.SIGTERM, None)

    here.at_call = stop_then
    assert ends(rolled(here, stop=stop)) == {"n1": "untouched", "n2": "untouched"}
    assert stop.asked
    assert here.released == ["n1"]
    assert [one.boots for one in here.machines.values()] == [0, 0]


def test_a_host_that_has_booted_before_its_turn_is_not_rebooted_again() -> None:
    here = world(count=2)

    def boot_another(_: int) -> None:
        here.machines["n2"].boots = here.machines["n1"].boots

    here.at_call = boot_another
    assert ends(rolled(here)) == {"n1": "rebooted", "n2": "given-back"}
    assert here.machines["n2"].boots == 1
    assert not here.ours()


def test_a_host_of_a_run_that_was_cut_off_is_waited_for_as_long_as_it_may_take() -> None:
    here = world(count=2, n1=Machine(boots_in_s=None, boots=1, ordered_at=0.0, reason=f"{PREFIX}{WHY[0]}"))
    here.drained_at["n1"] = 0.0
    here.time.sleep(100)
    assert ends(rolled(here)) == {"n1": "failed", "n2": "untouched"}
    here.time.sleep(300)
    assert ends(rolled(here)) == {"n2": "rebooted"}, "a dead host like others"


def test_a_service_that_failed_in_the_boot_of_a_run_that_was_cut_off_is_named() -> None:
    here = world(count=1, n1=Machine(boots=1, reason=f"{PREFIX}x", lacks=frozenset({"slurmd.service"})))
    result = rolled(here)["n1"]
    assert (result.end, result.message) == (End.FAILED, "not running again: slurmd.service")
    assert here.ours()


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
