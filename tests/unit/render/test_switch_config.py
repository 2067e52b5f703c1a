"""Configuration of Ethernet switches: every planned port has its own, and both ends of a link fit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from rackwright.catalogue.load import load as load_catalogue
from rackwright.errors import UsageError
from rackwright.plan.build import build
from rackwright.plan.fabric.cables import cables
from rackwright.render.fabric import lldp
from rackwright.render.fabric.network import network
from rackwright.render.switch import nvue, sonic
from rackwright.render.switch.model import Port, Switch, switches
from rackwright.validate.fabric.compare import compare
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Planner = Callable[..., Plan]

SHAPES: dict[str, dict[str, Any]] = {
    "rail": {"unit_nodes": 8},
    "tor": {"attach": "tor", "unit_nodes": 4},
    "dual-tor": {"attach": "dual-tor", "unit_nodes": 4},
    "planes": {"unit_nodes": 8, "planes": 2},
    "three tiers": {"unit_nodes": 8, "tiers": 3, "oversubscription": {"leaf": 2}},
}
BREAKOUT = {"unit_nodes": 8, "breakout": 2, "switch": "sn5600"}


@pytest.fixture(scope="module", params=[*SHAPES.values(), BREAKOUT], ids=[*SHAPES, "breakout"])
def plan(request: pytest.FixtureRequest, ethernet_plan: Planner) -> Plan:
    return ethernet_plan(**request.param)


def by_name(plan: Plan) -> dict[str, Switch]:
    return {switch.name: switch for switch in switches(plan, "compute")}


def test_every_port_of_the_plan_is_configured_once(plan: Plan) -> None:
    found = by_name(plan)
    planned_ends = {
        (end.device, other.device, other.port)
        for cable in cables(plan, "compute")
        for end, other in ((cable.a, cable.z), (cable.z, cable.a))
        if end.device in found
    }
    ends = [(name, port.neighbour, port.neighbour_port) for name, one in found.items() for port in one.ports]
    assert len(ends) == len(set(ends))
    assert set(ends) == planned_ends
    assert set(found) == {end for end, *_ in planned_ends}
    for one in found.values():
        places = [(port.cage, port.part) for port in one.ports]
        assert len(set(places)) == len(places)
        assert all(port.part < port.parts for port in one.ports)


def test_both_ends_of_a_link_have_one_rate_and_differ_in_their_as(plan: Plan) -> None:
    found = by_name(plan)
    for one in found.values():
        for port in one.links:
            other = found[port.neighbour]
            back = [there for there in other.links if there.neighbour == one.name]
            assert {there.rate_gbps for there in back} == {port.rate_gbps}
            assert other.asn != one.asn
            assert other.settings.mtu == one.settings.mtu


def test_each_leaf_has_an_as_of_its_own_and_spines_of_a_pod_share_one(plan: Plan) -> None:
    found = by_name(plan)
    leaves = [one.asn for one in found.values() if one.role == "leaf"]
    assert len(set(leaves)) == len(leaves)
    for one in found.values():
        if one.role == "leaf":
            assert len({found[port.neighbour].asn for port in one.links}) == 1
    assert len({one.loopback for one in found.values()}) == len(found)
    assert all(4_200_000_000 <= one.asn <= 4_294_967_294 for one in found.values())


def test_nvue_has_them_all(plan: Plan) -> None:
    for one in by_name(plan).values():
        (document,) = YAML(typ="safe", pure=True).load(nvue.write(one))
        tree = document["set"]
        mtus = {tree["interface"][nvue.name(port)]["link"]["mtu"] for port in one.ports}
        assert mtus == {one.settings.mtu}
        split = {port.cage: port.parts for port in one.ports if port.parts > 1}
        for cage, parts in split.items():
            assert tree["interface"][f"swp{cage}"]["link"]["breakout"] == {f"{parts}x": {}}
        assert set(tree["vrf"]["default"]["router"]["bgp"]["neighbor"]) == {
            nvue.name(port) for port in one.links
        }
        access = {
            name: made["bridge"]["domain"]["br_default"]["access"]
            for name, made in tree["interface"].items()
            if "bridge" in made
        }
        assert set(access) == {
            nvue.bond(port.segment) if port.segment else nvue.name(port)
            for port in one.ports
            if port.rail is not None
        }
        assert {str(vlan) for vlan in access.values()} == set(
            tree.get("bridge", {"domain": {"br_default": {"vlan": {}}}})["domain"]["br_default"]["vlan"]
        )
        assert tree["qos"]["roce"] == {"enable": "on", "mode": "lossless"}


def test_sonic_has_them_all_and_names_nothing_that_is_not_there(plan: Plan) -> None:
    for one in by_name(plan).values():
        tables = json.loads(sonic.write(one))
        names = {sonic.name(one, port) for port in one.ports}
        assert len(names) == len(one.ports), "two ports begin at one lane"
        for table in ("PORT", "PORT_QOS_MAP"):
            assert set(tables[table]) == names
        assert {key for key in tables["PFC_WD"] if key != "GLOBAL"} == names
        for table in ("QUEUE", "BUFFER_PG"):
            assert {key.partition("|")[0] for key in tables[table]} == names
        linked = {sonic.name(one, port) for port in one.links}
        assert set(tables["INTERFACE"]) == linked
        assert {key.split("|")[1] for key in tables["BGP_NEIGHBOR"]} == linked
        bonds = dict(map(_pair, tables.get("PORTCHANNEL_MEMBER", {})))
        members = {key.split("|")[1] for key in tables.get("VLAN_MEMBER", {})}
        assert {bonds.get(member, member) for member in members} == names - linked
        for table in ("PORTCHANNEL", "EVPN_ETHERNET_SEGMENT"):
            assert set(tables.get(table, {})) == set(bonds)
        assert {key.split("|")[0] for key in tables.get("VLAN_MEMBER", {})} == set(tables.get("VLAN", {}))
        maps = {
            table for table in tables if table.endswith("_MAP") and table not in ("ROUTE_MAP", "PORT_QOS_MAP")
        }
        for port in tables["PORT_QOS_MAP"].values():
            on = {port["pfc_enable"], port["pfcwd_sw_enable"]}
            assert on == {"3"}
            assert set(port.values()) - on == {sonic.QOS}
        assert {"DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP"} <= maps
        whole = {**tables["PORT"], **tables.get("PORTCHANNEL", {})}
        assert all(entry["mtu"] == str(one.settings.mtu) for entry in whole.values() if "mtu" in entry)
        assert {name for name, entry in whole.items() if "mtu" not in entry} == set(bonds.values())
        assert {int(name.removeprefix("Ethernet")) % one.lanes for name in tables["BREAKOUT_CFG"]} == {0}


def _pair(key: str) -> tuple[str, str]:
    one, _, other = key.partition("|")
    return one, other


def test_a_nic_with_two_leaves_is_one_segment_of_both_and_of_nobody_else(ethernet_plan: Planner) -> None:
    """LACP and EVPN know the two links as one by the bond's number and its MAC; each plane has its own."""
    found: dict[tuple[str, str], set[tuple[int, str]]] = {}
    leaves: dict[tuple[int, str], set[str]] = {}
    for one in by_name(ethernet_plan(attach="dual-tor", unit_nodes=4, planes=2)).values():
        for port, segment in one.bonded:
            nic, _, link = port.neighbour_port.partition("/")
            plane = "12".index(link) if link in "12" else 2
            found.setdefault((f"{port.neighbour} {nic}", str(plane // 2)), set()).add(
                (segment.number, segment.mac)
            )
            leaves.setdefault((segment.number, segment.mac), set()).add(one.name)
    assert len(found) == 16 * 8 * 2
    assert all(len(segments) == 1 for segments in found.values())
    assert len({next(iter(segments)) for segments in found.values()}) == len(found)
    assert all(len(names) == 2 for names in leaves.values())


def test_nvue_and_sonic_have_both_ends_of_a_bond_alike(ethernet_plan: Planner) -> None:
    first, second, *_ = by_name(ethernet_plan(attach="dual-tor", unit_nodes=4)).values()
    trees = [YAML(typ="safe", pure=True).load(nvue.write(one))[0]["set"] for one in (first, second)]
    segments = [
        {
            name: made["evpn"]["multihoming"]["segment"]
            for name, made in tree["interface"].items()
            if made["type"] == "bond"
        }
        for tree in trees
    ]
    for name, segment in segments[0].items():
        assert segment["df-preference"] != segments[1][name]["df-preference"]
        assert {**segment, "df-preference": 0} == {**segments[1][name], "df-preference": 0}
    assert all(tree["evpn"]["multihoming"] == {"enable": "on"} for tree in trees)
    assert all(tree["nve"]["vxlan"]["arp-nd-suppress"] == "on" for tree in trees)
    for tree, one in zip(trees, (first, second), strict=True):
        up = {
            name
            for name, made in tree["interface"].items()
            if "uplink" in made.get("evpn", {}).get("multihoming", {})
        }
        assert up == {nvue.name(port) for port in one.links}
    bonds = [json.loads(sonic.write(one))["PORTCHANNEL"] for one in (first, second)]
    assert bonds[0] == bonds[1]


def test_a_watchdog_waits_as_long_as_sonic_itself_would(ethernet_plan: Planner) -> None:
    """200 ms for every 32 ports, and never polled less than once a second."""
    one = by_name(ethernet_plan(**SHAPES["rail"]))["compute-leaf-001"]
    for ports, waits, poll in ((8, "200", "200"), (33, "400", "400"), (256, "1600", "1000")):
        busy = replace(one, ports=tuple(replace(one.ports[0], cage=n) for n in range(1, ports + 1)))
        watch = json.loads(sonic.write(busy))["PFC_WD"]
        assert watch.pop("GLOBAL") == {"POLL_INTERVAL": poll}
        assert {row["detection_time"] for row in watch.values()} == {waits}


@pytest.mark.parametrize(
    ("port", "in_nvue", "in_sonic"),
    [
        (Port(1, 0, 1, 800, None, "x", "1", None), "swp1", "Ethernet0"),
        (Port(3, 0, 2, 400, None, "x", "1", None), "swp3s0", "Ethernet16"),
        (Port(3, 1, 2, 400, None, "x", "1", None), "swp3s1", "Ethernet20"),
        (Port(64, 3, 4, 200, None, "x", "1", None), "swp64s3", "Ethernet510"),
    ],
)
def test_names_of_ports(ethernet_plan: Planner, port: Port, in_nvue: str, in_sonic: str) -> None:
    one = by_name(ethernet_plan(**SHAPES["rail"]))["compute-leaf-001"]
    assert (nvue.name(port), sonic.name(one, port)) == (in_nvue, in_sonic)


def test_a_tree_that_grows_changes_no_number(ethernet_plan: Planner) -> None:
    small, big = by_name(ethernet_plan(16, unit_nodes=8)), by_name(ethernet_plan(32, unit_nodes=8))
    assert {name: (one.asn, one.loopback) for name, one in small.items()} == {
        name: (big[name].asn, big[name].loopback) for name in small
    }


@pytest.mark.parametrize(
    ("settings", "topology", "said"),
    [
        ({"mtu": 9000}, {"unit_nodes": 8}, "do not fit into a tunnel"),
        ({"loopbacks": "10.255.0.0/28"}, {"unit_nodes": 8}, "loopbacks is too small"),
        ({"dscp": 48}, {"unit_nodes": 8}, "have one mark"),
    ],
)
def test_refused(
    ethernet_plan: Planner, settings: dict[str, Any], topology: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        switches(ethernet_plan(16, settings, **topology), "compute")
    assert said in caught.value.message
    assert caught.value.where == "fabrics.compute"


def test_a_range_of_loopbacks_is_too_small_from_the_first_switch_on_that_it_does_not_hold(
    ethernet_plan: Planner,
) -> None:
    """16 leaves, numbered from 1; of four blocks of 16 addresses the first is the network's own."""
    with pytest.raises(UsageError, match="too small") as caught:
        switches(ethernet_plan(16, {"loopbacks": "10.255.0.0/26"}, unit_nodes=8), "compute")
    assert (caught.value.got, caught.value.expected) == (
        "10.255.0.0/26, 16 for each tier of a plane",
        "more than 16 for each",
    )
    assert switches(ethernet_plan(16, {"loopbacks": "10.255.0.0/25"}, unit_nodes=8), "compute")


@pytest.mark.parametrize("missing", ["switches", "lanes", "ethernet"])
def test_what_is_not_known_of_switches_is_refused(
    ethernet_plan: Planner, make_loaded: Callable[..., LoadedSpec], missing: str
) -> None:
    plan = ethernet_plan(16, unit_nodes=8)
    if missing == "switches":
        silent = plan.fabrics["compute"].model_copy(update={"switches": None})
        plan = plan.model_copy(update={"fabrics": {"compute": silent}})
    elif missing == "lanes":
        silent_ = plan.cabling["compute"].model_copy(update={"cage_lanes": None})
        plan = plan.model_copy(update={"cabling": {"compute": silent_}})
    else:
        plan = build(make_loaded(superpod.values(32)), load_catalogue(), None)[0]
    with pytest.raises(UsageError) as caught:
        switches(plan, "compute")
    assert caught.value.where == "fabrics.compute"
    assert (caught.value.got, caught.value.expected) == {
        "switches": ("no `switches`", "switches: {os: cumulus, loopbacks: 10.255.0.0/20}"),
        "lanes": ("sn5600-2x400", "lanes"),
        "ethernet": ("infiniband", "ethernet"),
    }[missing]


def test_a_cage_that_would_be_split_in_two_ways_is_refused(ethernet_plan: Planner) -> None:
    """The last of 43 node links and the first of 85 slower uplinks have the 22nd cage of a leaf."""
    plan = ethernet_plan(43, unit_nodes=43, uplink_speed="200g", oversubscription={"leaf": 1.0118})
    with pytest.raises(UsageError) as caught:
        switches(plan, "compute")
    assert caught.value.got == "cage 22 of compute-leaf-001: 2 of 400 Gb/s, and 2 of 200 Gb/s"
    assert switches(ethernet_plan(42, unit_nodes=42, uplink_speed="200g"), "compute")


def test_marks_of_roce_go_where_the_spec_says(ethernet_plan: Planner) -> None:
    one = by_name(ethernet_plan(16, {"dscp": 24}, unit_nodes=8))["compute-leaf-001"]
    marks = json.loads(sonic.write(one))["DSCP_TO_TC_MAP"]["ROCE"]
    assert {mark: tc for mark, tc in marks.items() if tc != "0"} == {"24": "3", "48": "6"}
    (document,) = YAML(typ="safe", pure=True).load(nvue.write(one))
    mapping = document["set"]["qos"]["mapping"]["default-global"]
    assert mapping == {"trust": "both", "dscp": {"24": {"switch-priority": 3}}}


def test_marks_in_each_others_place_are_mapped(ethernet_plan: Planner) -> None:
    one = by_name(ethernet_plan(16, {"dscp": 48, "cnp_dscp": 26}, unit_nodes=8))["compute-leaf-001"]
    (document,) = YAML(typ="safe", pure=True).load(nvue.write(one))
    assert document["set"]["qos"]["mapping"]["default-global"]["dscp"] == {
        "26": {"switch-priority": 6},
        "48": {"switch-priority": 3},
    }


def test_what_lldp_tells_by_these_names_is_the_plan(ethernet_plan: Planner) -> None:
    """Of cages that are split, too: each part is a port of the plan, or a tail of one."""
    for shape in (SHAPES["rail"], SHAPES["tor"], BREAKOUT):
        plan = ethernet_plan(**shape)
        texts = {one.name: json.dumps({"lldp": {"interface": heard(one)}}) for one in by_name(plan).values()}
        intended = network(plan, "compute")
        found = compare(intended, lldp.read(texts, plan, "compute", intended))
        assert found.differences == ()
        assert found.agreed * 2 == len(intended.links)


def heard(one: Switch) -> list[dict[str, Any]]:
    """As lldpctl prints it on a switch: nodes call their ports by interface, switches as the plan does."""
    return [
        {
            nvue.name(port): {
                "chassis": {port.neighbour: {}},
                "port": {"id": {"type": "ifname", "value": port.neighbour_port.removesuffix("/1")}},
            }
        }
        for port in one.ports
    ]
