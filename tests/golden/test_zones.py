"""Stacks of the example specs that have a zone: every registered input of network, access and compute."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from tests.doubles.mocked import registered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.mocked import Registered

CLUSTERS = paths.repository() / "clusters"
ZONES = {
    "aws-p5": "use2",
    "aws-p5en": "apne1",
    "aws-p6-b300": "usw2",
    "aws-trn2": "usw2",
    "hybrid": "use2",
    "lab-hybrid": "cloud",
}
UNSEEN = 7
"""Not registered with mocks: three stacks, two references with their provider, and the provider of ours."""
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"


class Stacks:
    """What the stacks of one example register."""

    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.plan = open_cluster(CLUSTERS / f"{spec}.yaml").plan
        self.all = registered(self.plan, ZONES[spec])

    def of(self, kind: str) -> list[Registered]:
        return [one for one in self.all if one.type == kind]


@pytest.fixture(params=ZONES, scope="module")
def stacks(request: pytest.FixtureRequest) -> Stacks:
    return Stacks(request.param)


def test_the_launch_templates(stacks: Stacks, golden: Callable[[str, str], None]) -> None:
    for one in stacks.of(TEMPLATE):
        golden(f"{stacks.spec}/launch-template-{one.name}.json", canonical.dumps(dict(one.inputs)))


def test_what_surrounds_the_nodes(stacks: Stacks, golden: Callable[[str, str], None]) -> None:
    others = {f"{one.type} {one.name}": dict(one.inputs) for one in stacks.all if one.type != TEMPLATE}
    golden(f"{stacks.spec}/zone.json", canonical.dumps(others))


def test_interfaces_are_as_planned_with_the_group_on_each_and_none_outlives_its_instance(
    stacks: Stacks,
) -> None:
    for template in stacks.of(TEMPLATE):
        planned = stacks.plan.pools[template.name].nics
        made = template.inputs["networkInterfaces"]
        assert [_place(one) for one in made] == [
            (nic.network_card_index, nic.device_index, nic.interface_type.value) for nic in planned
        ]
        assert all(one["deleteOnTermination"] == "true" and one["securityGroups"] for one in made)
        assert all("associatePublicIpAddress" not in one for one in made)
        assert "vpcSecurityGroupIds" not in template.inputs


def _place(interface: dict[str, Any]) -> tuple[int, int, str]:
    return interface["networkCardIndex"], interface["deviceIndex"], interface["interfaceType"]


def test_groups_have_no_inline_rules_and_let_themselves_in_and_out(stacks: Stacks) -> None:
    [group] = stacks.of("aws:ec2/securityGroup:SecurityGroup")
    assert not {"ingress", "egress"} & group.inputs.keys()
    for direction in ("Ingress", "Egress"):
        rules = stacks.of(f"aws:vpc/securityGroup{direction}Rule:SecurityGroup{direction}Rule")
        own = [one.inputs for one in rules if "referencedSecurityGroupId" in one.inputs]
        assert [(one["ipProtocol"], one["securityGroupId"]) for one in own] == [
            ("-1", own[0]["referencedSecurityGroupId"])
        ]


def test_capacity_is_never_bought_beside_a_reservation_and_a_block_has_no_placement_group(
    stacks: Stacks,
) -> None:
    for template in stacks.of(TEMPLATE):
        capacity = (
            stacks.plan.stacks.aws_compute[ZONES[stacks.spec]].node_sets[template.name].template.capacity
        )
        asked = template.inputs.get("capacityReservationSpecification", {})
        market = template.inputs.get("instanceMarketOptions", {})
        assert (capacity.reservation is None) == (not asked)
        if capacity.kind == "reservation":
            assert asked["capacityReservationPreference"] == "capacity-reservations-only"
        if capacity.kind == "capacity-block":
            assert "placement" not in template.inputs
            assert market == {"marketType": "capacity-block"}
        else:
            assert not market


def test_node_sets_have_a_numeric_version_and_no_secret_is_anywhere(stacks: Stacks) -> None:
    assert all(one.inputs["version"] == 1 for one in stacks.of("rackwright:aws:NodeSet"))
    said = str([one.inputs for one in stacks.all])
    assert "$Latest" not in said
    assert not re.search(r"AKIA|SECRET|PRIVATE KEY|ssh-ed25519|userData", said)


def test_the_plan_counts_the_resources(stacks: Stacks) -> None:
    halls = sum(len(one.host_sets) + 3 for one in stacks.plan.stacks.onprem.values())
    assert stacks.plan.totals.resources == len(stacks.all) + UNSEEN + halls


def test_resources_grow_with_pools_and_not_with_nodes(stacks: Stacks) -> None:
    kinds = Counter(one.type for one in stacks.all)
    assert (
        kinds["rackwright:aws:NodeSet"]
        == kinds[TEMPLATE]
        == len([pool for pool in stacks.plan.pools.values() if pool.site == ZONES[stacks.spec]])
    )
