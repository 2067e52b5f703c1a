"""The counts of published designs, to the last cable (facts/fabric.md §1.1), and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rackwright.plan.fabric.counts import Counts, size
from rackwright.plan.fabric.frame import Demand, Infeasible, frame
from rackwright.spec.fabrics import Attach

B200 = [  # units, leaves, spines, cores, node-leaf, leaf-spine, spine-core
    (2, 16, 8, 0, 512, 512, 0),
    (4, 32, 16, 0, 1024, 1024, 0),
    (8, 64, 32, 0, 2048, 2048, 0),
    (16, 128, 128, 64, 4096, 4096, 4096),
    (32, 256, 256, 128, 8192, 8192, 8192),
    (64, 512, 512, 256, 16384, 16384, 16384),
]
AS_BUILT = [  # units, nodes, leaves, spines, compute and manager cables, spine-leaf
    (1, 31, 8, 4, 252, 256),
    (2, 63, 16, 8, 508, 512),
    (3, 95, 24, 16, 764, 768),
    (4, 127, 32, 16, 1020, 1024),
]
NDR = Demand(endpoints=0, ports=64, rails=8, unit_nodes=32)


def numbers(counts: Counts) -> tuple[list[int], list[int]]:
    return [tier.switches for tier in counts.tiers], [cables.count for cables in counts.cables]


@pytest.mark.parametrize("row", B200, ids=lambda row: f"{row[0]} units")
def test_superpod_b200(row: tuple[int, ...]) -> None:
    units, leaves, spines, cores, node_leaf, leaf_spine, spine_core = row
    counts = size(replace(NDR, endpoints=units * 32 * 8))
    assert numbers(counts) == (
        [n for n in (leaves, spines, cores) if n],
        [n for n in (node_leaf, leaf_spine, spine_core) if n],
    )


@pytest.mark.parametrize("row", AS_BUILT, ids=lambda row: f"{row[1]} nodes")
def test_superpod_as_built_with_its_manager(row: tuple[int, ...]) -> None:
    _, nodes, leaves, spines, node_leaf, leaf_spine = row
    counts = size(replace(NDR, endpoints=nodes * 8, manager_uplinks=4))
    assert numbers(counts) == ([leaves, spines], [node_leaf, leaf_spine])


def test_three_units_need_sixteen_spines_not_twelve() -> None:
    """12 would carry the links, but 32 uplinks cannot be shared out equally over 12."""
    counts = size(replace(NDR, endpoints=95 * 8, manager_uplinks=4))
    assert counts.tiers[1].switches == 16
    assert counts.leaf_spine_links == 2


def test_sixteen_thousand_on_forty_ports() -> None:
    """Meta RSC: 2,000 DGX A100 in three tiers of HDR switches; 5k²/4 switches for k³/4 endpoints."""
    counts = size(Demand(endpoints=16_000, ports=40, rails=8, unit_nodes=20))
    assert numbers(counts) == ([800, 800, 400], [16_000, 16_000, 16_000])


@pytest.mark.parametrize("ports", [8, 16, 40, 64, 128, 144])
def test_the_limits_of_two_and_three_tiers(ports: int) -> None:
    """Two tiers carry k²/2, three k³/4 with 5k²/4 switches, and not one endpoint more."""
    unit = Demand(endpoints=ports**2 // 2, ports=ports, unit_nodes=ports // 2)
    assert len(size(unit).tiers) == 2
    more = replace(unit, endpoints=unit.endpoints + ports // 2)
    assert len(size(more).tiers) == 3
    with pytest.raises(Infeasible, match="two tiers"):
        size(replace(more, tiers=2))
    most = replace(unit, endpoints=ports**3 // 4)
    assert sum(tier.switches for tier in size(most).tiers) == 5 * ports**2 // 4
    with pytest.raises(Infeasible, match="three tiers"):
        size(replace(most, endpoints=most.endpoints + ports // 2))


def test_oversubscription_has_both_signs() -> None:
    """In bandwidth: 2:1 halves the uplinks, 1:2 doubles them."""
    down = Demand(endpoints=16 * 8 * 4, ports=64, rails=8, unit_nodes=16)
    assert size(replace(down, leaf_oversubscription=Fraction(2))).uplinks_per_leaf == 8
    assert size(replace(down, leaf_oversubscription=Fraction(1, 2))).uplinks_per_leaf == 32


def test_uplinks_of_another_rate_are_counted_in_bandwidth() -> None:
    """32 node links of 400 Gb/s go up on 16 of 800, on 32 of 400 and on 64 of 200."""
    down = replace(NDR, endpoints=1024, ports=96)
    found = {
        ratio: size(replace(down, uplink_ratio=Fraction(ratio))).uplinks_per_leaf
        for ratio in ("2", "1", "1/2")
    }
    assert found == {"2": 16, "1": 32, "1/2": 64}
    narrow = replace(down, uplink_ratio=Fraction(2), leaf_oversubscription=Fraction(2))
    assert size(narrow).uplinks_per_leaf == 8
    split = Demand(endpoints=64 * 8, ports=64, rails=8, unit_nodes=64, breakout=2, uplink_ratio=Fraction(1))
    with pytest.raises(Infeasible, match="fewer ports"):
        size(split)


def test_pods_are_as_big_as_asked() -> None:
    """3,072 GPUs a pod as Meta published: 96 ToRs of 4 nodes, twice the uplinks, 7:1 above."""
    roce = Demand(
        endpoints=24_576,
        ports=128,
        rails=8,
        unit_nodes=4,
        attach=Attach.TOR,
        leaf_oversubscription=Fraction(1, 2),
        spine_oversubscription=Fraction(7),
        tiers=3,
        pod_units=96,
    )
    tree = frame(roce)
    assert (tree.pods, tree.pod_leaves * tree.unit_nodes * tree.rails) == (8, 3072)
    assert 6.8 < tree.pod_leaves * tree.leaf_spine_links / tree.spine_uplinks <= 7
    with pytest.raises(Infeasible, match="such a pod") as caught:
        frame(replace(roce, pod_units=128))
    assert caught.value.got == "128 leaves in 128 units"
    with pytest.raises(Infeasible, match="what three tiers are made of"):
        frame(replace(roce, tiers=2))


def test_planes_are_whole_trees() -> None:
    one = size(replace(NDR, endpoints=1024))
    two = size(replace(NDR, endpoints=1024, planes=2))
    assert [t.switches for t in two.tiers] == [2 * t.switches for t in one.tiers]
    assert [c.count for c in two.cables] == [2 * c.count for c in one.cables]


def test_a_breakout_shares_a_port_of_the_leaf() -> None:
    """64 ports of 800 Gb/s take 64 node links of 400 Gb/s on 32 ports, and 32 uplinks."""
    counts = size(Demand(endpoints=64 * 8, ports=64, rails=8, unit_nodes=64, breakout=2))
    assert counts.uplinks_per_leaf == 32
    with pytest.raises(Infeasible, match="fewer ports"):
        size(Demand(endpoints=64 * 8, ports=64, rails=8, unit_nodes=64))


@pytest.mark.parametrize(
    ("attach", "leaves", "node_leaf"), [(Attach.RAIL, 8, 32), (Attach.TOR, 1, 32), (Attach.DUAL_TOR, 2, 64)]
)
def test_attachments(attach: Attach, leaves: int, node_leaf: int) -> None:
    counts = size(Demand(endpoints=32, ports=64, rails=8, unit_nodes=4, attach=attach))
    assert counts.tiers[0].switches == leaves
    assert counts.cables[0].count == node_leaf


@pytest.mark.parametrize(
    ("demand", "got", "expected"),
    [
        (
            Demand(endpoints=128, ports=64, rails=8, unit_nodes=16, attach=Attach.TOR),
            "128 node links on 128 ports, and 128 uplinks",
            "at most 64 ports",
        ),
        (Demand(endpoints=31, ports=63, unit_nodes=31), "63 ports", "an even number"),
        (Demand(endpoints=31, ports=64, rails=8, unit_nodes=1), "31 endpoints on 8 rails", "a multiple of 8"),
        (Demand(endpoints=31 * 8, ports=64, rails=8, unit_nodes=32), "31 nodes", "32 nodes"),
        (
            Demand(endpoints=32 * 8, ports=64, rails=8, unit_nodes=32, manager_uplinks=4),
            "32 nodes in 1 units of 32",
            "at most 31 nodes",
        ),
    ],
    ids=["128 cables on a 64-port leaf", "odd", "rails", "partial", "no port for the manager"],
)
def test_refused(demand: Demand, got: str, expected: str) -> None:
    with pytest.raises(Infeasible) as caught:
        size(demand)
    assert got in caught.value.got
    assert expected in caught.value.expected


def test_the_hint_of_a_crowded_leaf_works() -> None:
    crowded = Demand(endpoints=128, ports=64, rails=8, unit_nodes=16, attach=Attach.TOR)
    with pytest.raises(Infeasible, match="fewer ports") as caught:
        size(crowded)
    fitting = int(caught.value.hint.split()[0])
    size(replace(crowded, endpoints=fitting * 8, unit_nodes=fitting))
    with pytest.raises(Infeasible, match="fewer ports"):
        size(replace(crowded, endpoints=(fitting + 1) * 8, unit_nodes=fitting + 1))


def test_a_crowded_leaf_that_no_unit_fits_is_told_what_would_do() -> None:
    """Eight NICs of one node and eight uplinks on eight ports."""
    crowded = Demand(endpoints=16, ports=8, rails=8, unit_nodes=2, attach=Attach.TOR)
    with pytest.raises(Infeasible, match="fewer ports") as caught:
        size(crowded)
    assert caught.value.hint.startswith("fewer NICs of a node")
    for fitting in (
        replace(crowded, rails=4, endpoints=4, unit_nodes=1),
        replace(crowded, ports=16, endpoints=8, unit_nodes=1),
    ):
        size(fitting)


demands = st.builds(
    Demand,
    endpoints=st.integers(1, 4000),
    ports=st.sampled_from([8, 16, 36, 40, 64, 128, 144]),
    rails=st.just(1),
    unit_nodes=st.integers(1, 72),
    attach=st.sampled_from(Attach),
    planes=st.integers(1, 4),
    tiers=st.sampled_from([None, None, None, 2, 3]),
    leaf_oversubscription=st.sampled_from([Fraction(1), Fraction(2), Fraction(3), Fraction(1, 2)]),
    spine_oversubscription=st.sampled_from([Fraction(1), Fraction(2), Fraction(7), Fraction(1, 2)]),
    breakout=st.sampled_from([1, 1, 2, 4]),
    uplink_ratio=st.sampled_from([None, None, Fraction(2), Fraction(1, 2)]),
    pod_units=st.sampled_from([None, None, 1, 2, 5]),
    partial=st.sampled_from([True]),
)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(demands)
def test_every_port_is_there_and_every_link_has_two_ends(demand: Demand) -> None:
    try:
        counts = size(demand)
    except Infeasible:
        return
    switches = {tier.role: tier.switches for tier in counts.tiers}
    links = {cables.between: cables.count for cables in counts.cables}
    for role, number in switches.items():
        ends = sum(count for between, count in links.items() if role in between)
        assert ends <= number * demand.ports * (demand.breakout if role == "leaf" else 1)
    assert links["leaf", "spine"] == switches["leaf"] * counts.uplinks_per_leaf
    assert counts.uplinks_per_leaf % counts.leaf_spine_links == 0


def grown_by(demand: Demand, units: int) -> tuple[Counts, Counts]:
    """Counts of a tree and of one with more units; passed over where one of them is refused."""
    more = replace(demand, endpoints=demand.endpoints + units * demand.unit_nodes)
    try:
        return size(demand), size(more)
    except Infeasible:
        assume(False)  # noqa: FBT003 (hypothesis takes it so)
        raise


def switches(counts: Counts) -> dict[str, int]:
    return {tier.role: tier.switches for tier in counts.tiers}


def cables(counts: Counts) -> dict[tuple[str, str], int]:
    return {one.between: one.count for one in counts.cables}


@settings(deadline=None, max_examples=500, derandomize=True)
@given(demands, st.integers(1, 200))
def test_more_endpoints_never_take_fewer_switches(demand: Demand, units: int) -> None:
    """Nor fewer leaves, cables of nodes or of leaves, or tiers: also where a third tier is begun."""
    before, after = grown_by(demand, units)
    assert sum(switches(after).values()) >= sum(switches(before).values())
    assert len(after.tiers) >= len(before.tiers)
    assert switches(after)["leaf"] >= switches(before)["leaf"]
    for between in (("node", "leaf"), ("leaf", "spine")):
        assert cables(after)[between] >= cables(before)[between]
    if len(after.tiers) == 2:
        assert switches(after)["spine"] >= switches(before)["spine"]
