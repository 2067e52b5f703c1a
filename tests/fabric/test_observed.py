"""What real tools print of a simulated network is read, and compares as the plan says."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from rackwright.render.fabric import iblinkinfo, ibnetdiscover
from rackwright.render.fabric.network import Network, network
from rackwright.validate.fabric.compare import Kind, compare
from rackwright.validate.fabric.simulation import simulated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.plan.model import Plan

    Pod = Callable[..., Plan]

pytestmark = pytest.mark.usefixtures("tools")


def printed(net: Network, folder: Path, *command: str) -> str:
    """What a tool of infiniband-diags prints of a network."""
    program = shutil.which(command[0], path="/usr/sbin:/usr/bin")
    if program is None:
        pytest.skip(f"{command[0]} is not installed: apt-get install infiniband-diags")
    at = next(one.id for one in net.devices.values() if not one.is_switch)
    with simulated(net, at, folder, 60) as simulation:
        ran = subprocess.run(
            [program, *command[1:]],
            env=simulation.environment,
            cwd=simulation.folder,
            capture_output=True,
            text=True,
            check=True,
        )
    return ran.stdout


def as_simulated(net: Network) -> Network:
    """Every link is EDR in the simulation."""
    return Network(net.devices, {plug: link._replace(speed="4xEDR") for plug, link in net.links.items()})


@pytest.mark.parametrize("tool", ["ibnetdiscover", "iblinkinfo"])
def test_a_healthy_network_is_as_planned(pod: Pod, tmp_path: Path, tool: str) -> None:
    planned = as_simulated(network(pod(31, manager_uplinks=4), "compute"))
    found = compare(planned, observed(tool, planned, planned, tmp_path))
    assert found.differences == ()
    assert found.agreed == 252 + 256


@pytest.mark.parametrize("tool", ["ibnetdiscover", "iblinkinfo"])
def test_crossed_rails_and_a_missing_uplink_are_found(pod: Pod, tmp_path: Path, tool: str) -> None:
    plan = pod(31, manager_uplinks=4)
    planned, built = as_simulated(network(plan, "compute")), as_simulated(network(plan, "compute"))
    names = {one.name: one.id for one in built.devices.values()}
    one, other = (
        next(plug for plug in built.links if plug.device == names[f"gpu-004 HCA-{n}"]) for n in (3, 6)
    )
    at_one, at_other = built.links[one].peer, built.links[other].peer
    built.join(one, at_other, "4xEDR")
    built.join(other, at_one, "4xEDR")
    uplink = next(
        plug for plug in built.links if plug.device == names["compute-leaf-002"] and plug.port == 40
    )
    del built.links[built.links.pop(uplink).peer]
    found = compare(planned, observed(tool, planned, built, tmp_path))
    assert sorted(one.kind for one in found.differences) == [Kind.CROSSED_RAILS, Kind.MISSING]


def observed(tool: str, planned: Network, built: Network, folder: Path) -> Network:
    if tool == "ibnetdiscover":
        return ibnetdiscover.read(printed(built, folder, "ibnetdiscover"), tool)
    return iblinkinfo.read(printed(built, folder, "iblinkinfo", "--line"), tool, planned)
