"""RDMA interfaces planned: one for each rail with a name and an address, each with its routing table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwright import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]


def test_each_rail_of_a_slot_has_an_interface_with_a_table_of_its_own(plan_of: PlanOf, hall: Values) -> None:
    hall["fabrics"]["compute"]["rdma"] = {"kind": "soft", "dscp": 30}
    hall["pools"]["node"]["fabrics"]["compute"]["pci"] = ["0000:18:00.0", "0000:2a:00.0"]
    plan, _ = plan_of(hall)
    assert set(plan.rdma) == {f"node-{number:03d}" for number in range(1, 5)}
    first, second = plan.rdma["node-001"].nics
    assert (first.table, second.table) == (1000, 1001)
    assert [(nic.fabric, nic.rail) for nic in (first, second)] == [("compute", 0), ("compute", 1)]
    assert (first.pci, second.pci) == ("0000:18:00.0", "0000:2a:00.0")
    assert first.network != second.network
    assert first.address == plan.pools["node"].slots["node-001"].ports[0].address
    assert {(nic.kind, nic.priority, nic.dscp, nic.ecn) for nic in (first, second)} == {("soft", 3, 30, True)}


def test_a_plan_without_rdma_does_not_mention_it(plan_of: PlanOf, hall: Values) -> None:
    plan, _ = plan_of(hall)
    assert plan.rdma == {}
    assert '"rdma"' not in canonical.dumps(plan)
