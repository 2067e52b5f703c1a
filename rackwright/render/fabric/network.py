"""An InfiniBand network as its tools see it: devices with GUIDs and descriptions, their ports and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rackwright.errors import UsageError
from rackwright.plan.fabric.cables import Roster, switch_name
from rackwright.plan.fabric.links import CORE, LEAF, MANAGER, NODE, RAIL, SPINE, links

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.fabric.links import Links
    from rackwright.plan.model import Plan

SPEEDS = {100.0: "4xEDR", 200.0: "4xHDR", 400.0: "4xNDR", 800.0: "4xXDR", 1600.0: "8xXDR"}
"""Rate of a link in Gb/s → width and speed as ibnetdiscover writes them (InfiniBand roadmap)."""
_KINDS = {LEAF: 1, SPINE: 2, CORE: 3, RAIL: 4}


class Device(NamedTuple):
    """A switch, or one adapter of a node."""

    id: str
    """``S-`` or ``H-`` and its node GUID."""
    name: str
    """Its node description; ``h100-001 HCA-3`` is the adapter of the third rail."""
    ports: int

    @property
    def is_switch(self) -> bool:
        """Whether it is a switch."""
        return self.id[0] == "S"

    @property
    def guid(self) -> str:
        """16 hex digits."""
        return self.id[2:]


class Plug(NamedTuple):
    """One port of a device."""

    device: str
    """Its id."""
    port: int


class Link(NamedTuple):
    """What hangs on a port."""

    peer: Plug
    speed: str
    """``4xNDR``; empty where it was not told."""


@dataclass(slots=True)
class Network:
    """Devices and links, by id; each link stands under both of its plugs."""

    devices: dict[str, Device] = field(default_factory=dict)
    links: dict[Plug, Link] = field(default_factory=dict)

    def join(self, one: Plug, other: Plug, speed: str) -> None:
        """A cable between two ports."""
        self.links[one], self.links[other] = Link(other, speed), Link(one, speed)


def hca_name(node: str, rail: int) -> str:
    """Description of a node's adapter on a rail, counted from 1."""
    return f"{node} HCA-{rail}"


def split_port(port: int, lane: int, breakout: int) -> int:
    """A port of a switch as its subnet manager counts them: each tail of a breakout is one."""
    return (port - 1) * breakout + max(lane, 1)


def switch_guid(role: str, plane: int, number: int) -> str:
    """GUID of a switch in simulation; the real one is known when it is delivered."""
    return f"025257{_KINDS[role]:02x}{plane:02x}{number:06x}"


def hca_guid(place: int, rail: int) -> str:
    """GUID of a node's adapter in simulation: its place and rail; its ports' are the next ones."""
    return f"025258{place:06x}{rail:02x}00"


def manager_guid(uplink: int) -> str:
    """GUID of an adapter of the fabric manager in simulation."""
    return f"025259{uplink:08x}00"


def network(plan: Plan, fabric: str, plane: int | None = None) -> Network:
    """The network that a fabric's cables make.

    Args:
        plan: the plan.
        fabric: name of a fabric; the GUIDs and speeds of an Ethernet one mean nothing.
        plane: which of its planes; None for all. Of a single one, a NIC has the links in it, from port 1.

    Raises:
        UsageError: InfiniBand links of a rate that has no name there.
    """
    roster = Roster(plan, fabric)
    made = Network()
    for some in links(roster.cabling):
        if plane in {None, some.plane}:
            _add(made, roster, some, alone=plane is not None)
    return made


def _add(made: Network, roster: Roster, some: Links, *, alone: bool) -> None:
    cabling = roster.cabling
    rate = cabling.rate_gbps if some.roles[0] in {NODE, MANAGER} else cabling.uplink_gbps
    infiniband = roster.plan.fabrics[roster.fabric].kind == "infiniband"
    speed = _speed(rate) if infiniband else ""
    maker = _Maker(made, roster, some.plane, alone)
    lower, upper = maker.plugs(some.roles[0]), maker.plugs(some.roles[1])
    columns = (some.lower, some.lower_port, some.lower_lane, some.upper, some.upper_port, some.upper_lane)
    for a, port, lane, z, other, tail in zip(*(one.tolist() for one in columns), strict=True):
        made.join(lower(a, port, lane), upper(z, other, tail), speed)


def _speed(gbps: float) -> str:
    if gbps not in SPEEDS:
        raise UsageError(
            "InfiniBand has no name for links of this rate",
            got=f"{gbps:g} Gb/s",
            expected=", ".join(f"{rate:g}" for rate in SPEEDS),
        )
    return SPEEDS[gbps]


@dataclass(frozen=True, slots=True)
class _Maker:
    """What makes plugs of number, port and lane; a device is added when it first comes."""

    made: Network
    roster: Roster
    plane: int
    alone: bool
    """Whether adapters show only their links in this plane, from port 1."""

    def plugs(self, role: str) -> Callable[[int, int, int], Plug]:
        """For one role."""
        return {NODE: self._node, MANAGER: self._manager}.get(role) or self._switches(role)

    def _node(self, place: int, rail: int, lane: int) -> Plug:
        name, id_ = hca_name(self.roster.nodes[place][0], rail), f"H-{hca_guid(place, rail)}"
        tree = self.roster.cabling.tree
        return self._adapter(id_, name, lane, tree.links_per_nic if tree else 1)

    def _manager(self, _: int, uplink: int, lane: int) -> Plug:
        return self._adapter(f"H-{manager_guid(uplink)}", hca_name(self.roster.manager(), uplink), lane, 1)

    def _adapter(self, id_: str, name: str, lane: int, each: int) -> Plug:
        """An adapter has `each` links in every plane."""
        before = (self.plane - 1) * each if self.alone else 0
        self.made.devices.setdefault(id_, Device(id_, name, each * (1 if self.alone else self.roster.planes)))
        return Plug(id_, max(lane - before, 1))

    def _switches(self, role: str) -> Callable[[int, int, int], Plug]:
        tree, tier = self.roster.cabling.tree, self.roster.tier(role, self.plane)
        breakout = tree.breakout if tree else 1
        ports = tree.ports * breakout if tree else max(self.roster.nodes, default=0) + 1

        ids: dict[int, str] = {}

        def of_switch(number: int, port: int, lane: int) -> Plug:
            id_ = ids.get(number)
            if id_ is None:
                id_ = ids[number] = f"S-{switch_guid(role, self.plane, number)}"
                name = switch_name(self.roster.fabric, tier, number)
                self.made.devices.setdefault(id_, Device(id_, name, ports))
            return Plug(id_, split_port(port, lane, breakout))

        return of_switch
