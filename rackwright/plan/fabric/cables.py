"""A plan in, cables as objects out: what each end is called, where it is, and what runs between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from rackwright.plan.fabric.frame import tier_name
from rackwright.plan.fabric.lengths import Spot, kind, length_m
from rackwright.plan.fabric.links import MANAGER, NODE, links
from rackwright.plan.model import OnpremSitePlan
from rackwright.plan.racks import rack_place
from rackwright.plan.ranges import Span
from rackwright.spec.slots import slot_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.fabric.links import Links
    from rackwright.plan.fabric.model import CablingPlan
    from rackwright.plan.model import Plan


class End(NamedTuple):
    """One end of a cable."""

    device: str
    port: str
    """``ibp24s0`` of a node, ``ibp24s0/2`` for its second link; ``12`` or ``12/1`` of a switch."""
    spot: Spot | None
    """None where it is not known which machine it is, or it stands in no hall."""


class Cable(NamedTuple):
    """A cable, or one tail of a breakout cable."""

    plane: int
    roles: tuple[str, str]
    a: End
    """The lower one."""
    z: End
    rate_gbps: float
    length_m: int | None
    kind: str
    """Empty where the length is not known."""
    tails: int
    """Of the breakout cable that this is one of; 1 for a cable of its own."""


def switch_name(fabric: str, tier: str, number: int) -> str:
    """``compute-leaf-001``; ``compute-p2-leaf-001`` is in the second plane."""
    return slot_name(f"{fabric}-{tier}", number)


@dataclass(frozen=True)
class Roster:
    """What the numbers of a fabric's links mean."""

    plan: Plan
    fabric: str

    @cached_property
    def cabling(self) -> CablingPlan:
        """Of the fabric."""
        return self.plan.cabling[self.fabric]

    @cached_property
    def planes(self) -> int:
        """Trees side by side."""
        return self.cabling.tree.planes if self.cabling.tree else 1

    @cached_property
    def rack_units(self) -> int:
        """Height of all racks of the fabric's hall; 0 where it is in none."""
        site = self.plan.sites[self.cabling.site]
        racks = site.racks.values() if isinstance(site, OnpremSitePlan) else ()
        return max((rack.units for rack in racks), default=0)

    @cached_property
    def nodes(self) -> dict[int, tuple[str, tuple[str, ...], Spot | None]]:
        """Place → name, its interfaces by rail, and where it stands."""
        found: dict[int, tuple[str, tuple[str, ...], Spot | None]] = {}
        for pool, spans in self.cabling.places.items():
            slots, labels = self.plan.pools[pool].slots, self._labels(pool)
            for numbers, places in spans.items():
                for number, place in zip(Span.parse(numbers), Span.parse(places), strict=True):
                    slot = slots[slot_name(pool, number)]
                    at = slot.position
                    spot = None if at is None else Spot(*rack_place(at.rack), at.unit)
                    found[place] = (slot.name, labels, spot)
        return found

    def _labels(self, pool: str) -> tuple[str, ...]:
        """Ports of a pool's nodes, by rail; where nobody names an interface, ``compute-1`` for the first."""
        slot = next(iter(self.plan.pools[pool].slots.values()))
        ports = sorted((port.rail, port.interface) for port in slot.ports if port.fabric == self.fabric)
        return tuple(interface or f"{self.fabric}-{rail + 1}" for rail, interface in ports)

    @cached_property
    def stands(self) -> dict[str, dict[int, Spot]]:
        """Tier → number of a switch → where it stands."""
        return {
            tier: {
                number: Spot(*rack_place(rack), unit)
                for rack, spans in racks.items()
                for numbers, units in spans.items()
                for number, unit in zip(Span.parse(numbers), Span.parse(units), strict=True)
            }
            for tier, racks in self.cabling.switches.items()
        }

    def tier(self, role: str, plane: int) -> str:
        """``leaf`` or ``p2-leaf``."""
        return tier_name(role, plane, self.planes)

    def manager(self) -> str:
        """Device that the manager's own links go to; which machines that is, the owner decides."""
        return f"{self.fabric}-manager"


def cables(plan: Plan, fabric: str) -> Iterator[Cable]:
    """Every cable of a fabric, in the order of planes, roles and numbers."""
    roster = Roster(plan, fabric)
    for some in links(roster.cabling):
        yield from _of(roster, some)


def _of(roster: Roster, some: Links) -> Iterator[Cable]:
    lower, upper = some.roles
    tree = roster.cabling.tree
    tails = tree.breakout if tree and lower in {NODE, MANAGER} else 1
    rate = roster.cabling.rate_gbps if lower in {NODE, MANAGER} else roster.cabling.uplink_gbps
    columns = (some.lower, some.lower_port, some.lower_lane, some.upper, some.upper_port, some.upper_lane)
    low, high = _ends(roster, lower, some.plane), _ends(roster, upper, some.plane)
    for number, port, lane, other, other_port, other_lane in zip(
        *(one.tolist() for one in columns), strict=True
    ):
        a, z = low.end(number, port, lane), high.end(other, other_port, other_lane)
        metres = length_m(a.spot, z.spot, roster.rack_units) if a.spot and z.spot else None
        yield Cable(some.plane, some.roles, a, z, rate, metres, kind(metres, tails) if metres else "", tails)


@dataclass(frozen=True)
class _Switches:
    """Ends at switches of one tier."""

    fabric: str
    tier: str
    spots: dict[int, Spot]
    names: dict[int, str]

    def end(self, number: int, port: int, lane: int) -> End:
        name = self.names.get(number)
        if name is None:
            name = self.names[number] = switch_name(self.fabric, self.tier, number)
        return End(name, f"{port}/{lane}" if lane else str(port), self.spots.get(number))


@dataclass(frozen=True)
class _Nodes:
    """Ends at nodes."""

    roster: Roster

    def end(self, place: int, rail: int, lane: int) -> End:
        name, labels, spot = self.roster.nodes[place]
        return End(name, f"{labels[rail - 1]}/{lane}" if lane else labels[rail - 1], spot)


@dataclass(frozen=True)
class _Manager:
    """Ends at the fabric manager."""

    name: str

    def end(self, _: int, uplink: int, lane: int) -> End:
        return End(self.name, f"{uplink}/{lane}" if lane else str(uplink), None)


def _ends(roster: Roster, role: str, plane: int) -> _Switches | _Nodes | _Manager:
    if role == NODE:
        return _Nodes(roster)
    if role == MANAGER:
        return _Manager(roster.manager())
    tier = roster.tier(role, plane)
    return _Switches(roster.fabric, tier, roster.stands.get(tier, {}), {})
