"""A network and the fabric it should be, in; the files of its subnet manager, opensm, out.

Roots and compute nodes are listed, so that a missing cable costs its own bandwidth and not the
fat-tree routing of the whole fabric (facts of opensm's ftree: doc/current-routing.txt).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.plan.fabric.cables import Roster, switch_name
from rackwright.plan.fabric.subnets import HIGHEST
from rackwright.render.fabric.network import Plug, hca_name
from rackwright.render.templates import render

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Network

STANDBY_WAITS_S = 20
"""Before a standby's opensm begins. Two that begin in one second can both become master: each asks the other
who it is before that one answers, and neither asks again (opensm 3.3.23 on ibsim, one start of three). One
that begins later finds its master, or takes over."""
LISTS = {"root_guid_file": "root_guids.txt", "cn_guid_file": "cn_guids.txt"}
"""Key of opensm.conf → the file that it names."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files lie on the host that runs opensm."""

    folder: str
    log: str


def on_host(subnet: str) -> Place:
    """Where the role `subnet_manager` lays the files of a subnet."""
    return Place(f"/etc/rackwright/opensm/{subnet}", f"/var/log/rackwright-opensm/{subnet}.log")


@dataclass(frozen=True, slots=True)
class Seat:
    """One manager of a subnet."""

    priority: int = HIGHEST
    guid: str | None = None
    """Of the port that it manages by; None for the first that is up."""


def files(plan: Plan, fabric: str, network: Network | None, place: Place, seat: Seat) -> dict[str, str]:
    """Name → text of every file.

    Args:
        plan: the plan.
        fabric: that is managed.
        network: with the GUIDs of its devices, planned or found. Without one nothing is listed, and
            opensm finds roots and compute nodes itself, which it can as long as no cable is wrong.
        place: where the files will lie.
        seat: of this manager.

    Raises:
        UsageError: a network is given, and the fabric has one switch a rail: it has no roots to list.
    """
    lists = {} if network is None else _lists(plan, fabric, network)
    keys = {key: name for key, name in LISTS.items() if name in lists}
    values = {"fabric": fabric, "place": place, "seat": seat, "lists": keys}
    return {
        "opensm.conf": render("fabric/opensm.conf.j2", values),
        "partitions.conf": render("fabric/partitions.conf.j2", values),
        **lists,
    }


def _lists(plan: Plan, fabric: str, network: Network) -> dict[str, str]:
    guids = (roots(plan, fabric, network), compute(plan, fabric, network))
    return {name: _lines(found) for name, found in zip(LISTS.values(), guids, strict=True)}


def of_hosts(plan: Plan, found: Mapping[str, Network]) -> Iterator[tuple[str, str]]:
    """Path and text of the files of every manager, each in a folder of its slot and subnet.

    Args:
        plan: the plan.
        found: subnet → the network that was found in it, of those that were looked at.
    """
    for name, subnet in plan.subnets.items():
        for manager in subnet.managers:
            seat = Seat(manager.priority, manager.guid)
            texts = files(plan, subnet.fabric, found.get(name), on_host(name), seat)
            waits_s = 0 if manager.priority == HIGHEST else STANDBY_WAITS_S
            values = {"fabric": subnet.fabric, "waits_s": waits_s}
            texts["opensm.env"] = render("fabric/opensm.env.j2", values)
            yield from ((f"{manager.slot}/{name}/{path}", text) for path, text in texts.items())


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
