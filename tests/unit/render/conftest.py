"""A hall whose nodes hang on an Ethernet fat tree, planned."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.catalogue.load import load as load_catalogue
from rackwright.plan.build import build
from rackwright.render.switch.model import Switch, switches
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

    Planner = Callable[..., Plan]


@pytest.fixture(scope="module")
def ethernet_plan(make_loaded: Callable[..., LoadedSpec]) -> Planner:
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


@pytest.fixture(scope="module")
def ethernet_switches(ethernet_plan: Planner) -> Callable[..., list[Switch]]:
    """Of such a hall."""
    return lambda **topology: switches(ethernet_plan(**topology), "compute")
