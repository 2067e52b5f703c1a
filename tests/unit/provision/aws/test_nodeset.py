"""Slots of a pool filled by instances of an emulated EC2: launched, adopted, refilled, emptied."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (boto3 has no types)

from rackwright.errors import EnvironmentUnfit, Failure, SubjectFailed
from rackwright.lab.aws.emulation import Faults
from rackwright.provision.aws.nodeset import leftover, reconcile
from rackwright.provision.aws.nodeset.changes import changes
from rackwright.provision.aws.nodeset.ec2 import Ec2, Instance
from rackwright.provision.aws.nodeset.launch import WORKERS
from rackwright.provision.aws.nodeset.look import VISIBLE_AFTER, just_launched, look
from rackwright.provision.aws.nodeset.model import FoundNode
from rackwright.provision.aws.nodeset.tokens import token
from rackwright.provision.notes import Change
from tests.unit.provision.aws.conftest import POOL

if TYPE_CHECKING:
    from tests.unit.provision.aws.conftest import Pool


def test_each_static_slot_gets_one_instance_with_its_name_address_tags_and_user_data(pool: Pool) -> None:
    found = pool.up()
    assert pool.states() == {"cnode-001": "running", "cnode-002": "running"}
    assert {slot: node.private_address for slot, node in found.nodes.items()} == {
        "cnode-001": "10.64.0.16",
        "cnode-002": "10.64.0.17",
    }
    launched = {one.tags["rackwright:slot"]: one for one in pool.cloud.boxes.launched}
    tags = {key: value for key, value in launched["cnode-002"].tags.items() if key[:4] != "aws:"}
    assert tags == {
        "rackwright:cluster": "atlas",
        "rackwright:pool": "cnode",
        "rackwright:slot": "cnode-002",
        "Name": "cnode-002",
        "owner": "ml",
    }
    assert base64.b64decode(launched["cnode-002"].user_data) == b"#cloud-config of cnode-002"
    assert found.orphans == {}


def test_a_second_up_launches_nothing_and_differs_in_nothing(pool: Pool) -> None:
    first = pool.up()
    assert pool.refresh() == first
    assert changes(first.nodes, pool.wanted.nodes) == []
    assert pool.up() == first
    assert pool.launches() == 2


def test_an_instance_terminated_by_hand_is_drift_and_its_slot_is_refilled_under_its_address(
    pool: Pool,
) -> None:
    gone = pool.up().nodes["cnode-002"].instance
    pool.terminate("cnode-002")
    assert pool.refresh().nodes["cnode-002"].state == "gone"
    assert pool.refresh().nodes["cnode-002"].state == "gone"
    assert pool.found is not None
    drifted = reconcile.drifted(pool.wanted, pool.found)
    assert drifted.nodes["cnode-002"].state == "gone"
    assert [str(one) for one in changes(pool.found.nodes, pool.wanted.nodes)] == [
        "cnode-002: state gone -> running"
    ]
    again = pool.up().nodes["cnode-002"]
    assert (again.state, again.private_address) == ("running", "10.64.0.17")
    assert again.instance != gone
    assert pool.launches() == 3


def test_growing_launches_the_new_slots_alone(pool: Pool) -> None:
    before = pool.up()
    pool.static = 4
    after = pool.up()
    assert pool.launches() == 4
    assert {slot: after.nodes[slot] for slot in before.nodes} == before.nodes


def test_shrinking_empties_the_slots_that_are_gone_and_no_other(pool: Pool) -> None:
    pool.static = 3
    before = pool.up()
    pool.static = 2
    after = pool.up()
    assert sorted(after.nodes) == ["cnode-001", "cnode-002"]
    assert sorted(pool.there()) == ["cnode-001", "cnode-002"]
    assert pool.cloud.boxes.terminated == [before.nodes["cnode-003"].instance]


def test_a_slot_that_is_no_longer_wanted_and_runs_jobs_is_held_until_they_are_over(pool: Pool) -> None:
    pool.up()
    pool.static, pool.busy = 1, {"cnode-002": "runs Slurm job 7 of alice"}
    found = pool.up()
    assert pool.states() == {"cnode-001": "running", "cnode-002": "held"}
    assert found.nodes["cnode-002"].failure is not None
    assert "Slurm job 7" in found.nodes["cnode-002"].failure.cause
    assert sorted(pool.there()) == ["cnode-001", "cnode-002"]
    pool.busy = {}
    pool.up()
    assert sorted(pool.there()) == ["cnode-001"]


def test_slots_on_demand_are_not_filled_and_what_fills_one_is_no_drift_and_no_orphan(pool: Pool) -> None:
    pool.burst = 1
    before = pool.up()
    assert pool.states()["cnode-003"] == "on-demand"
    pool.launch_by_hand("cnode-003", "10.64.0.18")
    assert pool.refresh() == before
    assert changes(before.nodes, pool.wanted.nodes) == []
    assert pool.up() == before
    assert "cnode-003" in pool.there()


def test_the_same_functions_fill_and_empty_a_slot_on_demand(pool: Pool) -> None:
    pool.burst = 1
    pool.up()
    node = {"cnode-003": pool.wanted.nodes["cnode-003"]}
    filled = reconcile.on_demand(pool.wanted, node, pool.means)
    assert filled["cnode-003"].private_address == "10.64.0.18"
    again = reconcile.on_demand(pool.wanted, node, pool.means)
    assert again["cnode-003"].instance == filled["cnode-003"].instance
    assert reconcile.emptied(pool.wanted, node, pool.ec2) == [filled["cnode-003"].instance]
    assert sorted(pool.there()) == ["cnode-001", "cnode-002"]


def test_cut_off_before_anything_was_noted_the_next_run_adopts_and_launches_no_second(pool: Pool) -> None:
    first = pool.up()
    pool.found = None
    assert pool.up().nodes == first.nodes
    assert pool.launches() == 2


def test_an_instance_that_is_not_described_yet_is_not_launched_twice(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pool.up()
    pool.found = None
    monkeypatch.setattr("rackwright.provision.aws.nodeset.ec2.Ec2.instances", lambda *_: [])
    assert {slot: node.instance for slot, node in pool.up().nodes.items()} == {
        slot: node.instance for slot, node in first.nodes.items()
    }
    assert pool.launches() == 2


def test_a_token_whose_instance_is_gone_is_not_replayed(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    first = pool.up()
    pool.terminate("cnode-001")
    pool.found = None
    monkeypatch.setattr("rackwright.provision.aws.nodeset.ec2.Ec2.instances", lambda *_: [])
    again = pool.up()
    assert pool.launches() == 3
    assert again.nodes["cnode-001"].instance != first.nodes["cnode-001"].instance
    assert again.nodes["cnode-002"].instance == first.nodes["cnode-002"].instance


def test_the_token_is_the_same_for_the_same_launch_alone(pool: Pool) -> None:
    wanted = pool.wanted
    one = token(wanted, "cnode-001", "")
    pool.static = 5  # the slots beside it make no other launch of it
    assert token(pool.wanted, "cnode-001", "") == one
    others = {
        token(wanted, "cnode-002", ""),
        token(wanted, "cnode-001", "i-1"),
        token(wanted.model_copy(update={"version": 2}), "cnode-001", ""),
    }
    assert one not in others
    assert len(others) == 3
    assert len(one) == 64
    assert one.isascii()


def test_an_instance_that_lost_its_slot_tag_is_adopted_by_its_address(pool: Pool) -> None:
    lost = pool.launch_by_hand(address="10.64.0.17")
    found = pool.up()
    assert found.nodes["cnode-002"].instance == lost
    assert pool.there()["cnode-002"] == lost
    assert found.orphans == {}
    assert pool.launches() == 2


def test_instances_that_fill_no_slot_are_shown_and_left(pool: Pool) -> None:
    first = pool.up().nodes["cnode-001"].instance
    loose = pool.launch_by_hand()
    strange = pool.launch_by_hand("cnode-077")
    second = pool.launch_by_hand("cnode-001")
    expected = {
        loose: "it has no slot",
        strange: "the plan has no slot cnode-077",
        second: f"slot cnode-001 is filled by {first}",
    }
    assert pool.up().orphans == expected
    assert pool.refresh().orphans == expected
    assert pool.cloud.boxes.terminated == []


def test_no_capacity_for_one_of_two_is_named_with_code_pool_and_count(pool: Pool) -> None:
    pool.room(1)
    found = pool.up()
    assert sorted(pool.states().values()) == ["running", "unknown"]
    [failure] = [node.failure for node in found.nodes.values() if node.failure]
    assert failure.code == "EC2001"
    assert failure.cause.startswith(
        "pool cnode, use1-az1, 1 of 2 not launched: InsufficientInstanceCapacity: "
    )
    pool.room(99)
    pool.up()
    assert set(pool.states().values()) == {"running"}
    assert pool.launches() == 2


def test_without_capacity_the_rest_of_a_pool_is_not_asked_for(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool.static = 40
    pool.room(0)
    asked: list[object] = []
    run = Ec2.run

    def counted(ec2: Ec2, request: dict[str, object]) -> list[Instance]:
        asked.append(request)
        return run(ec2, request)

    monkeypatch.setattr(Ec2, "run", counted)
    pool.up()
    assert set(pool.codes().values()) == {"EC2001"}
    assert len(pool.codes()) == 40
    assert len(asked) <= 2 * WORKERS


def test_all_or_nothing_takes_back_what_it_launched(pool: Pool) -> None:
    pool.static = 3
    pool.up()
    pool.static, pool.all_or_nothing = 6, True
    pool.room(1)
    pool.up()
    assert sorted(pool.there()) == ["cnode-001", "cnode-002", "cnode-003"]
    assert set(pool.codes().values()) == {"EC2001", "EC2007"}
    assert sorted(pool.codes()) == ["cnode-004", "cnode-005", "cnode-006"]
    pool.room(99)
    pool.up()
    assert set(pool.states().values()) == {"running"}


def test_throttled_on_every_third_call_it_is_still_done(pool: Pool) -> None:
    pool.static = 12
    pool.cloud.faults = Faults(throttled_every=3)
    pool.up()
    assert set(pool.states().values()) == {"running"}
    assert pool.launches() == 12


def test_stopped_nothing_further_is_launched(pool: Pool) -> None:
    pool.stopped.set()
    pool.up()
    assert set(pool.codes().values()) == {"UP010"}
    assert pool.launches() == 0


def test_where_ec2_gives_addresses_the_slots_are_known_by_their_tags(pool: Pool) -> None:
    pool.planned = False
    found = pool.up()
    assert all(node.private_address.startswith("10.64.0.") for node in found.nodes.values())
    assert pool.up() == found
    assert pool.launches() == 2


def test_destroying_terminates_all_of_the_pool_those_on_demand_and_orphans_too(pool: Pool) -> None:
    pool.burst = 1
    found = pool.up()
    pool.launch_by_hand("cnode-003", "10.64.0.18")
    pool.launch_by_hand()
    reconcile.removed(found, pool.ec2)
    assert pool.there() == {}
    reconcile.removed(found, pool.ec2)


def test_destroying_a_pool_with_jobs_is_refused_as_a_whole(pool: Pool) -> None:
    found = pool.up()
    with pytest.raises(SubjectFailed) as refused:
        reconcile.removed(found, pool.ec2, {"cnode-002": "runs Slurm job 7 of alice"})
    assert [(one.subject, one.code) for one in refused.value.failures] == [("cnode-002", "EC2009")]
    assert len(pool.there()) == 2


def test_what_no_state_knows_of_a_destroyed_zone_is_terminated_and_told(pool: Pool) -> None:
    pool.up()
    lost = pool.launch_by_hand()
    there = pool.there()
    told = list(leftover.cleared(pool.zone, pool.ec2, {}))
    assert {(one.slot, one.before, one.after) for one in told if isinstance(one, Change)} == {
        ("cnode-001", there["cnode-001"], "terminated"),
        ("cnode-002", there["cnode-002"], "terminated"),
        (lost, lost, "terminated"),
    }
    assert pool.there() == {}
    assert leftover.there(pool.zone, pool.ec2) == []
    assert list(leftover.cleared(pool.zone, pool.ec2, {})) == []


def test_what_no_state_knows_and_runs_jobs_is_left_and_named(pool: Pool) -> None:
    pool.up()
    [told] = leftover.cleared(pool.zone, pool.ec2, {"cnode-002": "runs Slurm job 7 of alice"})
    assert isinstance(told, Failure)
    assert (told.subject, told.code) == ("cnode-002", "EC2009")
    assert len(pool.there()) == 2
    assert {one.slot for one in leftover.there(pool.zone, pool.ec2)} == {"cnode-001", "cnode-002"}


def test_an_instance_of_the_cluster_that_is_of_no_planned_pool_is_named_and_left(pool: Pool) -> None:
    pool.static = 1
    pool.up()
    assert list(leftover.strangers(pool.zone, [POOL], pool.ec2)) == []
    [stranger] = leftover.strangers(pool.zone, ["another"], pool.ec2)
    there = pool.there()
    assert (stranger.subject, stranger.code) == ("cnode-001", "EC2010")
    assert there["cnode-001"] in stranger.cause
    assert f"pool {POOL}, which is not planned" in stranger.cause


def test_ec2_that_cannot_be_asked_is_no_pool_without_instances(pool: Pool) -> None:
    pool.up()
    pool.cloud.url = "http://127.0.0.1:9"
    with pytest.raises(EnvironmentUnfit) as unfit:
        pool.refresh()
    assert unfit.value.code == "EC2004"
    with pytest.raises(EnvironmentUnfit) as unfit:
        list(leftover.cleared(pool.zone, pool.ec2, {}))
    assert unfit.value.code == "EC2004"
    with pytest.raises(EnvironmentUnfit) as unfit:
        leftover.there(pool.zone, pool.ec2)
    assert unfit.value.code == "EC2004"


def test_a_refusal_of_another_kind_keeps_ec2_s_own_words(pool: Pool) -> None:
    pool.template = "lt-0123456789abcdef0"
    pool.up()
    assert set(pool.codes().values()) == {"EC2003"}


def _instance(name: str, slot: str, state: str = "running", launched: str = "2026-11-28T08:00") -> Instance:
    return Instance(name, slot, state, "10.64.0.16", launched, 1)


def test_of_two_in_a_slot_the_known_one_fills_it_and_else_the_older() -> None:
    older, newer = _instance("i-2", "a", launched="2026-11-28T07:00"), _instance("i-1", "a")
    assert look([newer, older], ["a"], {}).filling == {"a": older}
    assert look([newer, older], ["a"], {"a": "i-1"}).filling == {"a": newer}


def test_only_a_young_instance_that_is_described_nowhere_may_not_be_visible_yet() -> None:
    now = datetime(2026, 11, 28, 8, 0, tzinfo=UTC)
    young = FoundNode(burst=False, state="running", instance="i-1", launched=now.isoformat())
    nothing = look([], ["a"], {})
    assert just_launched(young, nothing, now + timedelta(seconds=1))
    assert not just_launched(young, nothing, now + VISIBLE_AFTER)
    assert not just_launched(young, look([_instance("i-1", "a", "terminated")], ["a"], {}), now)
    assert not just_launched(FoundNode(burst=False, state="gone"), nothing, now)


def test_the_emulator_refuses_a_token_with_other_parameters(pool: Pool) -> None:
    """What the tokens above are for: EC2 API, RunInstances, IdempotentParameterMismatch."""
    request = {
        "LaunchTemplate": {"LaunchTemplateId": pool.template, "Version": "1"},
        "MinCount": 1,
        "MaxCount": 1,
        "ClientToken": "t",
    }
    pool.ec2.run(request)
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        pool.ec2.run({**request, "MaxCount": 2})
