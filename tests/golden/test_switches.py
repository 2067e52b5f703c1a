"""Configuration of a small Ethernet tree's switches, to the byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.plan.build import build
from rackwright.render.switch import nvue, sonic
from rackwright.render.switch.model import switches
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.catalogue.load import Catalogue
    from rackwright.spec.load import LoadedSpec

WRITERS = {"cumulus": (nvue.write, "yaml"), "sonic": (sonic.write, "json")}


@pytest.mark.parametrize("attach", ["rail", "dual-tor"])
@pytest.mark.parametrize("system", WRITERS)
def test_a_leaf_and_a_spine(
    make_loaded: Callable[..., LoadedSpec],
    catalogue: Catalogue,
    golden: Callable[[str, str], None],
    system: str,
    attach: str,
) -> None:
    """Two nodes of two NICs: cages that are split in two; one rail a leaf, or all of both leaves."""
    values = superpod.values(2, unit_nodes=2, switch="sn5600-2x400", attach=attach)
    values["pools"]["gpu"]["fabrics"] = {"compute": {"nics": 2}}
    values["fabrics"]["compute"] = {
        "kind": "ethernet",
        "speed": "400g",
        "topology": values["fabrics"]["compute"]["topology"],
        "switches": {"os": system, "loopbacks": "10.255.0.0/24"},
    }
    plan = build(make_loaded(values), catalogue, None)[0]
    write, ending = WRITERS[system]
    made = {one.name: write(one) for one in switches(plan, "compute")}
    assert list(made) == ["compute-leaf-001", "compute-leaf-002", "compute-spine-001"]
    folder = f"switches/{system}" if attach == "rail" else f"switches/{system}/{attach}"
    for name in ("compute-leaf-001", "compute-spine-001"):
        golden(f"{folder}/{name}.{ending}", made[name])
