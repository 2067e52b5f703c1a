"""A locked fabric that nobody is on any more: its switches and their cables stay until it is built anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import SpecInvalid
from rackwright.plan.build import build
from rackwright.plan.fabric.cables import cables
from rackwright.plan.lock import parse, render
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]
    Planner = Callable[..., tuple[Plan, Lock]]

HEAD = {"site": "hall", "platform": "cpu-1u", "image": "dgx", "nodes": {"static": 2}}


@pytest.fixture
def plan_of(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Planner:
    def plan(values: Values, lock: Lock | None = None, *, resize: bool = False) -> tuple[Plan, Lock]:
        read = None if lock is None else parse(render(lock), Path("any.lock.yaml"))
        return build(make_loaded(values), catalogue, read, resize=resize)

    return plan


def hall(nodes: int = 32) -> Values:
    """Nodes on the fabric, and two hosts that are on none."""
    values = superpod.values(nodes)
    values["pools"]["head"] = dict(HEAD)
    return values


def left(nodes: int = 32) -> Values:
    values = hall(nodes)
    del values["pools"]["gpu"]
    return values


def between_switches(plan: Plan) -> list[object]:
    return [one for one in cables(plan, "compute") if one.roles[0] != "node"]


def test_the_last_pool_may_leave_a_fabric_with_a_subnet_manager(plan_of: Planner) -> None:
    values = superpod.managed()
    before, lock = plan_of(values)
    assert before.cabling["compute"].places
    for pool in values["pools"].values():
        pool.get("fabrics", {}).pop("compute", None)
    after = plan_of(values, lock)[0]
    assert not after.cabling["compute"].places
    assert not after.subnets


def test_switches_and_their_cables_stay_when_the_last_pool_leaves(plan_of: Planner) -> None:
    """Also in the plan after that one, which no pool tells the site of."""
    before, lock = plan_of(hall())
    once, lock_once = plan_of(left(), lock)
    again, lock_again = plan_of(left(), lock_once)
    for plan in (once, again):
        assert between_switches(plan) == between_switches(before)
        assert plan.cabling["compute"].switches == before.cabling["compute"].switches
        assert plan.cabling["compute"].site == "hall"
    assert lock_again == lock_once
    assert lock_once.fabrics["compute"] == replace(lock.fabrics["compute"], places={}, site="hall")


def test_nobody_takes_the_units_of_switches_whose_last_node_has_left(plan_of: Planner) -> None:
    lock = plan_of(left(), plan_of(hall())[1])[1]
    values = left()
    values["pools"]["late"] = {**HEAD, "nodes": {"static": 600}}
    plan, after = plan_of(values, lock)
    stands = {stand for tier in after.fabrics["compute"].switches.values() for stand in tier.values()}
    late = {
        (slot.position.rack, slot.position.unit)
        for slot in plan.pools["late"].slots.values()
        if slot.position
    }
    assert len(stands) == 12
    assert {rack for rack, _ in stands} <= {rack for rack, _ in late}
    assert not stands & late


def test_nodes_that_come_back_find_the_tree_as_it_was(plan_of: Planner) -> None:
    before, lock = plan_of(hall())
    after = plan_of(hall(), plan_of(left(), lock)[1])
    assert list(cables(after[0], "compute")) == list(cables(before, "compute"))
    assert after[1].fabrics == lock.fabrics


def test_resize_takes_a_tree_away_that_nobody_is_on(plan_of: Planner) -> None:
    plan, after = plan_of(left(), plan_of(hall())[1], resize=True)
    assert not plan.cabling
    assert not after.fabrics


def other_site(values: Values) -> Values:
    """The same nodes as another pool, in a second hall."""
    values = {**values, "sites": {**values["sites"], "annex": values["sites"]["hall"]}}
    values["pools"]["far"] = {**hall()["pools"]["gpu"], "site": "annex"}
    return values


@pytest.mark.parametrize("planned_between", [False, True])
def test_a_tree_does_not_go_to_another_site_in_passing(plan_of: Planner, *, planned_between: bool) -> None:
    lock = plan_of(hall())[1]
    if planned_between:
        lock = plan_of(left(), lock)[1]
    with pytest.raises(SpecInvalid) as caught:
        plan_of(other_site(left()), lock)
    (finding,) = caught.value.findings
    assert (finding.code, str(finding.path)) == ("FAB005", "fabrics.compute.topology")
    assert (finding.got, finding.expected) == ("nodes in annex", "nodes in hall")
    plan, after = plan_of(other_site(left()), lock, resize=True)
    assert plan.cabling["compute"].site == "annex"
    assert after.fabrics["compute"].site is None
    fresh = plan_of(other_site(left()))[0]
    assert list(cables(plan, "compute")) == list(cables(fresh, "compute"))


def test_a_hall_that_is_gone_takes_its_switches_with_it(plan_of: Planner) -> None:
    lock = plan_of(hall())[1]
    values = other_site(left())
    del values["pools"]["far"], values["sites"]["hall"]
    values["pools"] = {"there": {**HEAD, "site": "annex"}}
    plan, after = plan_of(values, lock)
    assert not plan.cabling
    assert not after.fabrics
