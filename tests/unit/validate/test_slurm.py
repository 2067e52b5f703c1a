"""Who can be measured, by what Slurm really prints and by every state that it may print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.validate import slurm
from rackwright.validate.slurm import Job, NodeState, judged
from rackwright.validate.ssh import Answer
from tests.doubles.fake_slurm import FakeSlurm

CASES = Path(__file__).parents[2] / "cases" / "slurm"
NAMES = ("node-001", "node-002", "node-003")


def recorded(name: str) -> dict[str, list[dict[str, object]]]:
    document: dict[str, list[dict[str, object]]] = json.loads((CASES / name).read_text())
    return document


def states() -> list[NodeState]:
    return [NodeState.model_validate(one) for one in recorded("nodes-one-killed.json")["nodes"]]


def jobs() -> list[Job]:
    return [Job.model_validate(one) for one in recorded("jobs-one-running.json")["jobs"]]


def test_a_killed_node_is_lost_with_the_reason_slurm_gives() -> None:
    standing = judged(states(), [], NAMES)
    assert standing.lost == {"node-002": "DOWN+NOT_RESPONDING: Not responding"}
    assert standing.free == ("node-001", "node-003")


def test_nodes_with_a_job_are_held_with_its_number_and_user() -> None:
    standing = judged(states(), jobs(), NAMES)
    assert standing.held == dict.fromkeys(("node-001", "node-003"), "runs job 1 of rackwright")
    assert standing.free == ()


def one(*state: str, reason: str = "") -> slurm.Standing:
    return judged([NodeState(name="n1", state=state, reason=reason)], [], ["n1"])


@pytest.mark.parametrize("state", [("IDLE",), ("IDLE", "PLANNED"), ("IDLE", "COMPLETING"), ("MIXED",)])
def test_a_node_without_a_job_is_free(state: tuple[str, ...]) -> None:
    assert one(*state).free == ("n1",)


@pytest.mark.parametrize("state", sorted(slurm.GONE))
def test_a_node_that_gets_no_job_is_lost(state: str) -> None:
    assert one("IDLE", state, reason="why").lost == {"n1": f"IDLE+{state}: why"}


def test_a_node_that_slurm_does_not_know_is_lost() -> None:
    assert judged([], [], ["n1"]).lost == {"n1": "Slurm does not know it"}


def test_a_node_that_a_person_drained_is_left_alone() -> None:
    assert one("IDLE", "DRAIN", reason="new memory").held == {"n1": "drained: new memory"}


def test_a_node_that_our_own_check_drained_is_measured() -> None:
    standing = one("IDLE", "DRAIN", reason="rackwright: r1 (compute): no carrier")
    assert (standing.free, standing.suspect) == (("n1",), {"n1": "rackwright: r1 (compute): no carrier"})


def test_a_node_that_rebooted_unexpectedly_is_measured_once_it_answers() -> None:
    reason = "Node unexpectedly rebooted"
    assert one("DOWN", reason=reason).suspect == {"n1": reason}
    assert one("DOWN", "NOT_RESPONDING", reason=reason).lost == {"n1": f"DOWN+NOT_RESPONDING: {reason}"}


def test_a_node_that_a_person_put_down_is_lost() -> None:
    assert one("DOWN", reason="new memory").lost == {"n1": "DOWN: new memory"}


@pytest.mark.parametrize(
    ("state", "reason", "unsure"),
    [
        (("IDLE",), "", ()),
        (("IDLE", "NOT_RESPONDING"), "", ("n1",)),
        (("DOWN", "NOT_RESPONDING"), "Not responding", ()),
        (("DOWN", "NOT_RESPONDING"), "Node unexpectedly rebooted", ("n1",)),
        (("IDLE", "DRAIN", "NOT_RESPONDING"), "rackwright: r1 (compute): no carrier", ("n1",)),
        (("IDLE", "DRAIN", "NOT_RESPONDING"), "new memory", ()),
        (("IDLE", "MAINTENANCE", "NOT_RESPONDING"), "", ()),
        (("IDLE", "NOT_RESPONDING", "REBOOT_ISSUED"), "", ()),
    ],
)
def test_slurm_is_unsure_of_a_silent_node_that_it_would_give_a_job(
    state: tuple[str, ...], reason: str, unsure: tuple[str, ...]
) -> None:
    assert one(*state, reason=reason).unsure == unsure


def test_a_reserved_node_is_left_alone() -> None:
    assert one("IDLE", "MAINTENANCE").held == {"n1": "MAINTENANCE: a reservation"}


def test_a_job_that_is_completing_holds_nothing() -> None:
    ending = Job(job_id=3, job_state=("COMPLETING",), user_name="alice", nodes=("n1",))
    assert judged([NodeState(name="n1", state=("IDLE",))], [ending], ["n1"]).free == ("n1",)


def test_a_pending_job_holds_nothing() -> None:
    waiting = Job(job_id=3, job_state=("PENDING",), user_name="alice", nodes=("n1", "n2"))
    assert judged([NodeState(name="n1", state=("IDLE",))], [waiting], ["n1"]).free == ("n1",)


class Silent(FakeSlurm):
    """A controller on which no Slurm runs."""

    said = Answer(1, "", "slurm_load_node error: Unable to contact slurm controller\n")

    def ask(self, words: object, within_s: float = 60.0) -> Answer:
        del words, within_s
        return self.said


@pytest.mark.parametrize(
    ("said", "got"),
    [
        (Silent.said, "Unable to contact slurm controller"),
        (Answer(127, "", ""), "exit status 127"),
        (Answer(0, "no JSON", ""), "validation error"),
        (Answer(0, '{"nodes": [{"name": "n1"}]}', ""), "validation error"),
    ],
)
def test_a_slurm_that_does_not_answer_is_told_with_its_words(said: Answer, got: str) -> None:
    silent = Silent({})
    silent.said = said
    with pytest.raises(EnvironmentUnfit) as caught:
        slurm.nodes(silent)
    assert (caught.value.code, caught.value.where) == ("VAL006", "head-001")
    assert got in caught.value.got


@pytest.mark.parametrize("flag", ["POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"])
def test_a_node_on_demand_is_launched_by_its_job_and_any_other_that_is_off_is_gone(flag: str) -> None:
    state = NodeState(name="n1", state=("IDLE", "CLOUD", flag))
    assert judged([state], [], ["n1"], on_demand=["n1"]).free == ("n1",)
    assert judged([state], [], ["n1"]).lost == {"n1": f"IDLE+CLOUD+{flag}"}
    broken = NodeState(name="n1", state=("DOWN", "CLOUD", flag), reason="no capacity")
    assert judged([broken], [], ["n1"], on_demand=["n1"]).lost == {"n1": f"DOWN+CLOUD+{flag}: no capacity"}
