"""A network and the fabric it should be, in; the files of its subnet manager, opensm, out.

Roots and compute nodes are listed, so that a missing cable costs its own bandwidth and not the
fat-tree routing of the whole fabric (facts of opensm's ftree: doc/current-routing.txt).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.plan.fabric.cables import Roster, switch_name
from rackwright.render.fabric.network import Plug, hca_name
from rackwright.render.templates import render

if TYPE_CHECKING:
    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Network

HIGHEST = 15
"""Priority of a subnet manager; the standby's is lower (InfiniBand Architecture Specification 14.4)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files lie on the host that runs opensm."""

    folder: str = "/etc/opensm"
    log: str = "/var/log/opensm.log"


def files(plan: Plan, fabric: str, network: Network, place: Place, priority: int = HIGHEST) -> dict[str, str]:
    """Name → text of every file.

    Args:
        plan: the plan.
        fabric: that is managed.
        network: with the GUIDs of its devices, planned or found.
        place: where the files will lie.
        priority: of this manager; that of a standby is lower.

    Raises:
        UsageError: one switch a rail: there is nothing to route.
    """
    values = {"fabric": fabric, "folder": place.folder, "log": place.log, "priority": priority}
    return {
        "opensm.conf": render("fabric/opensm.conf.j2", values),
        "partitions.conf": render("fabric/partitions.conf.j2", values),
        "root_guids.txt": _lines(roots(plan, fabric, network)),
        "cn_guids.txt": _lines(compute(plan, fabric, network)),
    }


def _lines(guids: list[str]) -> str:
    return "".join(f"0x{guid}\n" for guid in guids)


def roots(plan: Plan, fabric: str, network: Network) -> list[str]:
    """Node GUIDs of the switches of the top tier that are in a network."""
    roster = Roster(plan, fabric)
    tree = roster.cabling.tree
    if tree is None:
        raise UsageError(
            "one switch a rail has no routing to prove",
            where=f"fabrics.{fabric}.topology",
            got="kind rails",
            expected="a fat tree",
        )
    top = "core" if tree.cores else "spine"
    names = {
        switch_name(fabric, tier, number)
        for plane in range(1, tree.planes + 1)
        for tier in (roster.tier(top, plane),)
        for number in range(1, tree.sizes()[tier] + 1)
    }
    return sorted(one.guid for one in network.devices.values() if one.is_switch and one.name in names)


def compute(plan: Plan, fabric: str, network: Network) -> list[str]:
    """Port GUIDs of the nodes' adapters in a network: their node GUID and the port's number."""
    roster = Roster(plan, fabric)
    names = {
        hca_name(node, rail)
        for node, labels, _ in roster.nodes.values()
        for rail in range(1, len(labels) + 1)
    }
    return sorted(
        f"{int(one.guid, 16) + port:016x}"
        for one in network.devices.values()
        if not one.is_switch and one.name in names
        for port in range(1, one.ports + 1)
        if Plug(one.id, port) in network.links
    )
