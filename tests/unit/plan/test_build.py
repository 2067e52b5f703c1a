"""From spec, catalogue and lock to a plan: what is decided, and what is refused with which remedy."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import SpecInvalid
from rackwright.plan.build import build
from rackwright.plan.model import OnpremSitePlan
from tests.doubles.refusals import findings, the_finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Values = dict[str, Any]
    MakeLoaded = Callable[..., LoadedSpec]
    PlanOf = Callable[..., tuple[Plan, Lock]]


def test_the_addresses_of_a_slot_follow_its_index(plan_of: PlanOf, hall: Values) -> None:
    plan, _ = plan_of(hall)
    node = plan.pools["node"].slots["node-002"]
    assert node.index == 2
    assert node.addresses == {"bmc": "10.0.1.18/24", "management": "10.0.0.18/24"}
    assert [(port.rail, port.interface, port.address) for port in node.ports] == [
        (0, "r0", "10.1.0.18/24"),
        (1, "r1", "10.1.1.18/24"),
    ]


def test_nodes_fill_racks_in_order(plan_of: PlanOf, hall: Values) -> None:
    plan, _ = plan_of(hall)
    places = {
        name: (slot.position.rack, slot.position.unit)
        for pool in plan.pools.values()
        for name, slot in pool.slots.items()
        if slot.position is not None
    }
    assert places == {
        "head-001": ("r01p01", 1),
        "node-001": ("r01p01", 2),
        "node-002": ("r01p01", 3),
        "node-003": ("r01p02", 1),
        "node-004": ("r01p02", 2),
    }
    site = plan.sites["hall"]
    assert isinstance(site, OnpremSitePlan)
    assert {name: (rack.units_used, rack.power_kw) for name, rack in site.racks.items()} == {
        "r01p01": (3, 0.6),
        "r01p02": (2, 0.4),
    }


def test_totals_add_up_and_what_is_unknown_is_null_and_named(
    plan_of: PlanOf, hall: Values, zone: Values
) -> None:
    plan, _ = plan_of(hall)
    assert (plan.totals.nodes, plan.totals.accelerators, plan.totals.racks) == (5, 0, 2)
    assert plan.totals.power_kw == 1.0
    assert (plan.totals.switches, plan.totals.cables) == (2, 8)
    assert not {"switches", "cables"} & set(plan.not_planned)
    assert "power_kw" not in plan.not_planned
    cloud, _ = plan_of(zone)
    assert cloud.totals.accelerators == 80
    assert cloud.totals.power_kw is None
    assert cloud.totals.resources == 30
    assert "power_kw" in cloud.not_planned


def test_every_null_total_is_named(plan_of: PlanOf, hall: Values, zone: Values) -> None:
    for values in (hall, zone):
        plan, _ = plan_of(values)
        nulls = {name for name, value in plan.totals.model_dump().items() if value is None}
        assert nulls <= set(plan.not_planned)


def test_delivered_hosts_form_sets_of_32(plan_of: PlanOf, hall: Values) -> None:
    hall["pools"]["node"]["nodes"] = {"static": 70, "retired": [40]}
    del hall["pools"]["node"]["nodes_per_rack"]
    hall["sites"]["hall"]["racks"] = {"rows": 4, "per_row": 3, "units": 12, "power_kw": 4}
    slots = [f"node-{number:03d}" for number in range(1, 71) if number != 40]
    plan, _ = plan_of(hall, delivered=slots)
    sets = plan.stacks.onprem["hall"].host_sets
    assert {name: len(one.hosts) for name, one in sets.items()} == {
        "node-u01": 32,
        "node-u02": 31,
        "node-u03": 6,
    }
    assert sets["node-u03"].hosts["node-065"].bmc_address == "10.0.1.80"
    assert plan.undelivered == {"head": "1"}
    assert plan.totals.resources == 6


def test_a_hall_without_a_delivered_host_has_no_stack(plan_of: PlanOf, hall: Values) -> None:
    plan, _ = plan_of(hall)
    assert plan.stacks.onprem == {}
    assert plan.undelivered == {"head": "1", "node": "1-4"}


def test_maintenance_is_held_with_its_reason(
    make_loaded: MakeLoaded, catalogue: Catalogue, hall: Values
) -> None:
    loaded = make_loaded(hall, ["node-001", "node-002"])
    row = loaded.rows["node-002"]
    held = replace(row, asset=row.asset.model_copy(update={"maintenance": True}))
    plan, _ = build(replace(loaded, assets={**loaded.assets, "node-002": held.asset}), catalogue, None)
    hosts = plan.stacks.onprem["hall"].host_sets["node-u01"].hosts
    assert hosts["node-001"].held == ""
    assert "maintenance" in hosts["node-002"].held


def test_a_bmc_address_that_is_not_the_planned_one_is_refused(
    make_loaded: MakeLoaded, catalogue: Catalogue, hall: Values
) -> None:
    loaded = make_loaded(hall, ["node-001", "node-002"])
    rows = {
        "node-001": replace(loaded.rows["node-001"], bmc_address="10.0.1.17"),
        "node-002": replace(loaded.rows["node-002"], bmc_address="10.0.1.99"),
    }
    with pytest.raises(SpecInvalid) as error:
        build(replace(loaded, rows=rows), catalogue, None)
    (finding,) = error.value.findings
    assert (finding.got, finding.expected) == ("10.0.1.99", "10.0.1.18, the planned address of node-002")
    assert finding.place is rows["node-002"].place


def test_burst_slots_follow_the_static_ones(plan_of: PlanOf, zone: Values) -> None:
    plan, _ = plan_of(zone)
    slots = plan.pools["trn2"].slots
    assert [slot.burst for slot in slots.values()] == [False, False, True, True, True]
    assert all(slot.position is None for slot in slots.values())


def test_growing_static_renames_no_burst_slot(plan_of: PlanOf, zone: Values) -> None:
    before, lock = plan_of(zone)
    zone["pools"]["trn2"]["nodes"]["static"] = 4
    after, _ = plan_of(zone, lock)
    old, new = before.pools["trn2"].slots, after.pools["trn2"].slots
    assert list(new) == [*old, "trn2-006", "trn2-007"]
    assert [name for name in old if old[name].burst and not new[name].burst] == ["trn2-003", "trn2-004"]
    assert {name: slot.index for name, slot in old.items()} == {name: new[name].index for name in old}


def test_freed_indexes_and_units_go_to_new_slots_only(plan_of: PlanOf, hall: Values) -> None:
    before, lock = plan_of(hall)
    hall["pools"]["login"] = dict(hall["pools"].pop("head"))
    after, _ = plan_of(hall, lock)
    assert after.pools["node"] == before.pools["node"]
    assert after.pools["login"].slots["login-001"].index == before.pools["head"].slots["head-001"].index
    assert after.pools["login"].slots["login-001"].position == before.pools["head"].slots["head-001"].position


def test_planning_again_changes_neither_plan_nor_lock(plan_of: PlanOf, hall: Values) -> None:
    first = plan_of(hall)
    assert plan_of(hall, first[1]) == first


def test_a_removed_rack_with_slots_is_refused(plan_of: PlanOf, hall: Values) -> None:
    _, lock = plan_of(hall)
    hall["sites"]["hall"]["racks"]["per_row"] = 1
    finding = the_finding(plan_of, hall, lock)
    assert finding.code == "RACK002"
    assert "no rack r01p02" in finding.got
    assert "retire 3-4 " in finding.hint
    hall["pools"]["node"]["nodes"]["retired"] = [3, 4]
    plan, _ = plan_of(hall, lock)
    assert list(plan.pools["node"].slots) == ["node-001", "node-002"]


def test_a_larger_machine_does_not_push_its_neighbour_out(plan_of: PlanOf, hall: Values) -> None:
    hall["sites"]["hall"]["racks"]["power_kw"] = 40
    _, lock = plan_of(hall)
    hall["pools"]["head"]["platform"] = "dgx-h100"
    first, second = findings(plan_of, hall, lock)
    assert (first.code, second.code) == ("RACK002", "RACK002")
    assert first.got == "something else stands in unit 2 of r01p01"


def test_a_rack_whose_power_was_lowered_is_refused(plan_of: PlanOf, hall: Values) -> None:
    _, lock = plan_of(hall)
    hall["sites"]["hall"]["racks"]["power_kw"] = 0.5
    assert "0.6 kW of 0.5 kW" in the_finding(plan_of, hall, lock).got


def test_a_pool_does_not_change_its_site(plan_of: PlanOf, hall: Values) -> None:
    _, lock = plan_of(hall)
    hall["sites"]["annex"] = dict(hall["sites"]["hall"])
    hall["pools"]["head"]["site"] = "annex"
    finding = the_finding(plan_of, hall, lock)
    assert (finding.code, finding.got, finding.expected) == ("SLOT001", "annex", "hall")


def test_a_network_made_smaller_is_refused(plan_of: PlanOf, hall: Values) -> None:
    hall["pools"]["head"]["nodes"]["static"] = 12
    _, lock = plan_of(hall)
    hall["pools"]["head"]["nodes"] = {"static": 12, "retired": list(range(1, 13))}
    hall["sites"]["hall"]["networks"]["bmc"]["cidr"] = "10.0.1.0/27"
    finding = the_finding(plan_of, hall, lock)
    assert (finding.code, str(finding.path)) == ("ADDR002", "sites.hall.networks.bmc.cidr")
    assert (finding.got, finding.hint.partition(":")[0]) == ("10.0.1.0/27", "an address cannot move")
    assert str(finding.path) == "sites.hall.networks.bmc.cidr"


def test_racks_over_their_units_or_power_are_refused(plan_of: PlanOf, hall: Values) -> None:
    hall["sites"]["hall"]["racks"]["power_kw"] = 0.3
    finding = next(one for one in findings(plan_of, hall) if str(one.path) == "pools.node.nodes")
    assert finding.code == "RACK001"
    assert "0.2 kW each" in finding.got
    hall["sites"]["hall"]["racks"] = {"rows": 1, "per_row": 1, "units": 2, "power_kw": 4}
    finding = the_finding(plan_of, hall)
    assert finding.message == "3 of 4 nodes of pool node find no rack"
    assert "slots 2-4" in finding.got


def test_rails_are_split_once(plan_of: PlanOf, hall: Values) -> None:
    hall["pools"]["node"]["fabrics"]["compute"]["nics"] = 1
    before, lock = plan_of(hall)
    assert before.pools["node"].slots["node-001"].ports[0].address == "10.1.0.17/23"
    hall["pools"]["head"]["fabrics"] = {"compute": {"nics": 2}}
    finding = the_finding(plan_of, hall, lock)
    assert (finding.code, finding.got, finding.expected) == ("ADDR004", "2 rails", "at most 1")


def test_fewer_rails_move_no_address(plan_of: PlanOf, hall: Values) -> None:
    hall["pools"]["head"]["fabrics"] = {"compute": {"nics": 1}}
    before, lock = plan_of(hall)
    del hall["pools"]["node"]
    after, _ = plan_of(hall, lock)
    assert after.pools["head"] == before.pools["head"]
    assert after.pools["head"].slots["head-001"].ports[0].address == "10.1.0.16/24"


def test_a_fabric_with_too_few_addresses_is_refused(plan_of: PlanOf, hall: Values) -> None:
    hall["fabrics"]["compute"]["cidr"] = "10.1.0.0/27"
    assert the_finding(plan_of, hall).code == "ADDR003"
    hall["fabrics"]["compute"]["cidr"] = "10.1.0.0/26"
    plan_of(hall)
    hall["pools"]["head"]["nodes"]["static"] = 12
    finding = the_finding(plan_of, hall)
    assert (finding.code, finding.got) == ("ADDR003", "2 networks of 15 addresses")


def test_a_fabric_ends_at_the_walls_of_its_site(plan_of: PlanOf, hall: Values) -> None:
    hall["sites"]["annex"] = dict(hall["sites"]["hall"])
    hall["pools"]["head"] |= {"site": "annex", "fabrics": {"compute": {"nics": 1}}}
    finding = the_finding(plan_of, hall)
    assert finding.code == "FAB001"
    assert "annex" in finding.got


@pytest.mark.parametrize(
    ("use", "code", "got"),
    [({"nics": 3}, "PORT002", "3"), ({"ports": "storage"}, "PORT001", "storage")],
)
def test_ports_that_a_platform_lacks_are_refused(
    plan_of: PlanOf, hall: Values, use: Values, code: str, got: str
) -> None:
    hall["pools"]["node"]["fabrics"]["compute"] = use
    finding = the_finding(plan_of, hall)
    assert (finding.code, finding.got) == (code, got)


def test_ports_go_by_name_or_are_asked_for(plan_of: PlanOf, hall: Values) -> None:
    hall["sites"]["hall"]["racks"] = {"rows": 1, "per_row": 3, "units": 48, "power_kw": 44}
    hall["fabrics"]["store"] = hall["fabrics"]["compute"] | {"cidr": "10.2.0.0/22"}
    hall["pools"]["node"] |= {"platform": "dgx-h100", "fabrics": {"compute": {}, "store": {"nics": 2}}}
    assert the_finding(plan_of, hall).code == "PORT001"
    hall["pools"]["node"]["fabrics"]["store"]["ports"] = "storage"
    plan, _ = plan_of(hall)
    ports = plan.pools["node"].slots["node-001"].ports
    assert [(port.fabric, port.rail, port.interface) for port in ports[7:]] == [
        ("compute", 7, "ibp220s0"),
        ("store", 0, None),
        ("store", 1, None),
    ]


def test_ports_speak_their_fabrics_language(plan_of: PlanOf, hall: Values) -> None:
    hall["fabrics"]["compute"] = {
        "kind": "infiniband",
        "speed": "ndr",
        "manager": {"kind": "opensm"},
        "topology": {"kind": "rails"},
    }
    finding = the_finding(plan_of, hall)
    assert (finding.code, finding.got, finding.expected) == ("PORT003", "infiniband", "ethernet")


def test_a_platform_belongs_to_its_kind_of_site(plan_of: PlanOf, hall: Values, zone: Values) -> None:
    hall["pools"]["head"]["platform"] = "p5.48xlarge"
    assert the_finding(plan_of, hall).code == "PLAT002"
    zone["pools"]["trn2"]["platform"] = "dgx-h100"
    assert the_finding(plan_of, zone).code == "PLAT002"


def test_an_unknown_figure_is_refused_and_never_zero(
    make_loaded: MakeLoaded, catalogue: Catalogue, hall: Values
) -> None:
    for figure in ("units", "power_kw", "accelerators"):
        bare = catalogue.platforms["lab-node"].model_copy(update={figure: None})
        with pytest.raises(SpecInvalid) as error:
            build(make_loaded(hall), replace(catalogue, platforms={"lab-node": bare}), None)
        assert {(one.code, one.got) for one in error.value.findings} == {("PLAT003", f"no {figure}")}


@pytest.mark.parametrize(
    ("key", "value", "hint"), [("site", "hal", "`hall`"), ("platform", "lab-nod", "`lab-node`")]
)
def test_a_dangling_name_is_refused_with_the_nearest(
    plan_of: PlanOf, hall: Values, key: str, value: str, hint: str
) -> None:
    hall["pools"]["head"][key] = value
    finding = the_finding(plan_of, hall)
    assert (finding.got, str(finding.path)) == (value, f"pools.head.{key}")
    assert hint in finding.hint


@pytest.mark.parametrize("network", ["bmc", "management"])
def test_a_hall_needs_its_networks(plan_of: PlanOf, hall: Values, network: str) -> None:
    del hall["sites"]["hall"]["networks"][network]
    finding = the_finding(plan_of, hall)
    assert (finding.code, finding.expected) == ("NET003", "bmc and management")
    assert network in finding.hint


def test_all_pools_are_judged_at_once(plan_of: PlanOf, hall: Values) -> None:
    hall["pools"]["head"]["platform"] = "nothing"
    hall["pools"]["node"]["fabrics"]["compute"]["nics"] = 9
    assert {one.code for one in findings(plan_of, hall)} == {"REF001", "PORT002"}


def test_what_cannot_be_built_is_said_in_a_sentence(plan_of: PlanOf, hall: Values, zone: Values) -> None:
    plan, _ = plan_of(hall)
    assert plan.not_provisionable == ()
    hall["pools"]["node"]["nodes"] = {"static": 3, "burst": 1}
    hall["storage"] = {
        "scratch": {"kind": "lustre", "site": "hall", "mount": "/scratch", "mds": ["head"], "oss": ["head"]},
        "theirs": {"kind": "lustre", "site": "hall", "mount": "/theirs", "existing": "10.9.9.9@o2ib:/fs"},
    }
    plan, _ = plan_of(hall)
    assert [sentence.partition(":")[0] for sentence in plan.not_provisionable] == [
        "pools.node",
        "storage.scratch",
    ]
    assert "storage" in plan.not_planned
    cloud, _ = plan_of(zone)
    assert cloud.not_provisionable == ()


def test_names_sort_as_they_are_read(plan_of: PlanOf, hall: Values) -> None:
    plan, _ = plan_of(hall)
    numbers = [slot.number for slot in plan.pools["node"].slots.values()]
    assert all(left < right for left, right in pairwise(numbers))
    assert list(plan.pools) == sorted(plan.pools)
