"""What holds for every fabric that is planned again and again: no cable that stays is ever moved."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rackwright.errors import SpecInvalid
from rackwright.plan.build import build
from rackwright.plan.fabric.links import LEAF, NODE, SPINE, Links, links
from rackwright.plan.lock import parse, render
from rackwright.plan.ranges import Span
from tests.doubles.fabric_specs import POOLS, pool, specs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.fabric.locked import Stand
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]
    Planner = Callable[..., tuple[Plan, Lock]]

MANY = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
REFUSED = {"FAB004", "FAB005", "FAB006", "RACK001"}
"""No such tree, a tree that would move, no room: a history that comes to this is passed over."""


@pytest.fixture(scope="module")
def planner(make_loaded: Callable[[Values], LoadedSpec], catalogue: Catalogue) -> Planner:
    def plan(values: Values, lock: Lock | None, *, resize: bool = False) -> tuple[Plan, Lock]:
        return build(make_loaded(values), catalogue, lock, resize=resize)

    return plan


def nics_of(values: Values) -> int:
    nics: int = next(iter(values["pools"].values()))["fabrics"]["compute"]["nics"]
    return nics


def add_pool(draw: st.DrawFn, values: Values) -> None:
    free = sorted(set(POOLS) - set(values["pools"]))
    assume(free)
    values["pools"][draw(st.sampled_from(free))] = pool(draw(st.integers(1, 9)), nics_of(values))


def remove_pool(draw: st.DrawFn, values: Values) -> None:
    assume(len(values["pools"]) > 1)
    del values["pools"][draw(st.sampled_from(sorted(values["pools"])))]


def grow(draw: st.DrawFn, values: Values) -> None:
    values["pools"][draw(st.sampled_from(sorted(values["pools"])))]["nodes"]["static"] += draw(
        st.integers(1, 9)
    )


def retire(draw: st.DrawFn, values: Values) -> None:
    nodes = values["pools"][draw(st.sampled_from(sorted(values["pools"])))]["nodes"]
    left = set(range(1, nodes["static"] + 1)) - set(nodes.get("retired", ()))
    assume(len(left) > 1)
    nodes["retired"] = sorted({*nodes.get("retired", ()), draw(st.sampled_from(sorted(left)))})


@st.composite
def histories(draw: st.DrawFn) -> list[Values]:
    """A spec as it is committed again and again."""
    history = [draw(specs())]
    for _ in range(draw(st.integers(1, 4))):
        values = copy.deepcopy(history[-1])
        draw(st.sampled_from((add_pool, remove_pool, grow, retire)))(draw, values)
        history.append(values)
    return history


def planned(planner: Planner, history: list[Values]) -> Iterator[tuple[Plan, Lock]]:
    lock: Lock | None = None
    for values in history:
        try:
            plan, lock = planner(values, None if lock is None else parse(render(lock), Path("any.lock.yaml")))
        except SpecInvalid as error:
            assume({finding.code for finding in error.findings} - REFUSED)
            raise
        yield plan, lock


def slots_at(plan: Plan) -> dict[int, str]:
    return {
        place: f"{pool_name}-{number}"
        for pool_name, spans in plan.cabling["compute"].places.items()
        for numbers, places in spans.items()
        for number, place in zip(Span.parse(numbers), Span.parse(places), strict=True)
    }


def rows(one: Links) -> Iterator[tuple[int, ...]]:
    columns = (one.lower, one.lower_port, one.lower_lane, one.upper, one.upper_port, one.upper_lane)
    return zip(*(column.tolist() for column in columns), strict=True)


def node_cables(plan: Plan) -> dict[tuple[object, ...], tuple[int, ...]]:
    """(slot, rail, link, plane) → leaf, port, lane."""
    names = slots_at(plan)
    return {
        (names[place], rail, lane, one.plane): upper
        for one in links(plan.cabling["compute"])
        if one.roles[0] == NODE
        for place, rail, lane, *upper_ in rows(one)
        for upper in (tuple(upper_),)
    }


def switch_cables(plan: Plan) -> set[tuple[object, ...]]:
    return {
        (one.roles, one.plane, *row)
        for one in links(plan.cabling["compute"])
        if one.roles[0] in {LEAF, SPINE}
        for row in rows(one)
    }


@MANY
@given(history=histories())
def test_no_cable_of_a_node_that_stays_is_moved(planner: Planner, history: list[Values]) -> None:
    before: dict[tuple[object, ...], tuple[int, ...]] = {}
    for plan, _ in planned(planner, history):
        now = node_cables(plan)
        assert {key: now[key] for key in before.keys() & now.keys()} == {
            key: before[key] for key in before.keys() & now.keys()
        }
        slots = {slot for one in plan.pools.values() for slot in one.slots}
        assert len({key[0] for key in now}) == len(slots)
        before = now


@MANY
@given(history=histories())
def test_no_cable_between_switches_is_moved_and_no_switch(planner: Planner, history: list[Values]) -> None:
    cables: set[tuple[object, ...]] = set()
    stands: dict[str, dict[int, Stand]] = {}
    for plan, lock in planned(planner, history):
        assert cables <= switch_cables(plan)
        now = {tier: dict(found) for tier, found in lock.fabrics["compute"].switches.items()}
        for tier, found in stands.items():
            assert found.items() <= now[tier].items()
        cables, stands = switch_cables(plan), now


@MANY
@given(values=specs(), data=st.data())
def test_removing_a_pool_moves_no_cable_of_another(
    planner: Planner, values: Values, data: st.DataObject
) -> None:
    (before, lock), *_ = planned(planner, [values])
    assume(len(values["pools"]) > 1)
    gone = data.draw(st.sampled_from(sorted(values["pools"])))
    del values["pools"][gone]
    after, _ = planner(values, lock)
    kept = {
        key: cable for key, cable in node_cables(before).items() if not str(key[0]).startswith(f"{gone}-")
    }
    assert node_cables(after) == kept
    assert switch_cables(after) == switch_cables(before)


@MANY
@given(values=specs())
def test_switches_take_units_that_nobody_has(planner: Planner, values: Values) -> None:
    (plan, lock), *_ = planned(planner, [values])
    taken = [
        (slot.position.rack, unit)
        for one in plan.pools.values()
        for slot in one.slots.values()
        if slot.position
        for unit in range(slot.position.unit, slot.position.unit + (one.units_per_node or 0))
    ]
    stands = [stand for found in lock.fabrics["compute"].switches.values() for stand in found.values()]
    assert len(set(taken) | set(stands)) == len(taken) + len(stands)
    assert len(stands) == sum(tier.switches for tier in plan.cabling["compute"].tiers)


@MANY
@given(values=specs(), more=st.integers(1, 40))
def test_resize_builds_what_the_formula_says_and_leaves_nodes_where_they_are(
    planner: Planner, values: Values, more: int
) -> None:
    values["fabrics"]["compute"]["topology"]["partial"] = True
    (before, lock), *_ = planned(planner, [values])
    name = min(values["pools"])
    values["pools"][name]["nodes"]["static"] += more
    try:
        after, _ = planner(values, lock, resize=True)
        fresh, _ = planner(values, None)
    except SpecInvalid as error:
        assume({finding.code for finding in error.findings} - REFUSED)
        raise
    kept = node_cables(before)
    assert {key: cable for key, cable in node_cables(after).items() if key in kept} == kept
    if not values["fabrics"]["compute"]["manager"]["uplinks"]:
        assert after.cabling["compute"].tiers == fresh.cabling["compute"].tiers
        assert after.cabling["compute"].cables == fresh.cabling["compute"].cables
