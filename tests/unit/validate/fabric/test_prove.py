"""What is refused before opensm is run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.load import load as load_catalogue
from rackwright.errors import UsageError
from rackwright.plan.build import build
from rackwright.render.fabric.network import Network, network
from rackwright.validate.fabric.prove import prove
from tests.doubles import superpod

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.spec.load import LoadedSpec


@pytest.mark.parametrize("built", [False, True])
def test_a_network_without_a_node_has_no_port_for_its_manager(
    make_loaded: Callable[..., LoadedSpec], tmp_path: Path, *, built: bool
) -> None:
    """Everybody has left the fabric, or the dump has switches, and an adapter that hangs on nothing."""
    catalogue, values = load_catalogue(), superpod.values(32)
    plan, lock = build(make_loaded(values), catalogue, None)
    whole = network(plan, "compute")
    values["pools"]["gpu"]["fabrics"] = {}
    left = build(make_loaded(values), catalogue, lock)[0]
    alone = {id_: one for id_, one in whole.devices.items() if one.is_switch or one.name == "gpu-001 HCA-1"}
    links = {
        plug: link
        for plug, link in whole.links.items()
        if plug.device[0] == "S" and link.peer.device[0] == "S"
    }
    with pytest.raises(UsageError) as caught:
        prove(left, "compute", 1, tmp_path, Network(alone, links) if built else None)
    devices = 13 if built else 12
    assert caught.value.where == "fabrics.compute"
    assert caught.value.got == f"{devices} devices, none of them an adapter with a cable"
