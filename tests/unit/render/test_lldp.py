"""What lldpctl says on hosts and switches of an Ethernet fabric, as the network that they tell of."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import UsageError
from rackwright.plan.build import build
from rackwright.render.fabric import lldp
from rackwright.render.fabric.network import network
from rackwright.validate.fabric.compare import Kind, compare
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

INTERFACES = ("ibp24s0", "ibp64s0", "ibp79s0", "ibp94s0", "ibp154s0", "ibp192s0", "ibp206s0", "ibp220s0")


@pytest.fixture
def plan(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    values = superpod.values(4, unit_nodes=4)
    values["fabrics"]["compute"] = {
        "kind": "ethernet",
        "speed": "400g",
        "topology": values["fabrics"]["compute"]["topology"],
    }
    qm9700 = catalogue.switches["qm9700"].model_copy(update={"kinds": ("ethernet",)})
    return build(make_loaded(values), replace(catalogue, switches={"qm9700": qm9700}), None)[0]


def interface(name: str, neighbour: str, port: dict[str, Any]) -> dict[str, Any]:
    chassis = {neighbour: {"id": {"type": "mac", "value": "02:00:00:00:00:01"}}}
    return {name: {"via": "LLDP", "chassis": chassis, "port": port}}


def told(node: int, rails: tuple[int, ...] = tuple(range(8))) -> str:
    """As lldpctl writes it on a node: NIC r hears leaf rails[r]."""
    found = [
        interface(
            INTERFACES[nic], f"compute-leaf-{rail + 1:03d}", {"id": {"type": "ifname", "value": f"swp{node}"}}
        )
        for nic, rail in enumerate(rails)
    ]
    found.append(interface("eno1", "oob-switch", {"id": {"type": "ifname", "value": "swp9"}}))
    return json.dumps({"lldp": {"interface": found}})


def spines(leaf: int) -> str:
    """As a leaf hears its spine; one interface alone is a map and no list."""
    ports = [
        interface(
            f"swp{61 + n}",
            "compute-spine-001.pod.example",
            {"id": {"type": "mac", "value": "02:…"}, "descr": f"swp{(leaf - 1) * 4 + n + 1}"},
        )
        for n in range(4)
    ]
    return json.dumps({"lldp": {"interface": ports}})


@pytest.fixture
def texts() -> dict[str, str]:
    nodes = {f"gpu-{node:03d}": told(node) for node in (1, 2, 3, 4)}
    return nodes | {f"compute-leaf-{leaf:03d}": spines(leaf) for leaf in range(1, 9)}


def test_a_healthy_fabric_is_as_planned(plan: Plan, texts: dict[str, str]) -> None:
    planned = network(plan, "compute")
    found = compare(planned, lldp.read(texts, plan, "compute", planned))
    assert found.differences == ()
    assert found.agreed == 4 * 8 + 8 * 4


def test_crossed_rails(plan: Plan, texts: dict[str, str]) -> None:
    planned = network(plan, "compute")
    texts["gpu-003"] = told(3, (0, 1, 2, 4, 3, 5, 6, 7))
    (difference,) = compare(planned, lldp.read(texts, plan, "compute", planned)).differences
    assert difference.kind is Kind.CROSSED_RAILS


def test_a_single_interface_is_a_map(plan: Plan, texts: dict[str, str]) -> None:
    planned = network(plan, "compute")
    one = interface(INTERFACES[0], "compute-leaf-001", {"id": {"type": "ifname", "value": "swp1"}})
    found = lldp.read({"gpu-001": json.dumps({"lldp": {"interface": one}})}, plan, "compute", planned)
    assert len(found.links) == 2
    assert texts


@pytest.mark.parametrize(
    ("text", "said"), [("", "Expecting value"), ("[]", "no `lldp`"), ('{"lldp": 3}', "no `lldp`")]
)
def test_what_is_no_answer_of_lldpctl(plan: Plan, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        lldp.read({"gpu-001": text}, plan, "compute", network(plan, "compute"))
    assert said in caught.value.got
    assert "gpu-001" in caught.value.where


@pytest.mark.parametrize(
    ("name", "tail"),
    [
        ("swp12s0", 1),
        ("swp12s1", 2),
        ("etp12a", 1),
        ("etp12b", 2),
        ("Eth1/12/2", 2),
        ("12/1", 1),
        ("12", 0),
        ("swp12", 0),
    ],
)
def test_names_of_ports(name: str, tail: int) -> None:
    port = lldp._SWP.fullmatch(name)  # noqa: SLF001 (its grammar is what is tested)
    assert port is not None
    assert int(port[1] or port[5]) == 12
    assert lldp._tail(port) == tail  # noqa: SLF001
