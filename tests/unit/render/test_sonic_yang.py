"""config_db.json against what SONiC's YANG models say: every table, key and field, and whom they name."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from rackwright.render.switch import sonic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.render.switch.model import Switch

    Tables = dict[str, dict[str, dict[str, Any]]]

MODELS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("sonic_yang.yaml").read_text(encoding="utf-8")
)
SHAPES: dict[str, dict[str, Any]] = {
    "rail": {"unit_nodes": 8},
    "dual-tor": {"attach": "dual-tor", "unit_nodes": 4},
    "planes": {"attach": "dual-tor", "unit_nodes": 4, "planes": 2},
    "breakout": {"unit_nodes": 8, "breakout": 2, "switch": "sn5600"},
}


@pytest.fixture(scope="module", params=SHAPES)
def switches(request: pytest.FixtureRequest, ethernet_switches: Callable[..., list[Switch]]) -> list[Switch]:
    return ethernet_switches(**SHAPES[request.param])


def fits(kind: Any, value: str, tables: Tables) -> bool:  # noqa: ANN401 (a kind of the file)
    if isinstance(kind, dict):
        return value == kind.get("or") or any(value in tables.get(table, {}) for table in kind["ref"])
    if isinstance(kind, list):
        return value.isdigit() and kind[0] <= int(value) <= kind[1]
    return re.fullmatch(str(kind), value) is not None


def misfits(tables: Tables) -> Iterator[str]:
    """What SONiC would not take of the tables."""
    for table, rows in tables.items():
        model = MODELS.get(table)
        if model is None:
            yield f"{table}: no such table"
            continue
        if len(rows) > model.get("most", len(rows)):
            yield f"{table}: more than {model['most']}"
        for key, row in rows.items():
            yield from (f"{table}|{key}: {what}" for what in _key(model, key, tables))
            yield from (f"{table}|{key}: {what}" for what in _row(model, row, tables))
    yield from _musts(tables)


def _key(model: dict[str, Any], key: str, tables: Tables) -> Iterator[str]:
    parts = key.split("|")
    kinds = model["key"][: len(parts)] if len(parts) >= model.get("optional_key", 9) else model["key"]
    if len(parts) != len(kinds) or not all(map(fits, kinds, parts, [tables] * len(parts))):
        yield "not such a key"


def _row(model: dict[str, Any], row: dict[str, Any], tables: Tables) -> Iterator[str]:
    if "entries" in model:
        one, other = model["entries"]
        yield from (
            f"{key} to {value}"
            for key, value in row.items()
            if not (fits(one, key, tables) and fits(other, value, tables))
        )
        return
    for field, value in row.items():
        values = value if isinstance(value, list) else [value]
        kind = model["fields"].get(field)
        if kind is None or not all(isinstance(one, str) and fits(kind, one, tables) for one in values):
            yield f"{field} = {value}"
    yield from (f"no {field}" for field in model.get("mandatory", ()) if field not in row)


def _musts(tables: Tables) -> Iterator[str]:
    """`must` statements of sonic-vlan, -portchannel, -pfcwd, -wred-profile and -evpn."""
    bonded = (key.split("|") for key in tables.get("PORTCHANNEL_MEMBER", {}))
    members = {port: bond for bond, port in bonded}
    for port, bond in members.items():
        if (
            tables["PORT"][port].get("mtu", tables["PORTCHANNEL"][bond]["mtu"])
            != (tables["PORTCHANNEL"][bond]["mtu"])
        ):
            yield f"{port}: another MTU than its bond"
    ports = [key.split("|")[1] for key in tables.get("VLAN_MEMBER", {})]
    yield from (f"{port}: untagged twice" for port in set(ports) if ports.count(port) > 1)
    yield from (f"{port}: in a VLAN and in a bond" for port in ports if port in members)
    yield from (f"{port}: in a VLAN and routed" for port in ports if port in tables["INTERFACE"])
    yield from (
        f"{key}: VLAN" for key, row in tables.get("VLAN", {}).items() if key != f"Vlan{row['vlanid']}"
    )
    poll = int(tables["PFC_WD"]["GLOBAL"]["POLL_INTERVAL"])
    for key, row in tables["PFC_WD"].items():
        if key != "GLOBAL" and min(int(row["detection_time"]), int(row["restoration_time"])) < poll:
            yield f"{key}: watched faster than polled"
    for key, row in tables["WRED_PROFILE"].items():
        if int(row["green_max_threshold"]) < int(row["green_min_threshold"]):
            yield f"{key}: all are marked before some are"
    for key, row in tables.get("EVPN_ETHERNET_SEGMENT", {}).items():
        if (row["type"] == "TYPE_0_OPERATOR_CONFIGURED") == (row["esi"] == "AUTO"):
            yield f"{key}: ESI and its type"


def test_the_models_take_all_that_is_rendered(switches: list[Switch]) -> None:
    for one in switches:
        assert list(misfits(json.loads(sonic.write(one)))) == [], one.name


def test_every_table_that_is_known_is_rendered_for_some_leaf(
    ethernet_switches: Callable[..., list[Switch]],
) -> None:
    """Else the file of facts would tell of what nobody writes."""
    found = {
        table for one in ethernet_switches(**SHAPES["dual-tor"]) for table in json.loads(sonic.write(one))
    }
    assert found == set(MODELS)


@pytest.mark.parametrize(
    ("table", "key", "row", "said"),
    [
        ("BGP_NEIGHBOR", "default|Ethernet1", {"peer_type": "external"}, "not such a key"),
        ("BGP_NEIGHBOR", None, {"admin_status": "true"}, "admin_status = true"),
        ("ROUTE_MAP_SET", "", {}, "route_map_in"),
        ("PORT", None, {"mtu": "9217"}, "mtu = 9217"),
        ("PORT", None, {"colour": "red"}, "colour = red"),
        ("PFC_WD", "GLOBAL", {"POLL_INTERVAL": "900"}, "watched faster than polled"),
        ("PORTCHANNEL", None, {"mtu": "1500", "admin_status": "up"}, "in a VLAN and in a bond"),
        ("EVPN_ETHERNET_SEGMENT", None, {"esi": "AUTO", "type": "TYPE_0_OPERATOR_CONFIGURED"}, "ESI"),
        ("TELEMETRY", "gnmi", {}, "no such table"),
    ],
)
def test_what_the_models_refuse_is_seen(
    ethernet_switches: Callable[..., list[Switch]],
    table: str,
    key: str | None,
    row: dict[str, str],
    said: str,
) -> None:
    tables = json.loads(sonic.write(ethernet_switches(**SHAPES["dual-tor"])[0]))
    if key == "":
        tables[table] = {}
    else:
        rows = tables.setdefault(table, {})
        rows[next(iter(rows)) if key is None else key] = row
    if table == "PORTCHANNEL":
        port = next(iter(tables["PORTCHANNEL_MEMBER"])).split("|")[1]
        tables["VLAN_MEMBER"][f"Vlan101|{port}"] = {"tagging_mode": "untagged"}
    assert any(said in what for what in misfits(tables))
