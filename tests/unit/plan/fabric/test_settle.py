"""Places, tree and racks of a fabric: what is refused, with its place in the spec, and what would do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import SpecInvalid
from rackwright.plan.build import build
from rackwright.plan.fabric.cables import cables
from rackwright.render.fabric import netbox
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.findings import Finding
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]


@pytest.fixture
def plan_of(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Callable[..., tuple[Plan, Lock]]:
    def plan(values: Values, lock: Lock | None = None, *, resize: bool = False) -> tuple[Plan, Lock]:
        return build(make_loaded(values), catalogue, lock, resize=resize)

    return plan


def refused(plan: Callable[[], object]) -> Finding:
    with pytest.raises(SpecInvalid) as caught:
        plan()
    (finding,) = caught.value.findings
    return finding


def test_the_managers_uplinks_have_the_ports_of_the_node_that_is_given_up(
    plan_of: Callable[..., tuple[Plan, Lock]],
) -> None:
    """The highest place of the tree: the last unit's leaves 1 to 4, the last port of a node on each."""
    plan, _ = plan_of(superpod.values(127, manager_uplinks=4))
    ends = [
        (one.a.device, one.a.port, one.z.device, one.z.port)
        for one in cables(plan, "compute")
        if one.roles[0] == "manager"
    ]
    assert ends == [("compute-manager", str(n), f"compute-leaf-{24 + n:03d}", "32") for n in (1, 2, 3, 4)]


def test_the_managers_place_stays_when_the_tree_grows(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    _, lock = plan_of(superpod.values(95, manager_uplinks=4))
    plan, after = plan_of(superpod.values(127, manager_uplinks=4), lock)
    assert lock.fabrics["compute"].manager == after.fabrics["compute"].manager == {1: 95}
    assert plan.cabling["compute"].tiers[0].switches == 32


def test_three_units_become_four_without_a_resize(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    """16 spines have ports for the fourth unit: the integer-link rule had given them more than three need."""
    _, lock = plan_of(superpod.values(96))
    plan, _ = plan_of(superpod.values(128), lock)
    assert [tier.switches for tier in plan.cabling["compute"].tiers] == [32, 16]


def test_a_fifth_unit_needs_one(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    _, lock = plan_of(superpod.values(128))
    finding = refused(lambda: plan_of(superpod.values(160), lock))
    assert (finding.code, str(finding.path)) == ("FAB005", "fabrics.compute.topology")
    assert (finding.got, finding.expected) == ("5 units of 32 nodes", "at most 4, as it was built")
    assert "plan --resize" in finding.hint
    plan, _ = plan_of(superpod.values(160), lock, resize=True)
    assert [tier.switches for tier in plan.cabling["compute"].tiers] == [40, 32]


@pytest.mark.parametrize(
    ("change", "got", "expected"),
    [
        ({"unit_nodes": 16, "oversubscription": {"leaf": 0.5}}, "unit_nodes 16", "unit_nodes 32"),
        (
            {"attach": "dual-tor", "unit_nodes": 4},
            "attach dual-tor, unit_nodes 4",
            "attach rail, unit_nodes 32",
        ),
        ({"oversubscription": {"leaf": 2}}, "uplinks of a leaf 16", "uplinks of a leaf 32"),
        ({"planes": 2}, "planes 2", "planes 1"),
        ({"tiers": 3}, "tiers 3", "tiers 2"),
    ],
)
def test_a_tree_that_is_built_is_not_changed_in_passing(
    plan_of: Callable[..., tuple[Plan, Lock]], change: Values, got: str, expected: str
) -> None:
    _, lock = plan_of(superpod.values(64))
    finding = refused(lambda: plan_of(superpod.values(64, **change), lock))
    assert (finding.code, finding.got, finding.expected) == ("FAB005", got, expected)
    plan_of(superpod.values(64, **change), lock, resize=True)


def test_a_tree_that_cannot_be_is_a_finding_of_plan(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    """128 cables on a 64-port leaf: the example that others build without a word."""
    finding = refused(lambda: plan_of(superpod.values(16, attach="tor", unit_nodes=16)))
    assert (finding.code, str(finding.path)) == ("FAB004", "fabrics.compute.topology")
    assert "128 node links on 128 ports" in finding.got


def test_pools_with_different_numbers_of_nics(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    values = superpod.values(16)
    values["pools"]["half"] = {**values["pools"]["gpu"], "fabrics": {"compute": {"nics": 4}}}
    finding = refused(lambda: plan_of(values))
    assert (finding.code, finding.got) == ("FAB004", "gpu 8, half 4")


def test_a_retired_node_needs_no_partial_unit(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    """What was built in full stays so; its ports are free until somebody takes the place."""
    _, lock = plan_of(superpod.values(32))
    values = superpod.values(32)
    values["pools"]["gpu"]["nodes"]["retired"] = [7]
    plan, after = plan_of(values, lock)
    assert plan.cabling["compute"].cables[0].count == 31 * 8
    values["pools"]["gpu"]["nodes"]["static"] = 33
    _, again = plan_of(values, after)
    assert again.fabrics["compute"].places["gpu"][33] == 6


def test_a_hall_without_room_for_switches(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    values = superpod.values(32)
    values["sites"]["hall"]["racks"] = {"rows": 1, "per_row": 16, "units": 16, "power_kw": 25}
    finding = refused(lambda: plan_of(values))
    assert (finding.code, str(finding.path)) == ("FAB006", "fabrics.compute.topology")
    assert finding.message == "12 of 12 switches of fabric compute find no rack"
    assert finding.got == "8 leaf, 4 spine"
    assert "1 empty one" in finding.hint
    values["sites"]["hall"]["racks"]["per_row"] = 17
    plan_of(values)


@pytest.mark.parametrize(
    ("watts", "hint"),
    [
        (24_000, "12 empty ones"),
        (12_500, "6 empty ones"),
        (26_000, "no rack of this hall takes a qm9700: racks with more units or power"),
    ],
)
def test_room_for_switches_is_counted_in_power_too(
    make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue, watts: int, hint: str
) -> None:
    """Of 25 kW a rack, with two nodes of 10.2 kW in each."""
    hot = catalogue.switches["qm9700"].model_copy(update={"power_kw": watts / 1000})
    values = superpod.values(32)
    values["sites"]["hall"]["racks"] |= {"rows": 1, "per_row": 16}
    hall = replace(catalogue, switches={"qm9700": hot})
    finding = refused(lambda: build(make_loaded(values), hall, None))
    assert finding.code == "FAB006"
    assert hint in finding.hint
    if "empty" in hint:
        values["sites"]["hall"]["racks"]["per_row"] += int(finding.hint.partition(": ")[2].split()[0])
        build(make_loaded(values), hall, None)


def test_a_switch_whose_rack_is_gone(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    values = superpod.values(32)
    values["sites"]["hall"]["racks"] = {"rows": 1, "per_row": 17, "units": 16, "power_kw": 25}
    _, lock = plan_of(values)
    values["sites"]["hall"]["racks"]["per_row"] = 16
    with pytest.raises(SpecInvalid) as caught:
        plan_of(values, lock)
    assert {finding.code for finding in caught.value.findings} == {"FAB007"}
    assert caught.value.findings[0].got == "the site has no rack r01p17"


def test_leaves_stand_amid_their_unit_and_spines_mid_row(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    _, lock = plan_of(superpod.values(64))
    stands = lock.fabrics["compute"].switches
    assert {stands["leaf"][number].rack for number in range(1, 9)} == {"r01p08"}
    assert {stands["leaf"][number].rack for number in range(9, 17)} == {"r01p24"}
    assert {stand.rack for stand in stands["spine"].values()} == {"r01p16"}


def test_new_nodes_do_not_take_the_units_of_switches(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    _, lock = plan_of(superpod.values(32))
    values = superpod.values(32)
    values["pools"]["late"] = {"site": "hall", "platform": "cpu-1u", "image": "dgx", "nodes": {"static": 200}}
    plan, after = plan_of(values, lock)
    stands = {stand for tier in after.fabrics["compute"].switches.values() for stand in tier.values()}
    late = {
        (slot.position.rack, slot.position.unit)
        for slot in plan.pools["late"].slots.values()
        if slot.position
    }
    assert after.fabrics == lock.fabrics
    assert not stands & late


@pytest.mark.parametrize(("nodes", "uplinks", "tiers", "cables_"), superpod.PUBLISHED)
def test_published_designs_come_out_of_a_spec(
    plan_of: Callable[..., tuple[Plan, Lock]], nodes: int, uplinks: int, tiers: list[int], cables_: list[int]
) -> None:
    """Every row of both tables of facts/fabric.md §1.1."""
    plan, _ = plan_of(superpod.values(nodes, manager_uplinks=uplinks))
    planned = plan.cabling["compute"]
    assert [tier.switches for tier in planned.tiers] == tiers
    assert [some.count for some in planned.cables] == cables_
    assert (plan.totals.switches, plan.totals.cables) == (sum(tiers), sum(cables_))


@pytest.mark.parametrize(
    ("change", "got", "expected"),
    [
        ({"breakout": 2}, "2 links of 400 Gb/s", "at most 400 Gb/s in all"),
        ({"breakout": 3}, "breakout 3", "1, 2, 4 or 8"),
        ({"uplink_speed": "xdr"}, "800 Gb/s", "at most 400 Gb/s"),
    ],
)
def test_a_breakout_that_a_port_has_no_rate_for(
    plan_of: Callable[..., tuple[Plan, Lock]], change: Values, got: str, expected: str
) -> None:
    finding = refused(lambda: plan_of(superpod.values(32, **change)))
    assert (finding.code, finding.got, finding.expected) == ("FAB004", got, expected)


def test_a_breakout_of_slower_links_is_taken(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    """64 links of 200 Gb/s on 32 ports of 400: the leaves of one unit serve twice the nodes."""
    values = superpod.values(64, breakout=2, unit_nodes=64)
    values["fabrics"]["compute"]["speed"] = "hdr"
    plan, _ = plan_of(values)
    assert [tier.switches for tier in plan.cabling["compute"].tiers] == [8, 4]
    uplink = next(one for one in cables(plan, "compute") if one.roles == ("leaf", "spine"))
    link = next(cables(plan, "compute"))
    assert (link.z.port, link.rate_gbps, link.tails, link.kind) == ("1/1", 200, 2, "multimode-1x2")
    assert (uplink.a.port, uplink.rate_gbps, uplink.tails, uplink.kind) == ("33", 400, 1, "copper")
    rows = [line.split(",") for line in netbox.cables([link, uplink]).splitlines()[1:]]
    assert [row[netbox.CABLES.index("type")] for row in rows] == ["mmf", "dac-passive"]


def test_slower_uplinks_are_more_and_their_cables_say_so(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    """As much bandwidth up as down: 16 links of 400 Gb/s are 32 of 200."""
    plan, _ = plan_of(superpod.values(32, unit_nodes=16, uplink_speed="hdr"))
    found = list(cables(plan, "compute"))
    rates = {one.roles: one.rate_gbps for one in found}
    assert rates == {("node", "leaf"): 400, ("leaf", "spine"): 200}
    assert sum(one.roles == ("leaf", "spine") for one in found) == 2 * 32 * 8


@pytest.mark.parametrize(
    ("change", "code", "path"),
    [
        ({"topology": {"attach": "tor", "unit_nodes": 16}}, "FAB004", "fabrics.compute.topology"),
        ({"nics": 9}, "PORT002", "pools.gpu.fabrics.compute.nics"),
        ({"nodes": 31}, "FAB004", "fabrics.compute.topology"),
        ({"topology": {"breakout": 4}}, "FAB004", "fabrics.compute.topology"),
        ({"topology": {"pod_units": 9, "tiers": 3}}, "FAB004", "fabrics.compute.topology"),
        ({"nodes": 96 * 32, "topology": {"tiers": 2}}, "FAB004", "fabrics.compute.topology"),
    ],
    ids=[
        "128 cables on a 64-port leaf",
        "more rails than NICs",
        "partial",
        "breakout",
        "pod",
        "over the limit of two tiers",
    ],
)
def test_what_cannot_be_built_is_refused_with_its_place_and_a_hint(
    plan_of: Callable[..., tuple[Plan, Lock]], change: Values, code: str, path: str
) -> None:
    values = superpod.values(change.get("nodes", 32), **change.get("topology", {}))
    values["pools"]["gpu"]["fabrics"] = {"compute": {"nics": change["nics"]} if "nics" in change else {}}
    finding = refused(lambda: plan_of(values))
    assert (finding.code, str(finding.path)) == (code, path)
    assert all([finding.message, finding.got, finding.expected, finding.hint])


def test_an_odd_radix_is_refused(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> None:
    odd = catalogue.switches["qm9700"].model_copy(update={"ports": 63})
    finding = refused(
        lambda: build(make_loaded(superpod.values(32)), replace(catalogue, switches={"qm9700": odd}), None)
    )
    assert (finding.code, str(finding.path), finding.got) == (
        "FAB004",
        "fabrics.compute.topology",
        "63 ports",
    )
    assert finding.hint


def test_three_tiers_have_their_limit_too(
    make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue
) -> None:
    """Of 16-port switches 16³/4 = 1,024 endpoints, and not one unit more."""
    small = replace(
        catalogue, switches={"qm9700": catalogue.switches["qm9700"].model_copy(update={"ports": 16})}
    )
    plan, _ = build(make_loaded(superpod.values(128, unit_nodes=8)), small, None)
    assert sum(tier.switches for tier in plan.cabling["compute"].tiers) == 5 * 16**2 // 4
    finding = refused(lambda: build(make_loaded(superpod.values(136, unit_nodes=8)), small, None))
    assert (finding.code, str(finding.path)) == ("FAB004", "fabrics.compute.topology")
    assert (finding.got, finding.expected) == (
        "1088 node links of full units in one plane",
        "at most 1024 without oversubscription",
    )
    assert "more ports" in finding.hint


def test_a_switch_of_another_kind(plan_of: Callable[..., tuple[Plan, Lock]]) -> None:
    values = superpod.values(32)
    topology = values["fabrics"]["compute"]["topology"]
    values["fabrics"]["compute"] = {"kind": "ethernet", "speed": "400g", "topology": topology}
    finding = refused(lambda: plan_of(values))
    assert (finding.code, finding.got, finding.expected) == ("FAB004", "ethernet", "infiniband")
