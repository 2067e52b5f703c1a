"""A plan in, what each switch of an Ethernet fat tree is to do out, whatever system it runs.

Between switches there is BGP without addresses on links, each leaf in an AS of its own and the spines of
a pod in one (RFC 7938). Above it each rail is one network over all leaves: a VLAN at the ports of its
NICs, joined by VXLAN and EVPN, so that a node's address is that of its slot on whichever leaf it hangs
(docs/decisions/0009-switch-configuration.md).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.plan.fabric.cables import Roster, cables
from rackwright.plan.fabric.links import CORE, LEAF, NODE, SPINE
from rackwright.spec.fabrics import Attach, Ethernet
from rackwright.spec.slots import parse_slot

if TYPE_CHECKING:
    from rackwright.plan.fabric.cables import Cable
    from rackwright.plan.fabric.frame import Frame
    from rackwright.plan.fabric.model import CablingPlan
    from rackwright.plan.model import Plan
    from rackwright.spec.fabrics import SwitchSettings

FIRST_VLAN, FIRST_VNI = 101, 10_101
"""Of the first rail."""
TUNNEL_BYTES = 50
"""Ethernet, IPv4, UDP and VXLAN heads (RFC 7348)."""
PREFERRED, DEFAULT_PREFERENCE = 50_000, 32_767
"""Of a leaf to forward floods to a segment: the first of a pair is asked to (RFC 8584; FRR's default)."""
_QUARTERS = {LEAF: 0, SPINE: 1, CORE: 2}
_PLANE_ASNS, _LEAF_ASNS, _POD_ASNS = 1_000_000, 100_000, 1


@dataclass(frozen=True, slots=True)
class Segment:
    """A NIC's bond to two leaves: an Ethernet segment (RFC 7432), the same on both."""

    number: int
    """Unique on each of the two, from 1."""
    mac: str
    """LACP system of the pair, and what makes the segment's identifier unique."""
    preference: int


@dataclass(frozen=True, slots=True)
class Port:
    """One port that has a cable, and what hangs on it."""

    cage: int
    """From 1, as on the switch's front."""
    part: int
    """Which of its ports, from 0."""
    parts: int
    """Ports that the cage is split into; 1 is whole."""
    rate_gbps: float
    length_m: int | None
    neighbour: str
    neighbour_port: str
    rail: int | None
    """Of the NIC on it, from 1; None towards another switch."""
    segment: Segment | None = None
    """That it is the leaf's link of; None of a NIC with one leaf."""


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch."""

    name: str
    role: str
    asn: int
    loopback: str
    """Address without a length."""
    ports: tuple[Port, ...]
    lanes: int
    """Of a cage."""
    settings: SwitchSettings

    @property
    def rails(self) -> list[int]:
        """Rails of its nodes' NICs."""
        return sorted({port.rail for port in self.ports if port.rail is not None})

    @property
    def links(self) -> list[Port]:
        """Ports towards other switches."""
        return [port for port in self.ports if port.rail is None]

    @property
    def bonded(self) -> list[tuple[Port, Segment]]:
        """Ports of NICs that have another link to the leaf beside this one."""
        return [(port, port.segment) for port in self.ports if port.segment is not None]


def switches(plan: Plan, fabric: str) -> list[Switch]:
    """Every switch, tier by tier of each plane.

    Raises:
        UsageError: no Ethernet fat tree whose switches are configured, or one that this cannot do.
    """
    settings, cabling, tree = _ground(plan, fabric)
    rails = {
        (name, label): rail
        for name, labels, _ in Roster(plan, fabric).nodes.values()
        for rail, label in enumerate(labels, 1)
    }
    ports: defaultdict[str, list[Port]] = defaultdict(list)
    at: dict[str, tuple[str, int]] = {}
    for cable in cables(plan, fabric):
        lower, upper = cable.roles
        rail = rails.get((cable.a.device, cable.a.port.partition("/")[0]))
        at[cable.z.device] = (upper, cable.plane)
        ports[cable.z.device].append(_port(cabling, tree, cable, rail))
        if lower != NODE:
            at[cable.a.device] = (lower, cable.plane)
            turned = cable._replace(a=cable.z, z=cable.a)
            ports[cable.a.device].append(_port(cabling, tree, turned, None))
    for name, some in ports.items():
        _refuse_split_twice(fabric, name, some)
    numbers = _Numbers(settings, tree, fabric)
    return [
        Switch(
            name=name,
            role=role,
            asn=numbers.asn(role, plane, _number(name)),
            loopback=numbers.loopback(role, plane, _number(name)),
            ports=tuple(sorted(ports[name], key=lambda port: (port.cage, port.part))),
            lanes=cabling.cage_lanes or 0,
            settings=settings,
        )
        for name, (role, plane) in sorted(at.items(), key=lambda item: (item[1][1], item[0]))
    ]


def _refuse_split_twice(fabric: str, name: str, ports: list[Port]) -> None:
    """A cage has one way of being split, and one rate of its parts."""
    modes: dict[int, str] = {}
    for port in ports:
        mode = f"{port.parts} of {port.rate_gbps:g} Gb/s"
        other = modes.setdefault(port.cage, mode)
        if other != mode:
            raise _refused(
                fabric,
                "a cage would be split in two ways at once",
                f"cage {port.cage} of {name}: {other}, and {mode}",
                "links of one kind in a cage: a node or an uplink less, so that none is shared",
            )


def _number(name: str) -> int:
    parsed = parse_slot(name)
    if parsed is None:
        raise ValueError(name)
    return parsed[1]


def _ground(plan: Plan, fabric: str) -> tuple[SwitchSettings, CablingPlan, Frame]:
    one, cabling = plan.fabrics[fabric], plan.cabling[fabric]
    if not isinstance(one, Ethernet) or cabling.tree is None:
        raise _refused(
            fabric, "only an Ethernet fat tree has switches that we configure", one.kind, "ethernet"
        )
    if one.switches is None:
        raise _refused(
            fabric,
            "the spec does not say what its switches run",
            "no `switches`",
            "switches: {os: cumulus, loopbacks: 10.255.0.0/20}",
        )
    if cabling.cage_lanes is None:
        raise _refused(fabric, "nobody states how many lanes a cage of it has", str(cabling.switch), "lanes")
    if one.switches.dscp == one.switches.cnp_dscp:
        raise _refused(
            fabric,
            "RoCE packets and their congestion notifications have one mark",
            f"dscp and cnp_dscp {one.switches.dscp}",
            "two marks",
        )
    if one.mtu + TUNNEL_BYTES > one.switches.mtu:
        raise _refused(
            fabric,
            "hosts' packets do not fit into a tunnel between switches",
            f"mtu {one.mtu} on hosts and {one.switches.mtu} on switches",
            f"at least {TUNNEL_BYTES} bytes more on switches",
        )
    return one.switches, cabling, cabling.tree


def _refused(fabric: str, message: str, got: str, expected: str) -> UsageError:
    return UsageError(message, where=f"fabrics.{fabric}", got=got, expected=expected)


def _port(cabling: CablingPlan, tree: Frame, cable: Cable, rail: int | None) -> Port:
    """The upper end of a cable."""
    number, _, tail = cable.z.port.partition("/")
    cage, within = divmod(int(number) - 1, cabling.port_split)
    tails = tree.breakout if tail else 1
    part, parts = within * tails + (int(tail) - 1 if tail else 0), cabling.port_split * tails
    paired = rail is not None and tree.attach is Attach.DUAL_TOR
    return Port(
        cage=cage + 1,
        part=part,
        parts=parts,
        rate_gbps=cable.rate_gbps,
        length_m=cable.length_m,
        neighbour=cable.a.device,
        neighbour_port=cable.a.port,
        rail=rail,
        segment=_segment(cable.z.device, cable.plane, cage * parts + part + 1) if paired else None,
    )


def _segment(leaf: str, plane: int, number: int) -> Segment:
    """A NIC has the same port of both leaves of its unit, so the port's number is the segment's on both."""
    pair, second = divmod(_number(leaf) - 1, 2)
    mac = f"02:52:57:{plane:02x}:{pair >> 8:02x}:{pair & 0xFF:02x}"
    return Segment(number, mac, DEFAULT_PREFERENCE if second else PREFERRED)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """AS numbers and addresses, by role, plane and number alone: a tree that grows changes none."""

    settings: SwitchSettings
    tree: Frame
    fabric: str

    def asn(self, role: str, plane: int, number: int) -> int:
        first = self.settings.first_asn + (plane - 1) * _PLANE_ASNS
        if role == LEAF:
            return first + _LEAF_ASNS + number
        return first + (_POD_ASNS + (number - 1) // self.tree.spines if role == SPINE else 0)

    def loopback(self, role: str, plane: int, number: int) -> str:
        whole = IPv4Network(self.settings.loopbacks)
        blocks = 4 * self.tree.planes
        size = whole.num_addresses // (1 << (blocks - 1).bit_length())
        if number >= size:
            raise _refused(
                self.fabric,
                "the range of loopbacks is too small",
                f"{self.settings.loopbacks}, {size} for each tier of a plane",
                f"more than {max(self.tree.sizes().values())} for each",
            )
        block = (plane - 1) * 4 + _QUARTERS[role]
        return str(whole.network_address + block * size + number)
