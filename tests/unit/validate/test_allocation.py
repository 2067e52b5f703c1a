"""A job on as many nodes as can be had: what is taken, left, given up, and always cancelled."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from typing_extensions import override

from rackwright.validate import allocation
from rackwright.validate.allocation import NotCancelled, Wish, allocated, minutes
from rackwright.validate.interruption import stoppable
from rackwright.validate.ssh import ControllerLost
from tests.doubles.fake_slurm import FakeSlurm

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.fake_slurm import Outcome

NAMES = ("node-001", "node-002", "node-003")
WISH = Wish("rackwright-x", "all", 5, 10)


def world(**more: object) -> FakeSlurm:
    return FakeSlurm(dict.fromkeys(NAMES, ("IDLE",)), **more)  # type: ignore[arg-type]  # (as given)


def test_all_idle_nodes_are_had_in_one_exclusive_job() -> None:
    slurm = world()
    with allocated(slurm, WISH, NAMES, print) as got:
        assert (got.job, got.nodes, got.held, got.lost) == (7, NAMES, {}, {})
    (words,) = slurm.commands("salloc")
    assert {"--exclusive", "--no-kill", "--no-shell", "--nodelist=node-[001-003]", "--time=10"} <= set(words)


def test_a_node_with_a_job_is_held_and_the_others_are_had() -> None:
    with allocated(world(others={"node-003": (42, "alice")}), WISH, NAMES, print) as got:
        assert got.nodes == ("node-001", "node-002")
        assert got.held == {"node-003": "runs job 42 of alice"}


def test_a_node_that_is_down_is_lost_and_the_others_are_had() -> None:
    slurm = world(reasons={"node-002": "Not responding"})
    slurm.nodes["node-002"] = ("DOWN", "NOT_RESPONDING")
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.nodes == ("node-001", "node-003")
        assert got.lost == {"node-002": "DOWN+NOT_RESPONDING: Not responding"}


@dataclass
class Later(FakeSlurm):
    """One that is sure of a node when it is asked for the third time."""

    sure: tuple[str, tuple[str, ...]] = ("", ())

    @override
    def _squeue(self, words: list[str]) -> Outcome:
        if len(self.commands("squeue")) == 3:
            self.nodes |= dict([self.sure])
        return super()._squeue(words)


@pytest.mark.parametrize(
    ("state", "later", "lost"),
    [
        (("IDLE", "NOT_RESPONDING"), ("IDLE",), {}),
        (("IDLE", "NOT_RESPONDING"), ("DOWN", "NOT_RESPONDING"), {"node-002": "DOWN+NOT_RESPONDING"}),
    ],
)
def test_a_node_that_slurm_has_lost_sight_of_is_waited_for_until_slurm_is_sure(
    state: tuple[str, ...], later: tuple[str, ...], lost: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allocation, "_LOOK_AGAIN_AFTER_S", 0.01)
    slurm = Later(dict.fromkeys(NAMES, ("IDLE",)) | {"node-002": state}, sure=("node-002", later))
    told: list[str] = []
    with allocated(slurm, replace(WISH, start_within_s=120), NAMES, told.append) as got:
        assert got.lost == lost
        assert set(got.nodes) == {*NAMES} - lost.keys()
    assert told == ["Slurm has lost sight of node-002: waiting until it is sure"]


def test_a_node_that_stays_silent_is_waited_for_no_longer_than_a_job() -> None:
    slurm = world()
    slurm.nodes["node-002"] = ("IDLE", "NOT_RESPONDING")
    with allocated(slurm, replace(WISH, start_within_s=1), NAMES, print) as got:
        assert got.nodes == ("node-001", "node-003")
        assert got.lost == {"node-002": "IDLE+NOT_RESPONDING"}


def test_a_job_that_does_not_start_is_cancelled_and_all_are_told_why() -> None:
    slurm = world(starts=False)
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.job is None
        assert set(got.lost) == set(NAMES)
        assert got.lost["node-001"] == (
            "its job did not start within 5 s: Required node not available (down, drained or reserved)"
        )
        assert slurm.commands("scancel") != []


def test_a_node_that_goes_away_before_the_start_is_lost_and_the_survivors_are_had() -> None:
    slurm = world(reasons={"node-002": "Not responding"})

    def kill() -> None:
        slurm.nodes["node-002"] = ("DOWN",)

    slurm.before_start = kill
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.nodes == ("node-001", "node-003")
        assert got.lost == {"node-002": "DOWN: Not responding"}
    assert len(slurm.commands("salloc")) == 2


def test_a_node_that_our_own_check_drained_is_taken_for_the_time_of_the_job() -> None:
    slurm = world(reasons={"node-002": "rackwright: r1 (compute): no carrier"})
    slurm.nodes["node-002"] = ("IDLE", "DRAIN")
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.nodes == NAMES
    (update,) = [words for words in slurm.commands("scontrol") if "update" in words]
    assert update[-2:] == ("nodename=node-002", "state=resume")


def _drains(slurm: FakeSlurm, times: int) -> Callable[[], None]:
    """What our own check does just before a job is to begin, so many times."""
    left = iter(range(times))

    def check() -> None:
        if next(left, None) is not None:
            slurm.nodes["node-002"] = ("IDLE", "DRAIN")

    return check


def test_a_node_that_our_own_check_drains_meanwhile_is_resumed_and_had() -> None:
    slurm = world(reasons={"node-002": "rackwright: /: takes no writes"})
    slurm.before_start = _drains(slurm, 1)
    with allocated(slurm, WISH, NAMES, print) as got:
        assert (got.nodes, got.lost) == (NAMES, {})


def test_a_node_that_our_own_check_drains_again_and_again_is_lost_and_the_others_are_had() -> None:
    slurm = world(reasons={"node-002": "rackwright: /: takes no writes"})
    slurm.nodes["node-002"] = ("IDLE", "DRAIN")
    slurm.before_start = _drains(slurm, 99)
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.nodes == ("node-001", "node-003")
        assert got.lost == {
            "node-002": "resumed, and drained again before its job began: rackwright: /: takes no writes"
        }
    assert len(slurm.commands("salloc")) == 2


def test_a_node_that_a_person_drained_is_never_resumed() -> None:
    slurm = world(reasons={"node-002": "new memory"})
    slurm.nodes["node-002"] = ("IDLE", "DRAIN")
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.held == {"node-002": "drained: new memory"}
    assert [words for words in slurm.commands("scontrol") if "update" in words] == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_whatever_happens_the_job_is_cancelled_by_its_name(error: type[BaseException]) -> None:
    slurm = world()
    with pytest.raises(error), allocated(slurm, WISH, NAMES, print):
        raise error
    assert slurm.job == ""
    assert slurm.commands("scancel")[-1] == ("scancel", "--me", "--name=rackwright-x")


def _lost() -> None:
    raise ControllerLost("the controller cannot be reached")


IN_VAIN = [{"cancels": False}, {"before_cancel": _lost}]
"""What keeps a job from being cancelled: slurmctld does not answer, or its host does not."""
SCANCEL = "`scancel --me --name=rackwright-x` on head-001 cancels it"


@pytest.mark.parametrize("world_", IN_VAIN)
def test_who_is_stopped_and_cannot_cancel_the_job_is_told_which_may_still_run(
    world_: dict[str, object],
) -> None:
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt) as caught, allocated(world(**world_), WISH, NAMES, told.append):
        raise KeyboardInterrupt
    assert isinstance(caught.value, NotCancelled)
    assert (caught.value.job, caught.value.remedy) == ("job 7", SCANCEL)
    assert told == [], "the error says it"


def test_a_job_that_was_asked_for_and_cannot_be_cancelled_is_told_by_its_name() -> None:
    slurm = world(cancels=False)

    def stopped() -> None:
        raise KeyboardInterrupt

    slurm.before_start = stopped
    with pytest.raises(KeyboardInterrupt) as caught, allocated(slurm, WISH, NAMES, print):
        pass
    assert isinstance(caught.value, NotCancelled)
    assert caught.value.job == "the job rackwright-x"


@pytest.mark.parametrize("world_", IN_VAIN)
def test_a_job_that_cannot_be_cancelled_at_the_end_is_told_and_spoils_nothing(
    world_: dict[str, object],
) -> None:
    told: list[str] = []
    with allocated(world(**world_), WISH, NAMES, told.append) as got:
        assert got.job == 7
    assert told == [f"job 7 could not be cancelled, and may still run: {SCANCEL}"]


def test_a_stop_that_comes_while_the_job_is_cancelled_waits_for_that() -> None:
    slurm, told = world(), list[str]()
    slurm.before_cancel = lambda: os.kill(os.getpid(), signal.SIGINT)
    with stoppable(), pytest.raises(KeyboardInterrupt) as caught, allocated(slurm, WISH, NAMES, told.append):
        pass
    assert (slurm.job, told, type(caught.value)) == ("", [], KeyboardInterrupt)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_who_is_stopped_while_a_job_is_asked_for_leaves_none_that_comes_later(number: int) -> None:
    slurm = world()

    def too_late() -> None:
        os.kill(os.getpid(), number)
        deadline = time.monotonic() + 60
        while not slurm.commands("scancel") and time.monotonic() < deadline:
            time.sleep(0.01)

    slurm.before_start = too_late
    with stoppable(), pytest.raises(KeyboardInterrupt), allocated(slurm, WISH, NAMES, print):
        pass
    assert len(slurm.commands("scancel")) > 1
    assert slurm.job == "", "it had come after the first scancel"


def test_nothing_is_asked_for_where_no_node_is_left() -> None:
    slurm = world(others=dict.fromkeys(NAMES, (1, "bob")))
    with allocated(slurm, WISH, NAMES, print) as got:
        assert (got.job, set(got.held)) == (None, set(NAMES))
    assert slurm.commands("salloc") == []


def test_the_time_limit_covers_the_longest_course_within_what_the_partition_allows() -> None:
    assert minutes(61, None) == 3
    assert minutes(3600 * 5, 2.0) == 120


def test_a_node_on_demand_is_asked_for_and_waited_for_until_it_is_ready() -> None:
    slurm = world()
    slurm.nodes["node-003"] = ("IDLE", "CLOUD", "POWERED_DOWN")
    with allocated(slurm, WISH, NAMES, print) as got:
        assert got.nodes == ("node-001", "node-002")
    with allocated(slurm, replace(WISH, on_demand=frozenset({"node-003"})), NAMES, print) as got:
        assert (got.nodes, got.lost) == (NAMES, {})
    before, waiting = slurm.commands("salloc")
    assert "--wait-all-nodes=1" in waiting
    assert "--wait-all-nodes=1" not in before
