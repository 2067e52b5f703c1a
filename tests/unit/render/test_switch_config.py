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
    "planes": {"unit_nodes": 8, "planes": 2},
    "three tiers": {"unit_nodes": 8, "tiers": 3, "oversubscription": {"leaf": 2}},
}
BREAKOUT = {"unit_nodes": 8, "breakout": 2, "switch": "sn5600"}


@pytest.fixture(scope="module")
def planned(make_loaded: Callable[..., LoadedSpec]) -> Planner:
    catalogue = load_catalogue()
    platform = catalogue.platforms["dgx-h100"]
    ports = {
        name: group.model_copy(update={"kinds": ("ethernet",)}) for name, group in platform.ports.items()
    }
    ethernet = replace(
        catalogue, platforms={**catalogue.platforms, "dgx-h100": platform.model_copy(update={"ports": ports})}
    )

    def plan(nodes: int = 16, settings: dict[str, Any] | None = None, **topology: Any) -> Plan:  # noqa: ANN401 (YAML)
        values = superpod.values(nodes, **{"switch": "sn5600-2x400", **topology})
        values["fabrics"]["compute"] = {
            "kind": "ethernet",
            "speed": "400g",
            "mtu": 9000,
            "switches": {"os": "sonic", "loopbacks": "10.255.0.0/20", **(settings or {})},
            "topology": values["fabrics"]["compute"]["topology"],
        }
        return build(make_loaded(values), ethernet, None)[0]

    return plan


@pytest.fixture(scope="module", params=[*SHAPES.values(), BREAKOUT], ids=[*SHAPES, "breakout"])
def plan(request: pytest.FixtureRequest, planned: Planner) -> Plan:
    return planned(**request.param)


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
        assert set(access) == {nvue.name(port) for port in one.ports if port.rail is not None}
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
        members = {key.split("|")[1] for key in tables.get("VLAN_MEMBER", {})}
        assert members == names - linked
        assert {key.split("|")[0] for key in tables.get("VLAN_MEMBER", {})} == set(tables.get("VLAN", {}))
        maps = {
            table for table in tables if table.endswith("_MAP") and table not in ("ROUTE_MAP", "PORT_QOS_MAP")
        }
        for port in tables["PORT_QOS_MAP"].values():
            assert {value for key, value in port.items() if key != "pfc_enable"} == {sonic.QOS}
        assert {"DSCP_TO_TC_MAP", "TC_TO_QUEUE_MAP"} <= maps
        assert all(entry["mtu"] == str(one.settings.mtu) for entry in tables["PORT"].values())
        assert {int(name.removeprefix("Ethernet")) % one.lanes for name in tables["BREAKOUT_CFG"]} == {0}


@pytest.mark.parametrize(
    ("port", "in_nvue", "in_sonic"),
    [
        (Port(1, 0, 1, 800, None, "x", "1", None), "swp1", "Ethernet0"),
        (Port(3, 0, 2, 400, None, "x", "1", None), "swp3s0", "Ethernet16"),
        (Port(3, 1, 2, 400, None, "x", "1", None), "swp3s1", "Ethernet20"),
        (Port(64, 3, 4, 200, None, "x", "1", None), "swp64s3", "Ethernet510"),
    ],
)
def test_names_of_ports(planned: Planner, port: Port, in_nvue: str, in_sonic: str) -> None:
    one = by_name(planned(**SHAPES["rail"]))["compute-leaf-001"]
    assert (nvue.name(port), sonic.name(one, port)) == (in_nvue, in_sonic)


def test_a_tree_that_grows_changes_no_number(planned: Planner) -> None:
    small, big = by_name(planned(16, unit_nodes=8)), by_name(planned(32, unit_nodes=8))
    assert {name: (one.asn, one.loopback) for name, one in small.items()} == {
        name: (big[name].asn, big[name].loopback) for name in small
    }


@pytest.mark.parametrize(
    ("settings", "topology", "said"),
    [
        ({"mtu": 9000}, {"unit_nodes": 8}, "do not fit into a tunnel"),
        ({"loopbacks": "10.255.0.0/28"}, {"unit_nodes": 8}, "loopbacks is too small"),
        ({}, {"unit_nodes": 4, "attach": "dual-tor"}, "one bond"),
    ],
)
def test_refused(planned: Planner, settings: dict[str, Any], topology: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        switches(planned(16, settings, **topology), "compute")
    assert said in caught.value.message
    assert caught.value.where == "fabrics.compute"


def test_marks_of_roce_go_where_the_spec_says(planned: Planner) -> None:
    one = by_name(planned(16, {"dscp": 24}, unit_nodes=8))["compute-leaf-001"]
    marks = json.loads(sonic.write(one))["DSCP_TO_TC_MAP"]["ROCE"]
    assert {mark: tc for mark, tc in marks.items() if tc != "0"} == {"24": "3", "48": "6"}
    (document,) = YAML(typ="safe", pure=True).load(nvue.write(one))
    assert document["set"]["qos"]["mapping"]["default-global"]["dscp"] == {"24": {"switch-priority": 3}}


def test_what_lldp_tells_by_these_names_is_the_plan(planned: Planner) -> None:
    """Of cages that are split, too: each part is a port of the plan, or a tail of one."""
    for shape in (SHAPES["rail"], SHAPES["tor"], BREAKOUT):
        plan = planned(**shape)
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
