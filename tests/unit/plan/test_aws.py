"""Slices of the AWS stacks, and what of a zone cannot be built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright.plan.aws_model import CLUSTER_TAG

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]


def _said(plan: Plan) -> list[str]:
    return [sentence.partition(":")[0] for sentence in plan.not_provisionable]


def test_slots_have_their_addresses_and_those_on_demand_are_marked(plan_of: PlanOf, zone: Values) -> None:
    nodes = plan_of(zone)[0].stacks.aws_compute["use2"].node_sets["trn2"].nodes
    assert [(slot, node.address, node.burst) for slot, node in nodes.items()] == [
        (f"trn2-00{number}", f"10.64.0.{15 + number}", number > 2) for number in range(1, 6)
    ]


def test_every_slice_names_account_zone_and_tags_ours_above_the_spec_s(plan_of: PlanOf, zone: Values) -> None:
    zone["sites"]["use2"]["tags"] = {"owner": "ml", CLUSTER_TAG: "forged"}
    stacks = plan_of(zone)[0].stacks
    for one in (stacks.aws_network["use2"], stacks.aws_access["use2"], stacks.aws_compute["use2"]):
        assert (one.account, one.region, one.zone_id) == ("123456789012", "us-east-2", "use2-az2")
        assert one.tags == {"owner": "ml", CLUSTER_TAG: "cloud"}


@pytest.mark.parametrize(
    ("capacity", "group"),
    [
        ({"kind": "on-demand"}, True),
        ({"kind": "spot"}, True),
        ({"kind": "reservation", "reservation": "cr-0123456789abcdef0"}, False),
        ({"kind": "capacity-block", "reservation": "cr-0123456789abcdef0"}, False),
    ],
)
def test_a_placement_group_is_for_efa_without_a_place_of_its_own(
    plan_of: PlanOf,
    zone: Values,
    capacity: Values,
    group: bool,  # noqa: FBT001 (a table)
) -> None:
    zone["pools"]["trn2"]["capacity"] = capacity
    template = plan_of(zone)[0].stacks.aws_compute["use2"].node_sets["trn2"].template
    assert template.placement_group is group
    assert template.capacity.model_dump(exclude_none=True) == capacity


def test_who_fills_slots_on_demand(plan_of: PlanOf, zone: Values) -> None:
    assert plan_of(zone)[0].stacks.aws_access["use2"].controller == "account"
    zone["pools"]["head"] = {
        "site": "use2",
        "platform": "m7i.4xlarge",
        "nodes": {"static": 1},
        "image": "neuron",
        "roles": ["slurm-controller"],
    }
    stacks = plan_of(zone)[0].stacks
    assert stacks.aws_access["use2"].controller == "instance"
    sets = stacks.aws_compute["use2"].node_sets
    assert {name: one.template.controller for name, one in sets.items()} == {"head": True, "trn2": False}
    zone["pools"]["trn2"]["nodes"] = {"static": 2}
    stacks = plan_of(zone)[0].stacks
    assert stacks.aws_access["use2"].controller is None
    assert not stacks.aws_compute["use2"].node_sets["head"].template.controller


def test_of_several_subnets_one_must_be_that_of_the_nodes(plan_of: PlanOf, zone: Values) -> None:
    subnets = {"a": "subnet-01234567", "b": "subnet-89abcdef"}
    zone["sites"]["use2"]["vpc"] = {"existing": "vpc-01234567", "subnets": subnets}
    plan, _ = plan_of(zone)
    assert _said(plan) == ["sites.use2.vpc.subnets"]
    assert plan.stacks.aws_network == {}
    subnets["nodes"] = "subnet-00000001"
    plan, _ = plan_of(zone)
    assert _said(plan) == []
    assert plan.stacks.aws_network["use2"].vpc.model_dump()["subnet"] == "subnet-00000001"


def test_an_image_without_an_ami_is_named_and_its_pool_is_in_no_stack(plan_of: PlanOf, zone: Values) -> None:
    del zone["images"]["neuron"]["ami"]
    plan, _ = plan_of(zone)
    assert _said(plan) == ["images.neuron"]
    assert plan.stacks.aws_compute["use2"].node_sets == {}


def test_a_thousand_nodes_are_at_most_sixty_resources(plan_of: PlanOf, zone: Values) -> None:
    zone["sites"]["use2"]["vpc"]["cidrs"] = ["10.64.0.0/16"]
    zone["pools"]["trn2"]["nodes"] = {"static": 1000}
    resources = plan_of(zone)[0].totals.resources
    assert resources is not None
    assert resources <= 60
