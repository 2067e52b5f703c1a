"""Every cable of any tree: as many as counted, no port twice, and the tree is whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rackwright.plan.fabric.counts import Counts, counts, size
from rackwright.plan.fabric.frame import Demand, Frame, Infeasible, frame
from rackwright.plan.fabric.links import CORE, LEAF, MANAGER, NODE, SPINE, Links, links
from rackwright.plan.fabric.model import CablingPlan
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Iterable


def cabling(demand: Demand, tree: Frame) -> CablingPlan:
    """What the plan would say: nodes from place 0, the manager at the end."""
    nodes = demand.endpoints // demand.rails
    return CablingPlan(
        site="hall",
        switch="any",
        switch_units=1,
        rate_gbps=400,
        uplink_gbps=400,
        endpoints=demand.endpoints,
        nics={"node": demand.rails},
        tree=tree,
        manager_uplinks=demand.manager_uplinks,
        manager=tuple(tree.places - 1 - n for n in range(demand.manager_places)),
        tiers=(),
        cables=(),
        places={"node": {f"1-{nodes}" if nodes > 1 else "1": f"0-{nodes - 1}" if nodes > 1 else "0"}},
        switches={},
    )


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    rails = draw(st.sampled_from([1, 2, 4, 8]))
    return Demand(
        endpoints=rails * draw(st.integers(1, 300)),
        ports=draw(st.sampled_from([8, 16, 36, 40, 64, 144])),
        rails=rails,
        unit_nodes=draw(st.integers(1, 72)),
        attach=draw(st.sampled_from(Attach)),
        planes=draw(st.integers(1, 3)),
        tiers=draw(st.sampled_from([None, None, 2, 3])),
        leaf_oversubscription=draw(st.sampled_from([Fraction(n) for n in (1, 2, 3)] + [Fraction(1, 2)])),
        spine_oversubscription=draw(st.sampled_from([Fraction(1), Fraction(2), Fraction(7)])),
        breakout=draw(st.sampled_from([1, 2, 4])),
        uplink_ratio=draw(
            st.sampled_from([None, None, Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)])
        ),
        pod_units=draw(st.sampled_from([None, None, None, 1, 2, 3])),
        manager_uplinks=draw(st.sampled_from([0, 0, 3, 4])),
        partial=True,
    )


def built(demand: Demand) -> tuple[Frame, list[Links]]:
    try:
        tree = frame(demand)
    except Infeasible:
        assume(False)  # noqa: FBT003 (hypothesis takes it so)
        raise
    return tree, list(links(cabling(demand, tree)))


def ports(found: Iterable[Links]) -> Counter[tuple[str, int, int, int, int]]:
    """Every end of every cable: role, plane, switch, port and lane; a node's NIC counts its links."""
    ends: Counter[tuple[str, int, int, int, int]] = Counter()
    for one in found:
        lower, upper = one.roles
        plane = [one.plane] * len(one)
        shared = [
            0 if lower in {NODE, MANAGER} and lane else number
            for lane, number in zip(one.lower_lane, plane, strict=True)
        ]
        ends.update(zip([lower] * len(one), shared, one.lower, one.lower_port, one.lower_lane, strict=True))
        ends.update(zip([upper] * len(one), plane, one.upper, one.upper_port, one.upper_lane, strict=True))
    return ends


@settings(max_examples=200, deadline=None, derandomize=True)
@given(demands())
def test_no_port_is_used_twice_and_none_that_is_not_there(demand: Demand) -> None:
    tree, found = built(demand)
    ends = ports(found)
    assert max(ends.values()) == 1
    sizes = {"leaf": tree.leaves, "spine": tree.pods * tree.spines, "core": tree.spines * tree.cores}
    for role, _, number, port, lane in ends:
        if role in sizes:
            assert 1 <= number <= sizes[role]
            assert 1 <= port <= tree.ports
            assert 0 <= lane <= tree.breakout
    assert {role for role, *_ in ends} & set(sizes) == {role for role, number in sizes.items() if number}


@settings(max_examples=200, deadline=None, derandomize=True)
@given(demands())
def test_uplinks_and_downlinks_never_share_a_port(demand: Demand) -> None:
    """With breakout cables two node links share a port of a leaf; an uplink shares it with nobody."""
    _, found = built(demand)
    down: set[tuple[int, int, int]] = set()
    up: set[tuple[int, int, int]] = set()
    for one in found:
        mine, columns = (
            (up, (one.lower, one.lower_port)) if one.roles[0] == LEAF else (down, (one.upper, one.upper_port))
        )
        if LEAF in one.roles:
            mine.update((one.plane, *end) for end in zip(*columns, strict=True))
    assert not down & up


@settings(max_examples=200, deadline=None, derandomize=True)
@given(demands())
def test_there_are_as_many_cables_as_counted(demand: Demand) -> None:
    _, found = built(demand)
    told = {cables.between: cables.count for cables in size(demand).cables}
    cables: Counter[tuple[str, str]] = Counter()
    for one in found:
        cables[NODE if one.roles[0] == MANAGER else one.roles[0], one.roles[1]] += len(one)
    assert dict(cables) == told


@settings(max_examples=200, deadline=None, derandomize=True)
@given(demands())
def test_every_leaf_has_equal_links_to_every_spine_of_its_pod_and_so_upwards(demand: Demand) -> None:
    tree, found = built(demand)
    for plane in range(1, tree.planes + 1):
        mine = [one for one in found if one.plane == plane]
        leaf_spine = Counter(pairs(one for one in mine if one.roles == (LEAF, SPINE)))
        assert set(leaf_spine.values()) == {tree.leaf_spine_links}
        assert len(leaf_spine) == tree.leaves * tree.spines
        spine_core = Counter(pairs(one for one in mine if one.roles == (SPINE, CORE)))
        assert set(spine_core.values()) <= {tree.spine_core_links}
        assert len(spine_core) == tree.pods * tree.spines * tree.cores


def pairs(found: Iterable[Links]) -> Iterable[tuple[int, int]]:
    return chain.from_iterable(zip(one.lower.tolist(), one.upper.tolist(), strict=True) for one in found)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(demands())
def test_every_node_reaches_every_rail_and_every_other_node(demand: Demand) -> None:
    """From one leaf, over the cables, all switches of a plane and all NICs of all nodes are reached."""
    tree, found = built(demand)
    for plane in range(1, tree.planes + 1):
        reached = _reached([one for one in found if one.plane == plane])
        nics = {(place, rail) for role, place, rail in reached if role == NODE}
        assert nics == {
            (place, rail + 1)
            for place in range(demand.endpoints // demand.rails)
            for rail in range(demand.rails)
        }
        assert sum(role == LEAF for role, *_ in reached) == tree.leaves


def _reached(found: list[Links]) -> set[tuple[str, int, int]]:
    near: dict[tuple[str, int, int], set[tuple[str, int, int]]] = {}
    for one in found:
        lower, upper = one.roles
        rails = one.lower_port if lower == NODE else np.zeros_like(one.lower)
        for low, rail, high in zip(one.lower.tolist(), rails.tolist(), one.upper.tolist(), strict=True):
            near.setdefault((lower, low, rail), set()).add((upper, high, 0))
            near.setdefault((upper, high, 0), set()).add((lower, low, rail))
    reached, front = {(LEAF, 1, 0)}, [(LEAF, 1, 0)]
    while front:
        new = near[front.pop()] - reached
        reached |= new
        front += new
    return reached


@settings(deadline=None, derandomize=True)
@given(demands(), st.integers(1, 80))
def test_a_tree_that_grows_moves_no_cable_and_has_the_ports(demand: Demand, more: int) -> None:
    try:
        tree = frame(demand)
    except Infeasible:
        return
    grown = tree.grown(tree.units + more)
    if grown is None:
        return
    before = {key for one in links(cabling(demand, tree)) for key in rows(one)}
    after = {key for one in links(replace_tree(cabling(demand, tree), grown)) for key in rows(one)}
    assert before <= after
    ends = ports(links(replace_tree(cabling(demand, tree), grown)))
    assert max(ends.values()) == 1
    assert max(port for role, _, _, port, _ in ends if role not in {NODE, MANAGER}) <= tree.ports


def test_three_tiers_grow_until_their_cores_are_full() -> None:
    """64 pods of 32 leaves are 64³/4 endpoints, and not one unit more."""
    tree = frame(Demand(endpoints=63 * 4 * 256, ports=64, rails=8, unit_nodes=32))
    assert (tree.pods, tree.cores, tree.spine_core_links) == (63, 32, 1)
    assert tree.grown(256) is not None
    assert tree.grown(257) is None


def replace_tree(plan: CablingPlan, tree: Frame) -> CablingPlan:
    return plan.model_copy(update={"tree": tree})


def rows(one: Links) -> Iterable[tuple[object, ...]]:
    columns = (one.lower, one.lower_port, one.lower_lane, one.upper, one.upper_port, one.upper_lane)
    return (
        (one.roles, one.plane, *row) for row in zip(*(column.tolist() for column in columns), strict=True)
    )


@pytest.mark.parametrize(("units", "pods"), [(16, 4), (64, 16)])
def test_three_tiers_of_a_superpod(units: int, pods: int) -> None:
    tree = frame(Demand(endpoints=units * 256, ports=64, rails=8, unit_nodes=32))
    assert (tree.pods, tree.pod_leaves, tree.spines) == (pods, 32, 32)


def test_a_rail_is_a_leaf_of_the_unit_and_a_port_a_seat() -> None:
    demand = Demand(endpoints=64 * 8, ports=64, rails=8, unit_nodes=32)
    nodes = next(iter(links(cabling(demand, frame(demand)))))
    found = dict(
        zip(
            zip(nodes.lower.tolist(), nodes.lower_port.tolist(), strict=True),
            zip(nodes.upper.tolist(), nodes.upper_port.tolist(), strict=True),
            strict=True,
        )
    )
    assert found[0, 1] == (1, 1)
    assert found[0, 8] == (8, 1)
    assert found[31, 3] == (3, 32)
    assert found[32, 3] == (11, 1)


def test_counts_of_a_grown_tree_are_those_of_the_formula() -> None:
    three = frame(Demand(endpoints=96 * 8, ports=64, rails=8, unit_nodes=32))
    grown = three.grown(4)
    assert grown is not None
    four = replace(Demand(endpoints=128 * 8, ports=64, rails=8, unit_nodes=32))
    assert counts(grown, 1024, 0) == size(four)
    assert isinstance(counts(grown, 1024, 0), Counts)
    assert grown.grown(5) is None
