"""Slots of a zone are planned as those of a hall are: name and addresses are known before launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]


def test_a_slot_of_a_zone_has_its_address_before_launch(plan_of: PlanOf, zone: Values) -> None:
    plan, _ = plan_of(zone)
    slots = plan.pools["trn2"].slots.values()
    assert [slot.addresses for slot in slots] == [
        {"management": f"10.64.0.{16 + index}/24"} for index in range(5)
    ]
    assert plan.sites["use2"].networks["management"].gateway == "10.64.0.1"
    assert plan.sites["use2"].networks["management"].mtu == 9001


def test_a_zone_of_somebody_elses_subnet_has_no_planned_addresses(plan_of: PlanOf, zone: Values) -> None:
    zone["sites"]["use2"]["vpc"] = {"existing": "vpc-01234567", "subnets": {"a": "subnet-01234567"}}
    plan, _ = plan_of(zone)
    assert plan.sites["use2"].networks == {}
    assert all(slot.addresses == {} for slot in plan.pools["trn2"].slots.values())


def test_a_vpc_made_smaller_shuts_nobody_out_silently(plan_of: PlanOf, zone: Values) -> None:
    zone["pools"]["trn2"]["nodes"] = {"static": 200}
    _, lock = plan_of(zone)
    zone["pools"]["trn2"]["nodes"] = {"static": 200, "retired": list(range(1, 198))}
    zone["sites"]["use2"]["vpc"]["cidrs"] = ["10.64.0.0/26"]
    with pytest.raises(SpecInvalid) as error:
        plan_of(zone, lock)
    (finding,) = error.value.findings
    assert (finding.code, str(finding.path)) == ("ADDR002", "sites.use2.vpc.cidrs.0")


def test_rails_of_a_zone_have_addresses_of_their_own_fabric(plan_of: PlanOf, zone: Values) -> None:
    zone["pools"]["trn2"] |= {"platform": "lab1.2rail", "fabrics": {"rails": {}}}
    zone["fabrics"] = {
        "rails": {"kind": "ethernet", "speed": "100m", "topology": {"kind": "rails"}, "cidr": "10.9.0.0/23"}
    }
    slot = plan_of(zone)[0].pools["trn2"].slots["trn2-002"]
    assert [(port.interface, port.address) for port in slot.ports] == [
        ("r0", "10.9.0.17/24"),
        ("r1", "10.9.1.17/24"),
    ]
