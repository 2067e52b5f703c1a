"""A planned network and an observed one in, what differs out: by names, never by GUIDs.

Each cable that is planned and not there, and each that is there and not planned, belongs to a knot:
cables that share ports. One knot is one fault: two crossed rails, one cable in a wrong port, a row of
ports shifted by one. Within a knot the fewest plugs are moved that leave every cable in its place.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from rackwright.validate.fabric.identify import identify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.render.fabric.network import Network, Plug
    from rackwright.validate.fabric.identify import Identified


class Kind(StrEnum):
    """What is wrong."""

    UNNAMED = "unnamed"
    """An adapter with no description of ours; who it is follows from where it hangs."""
    ABSENT = "absent"
    """A node or switch that is not in the dump, or that only its neighbours tell of."""
    CROSSED_RAILS = "crossed-rails"
    SHIFTED_PORTS = "shifted-ports"
    """The right two devices, the wrong ports."""
    SWAPPED = "swapped"
    MISPLACED = "misplaced"
    MISSING = "missing"
    EXTRA = "extra"
    WRONG_SPEED = "wrong-speed"
    WRONG_WIDTH = "wrong-width"


class Wire(NamedTuple):
    """A cable by its two plugs; of a planned one the lower end first."""

    a: Plug
    z: Plug


@dataclass(frozen=True, slots=True)
class Move:
    """One plug of a cable that is there goes from one port to another."""

    kept: Plug
    """The other end, which stays."""
    source: Plug
    target: Plug


@dataclass(frozen=True, slots=True)
class Difference:
    """One fault."""

    kind: Kind
    intended: tuple[Wire, ...]
    """Planned cables that are not there."""
    observed: tuple[Wire, ...]
    """Cables that are there and not planned."""
    moves: tuple[Move, ...] = ()
    connect: tuple[Wire, ...] = ()
    """Planned cables for which there is none to move."""
    remove: tuple[Wire, ...] = ()
    device: str = ""
    """What is unnamed or absent."""
    note: str = ""

    @property
    def plugs(self) -> int:
        """Plugs that are touched to mend it."""
        return len(self.moves) + 2 * len(self.connect) + 2 * len(self.remove)


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs, and what was seen that is no part of a plan."""

    differences: tuple[Difference, ...]
    aggregation: tuple[str, ...]
    """Aggregation nodes of switches: they compute for collectives and are no hosts."""
    identified: Identified
    agreed: int
    """Cables that are as planned."""


def compare(intended: Network, observed: Network) -> Comparison:
    """Compare by name.

    Args:
        intended: as planned.
        observed: as found.
    """
    seen = identify(intended, observed)
    wanted = _wires(intended, seen.absent)
    matched = [wire for wire in wanted if seen.links.get(wire.a, _NOWHERE)[0] == wire.z]
    done = {wire.a for wire in matched}
    missing = [wire for wire in wanted if wire.a not in done]
    wrong = list(_wrong(seen, done.union(wire.z for wire in matched)))
    differences = [
        *_named(seen),
        *(_fault(intended, knot) for knot in _knots(missing, wrong)),
        *_slow(intended, seen, matched),
    ]
    return Comparison(tuple(differences), tuple(sorted(seen.aggregation.values())), seen, len(matched))


_NOWHERE = (None, "")


def _wrong(seen: Identified, done: set[Plug]) -> Iterator[Wire]:
    """Each cable that is there and not as planned, once; those of aggregation nodes are nobody's."""
    for one, (other, _) in seen.links.items():
        if one not in done and one <= other and not {one.device, other.device} & seen.aggregation.keys():
            yield Wire(one, other)


def _wires(network: Network, absent: dict[str, str]) -> list[Wire]:
    """Planned cables of devices that are there, the lower end first.

    Ids of adapters come before those of switches, those of leaves before those of spines.
    """
    found = (Wire(one, link.peer) for one, link in network.links.items() if one.device < link.peer.device)
    return [wire for wire in found if wire.a.device not in absent and wire.z.device not in absent]


def _named(seen: Identified) -> Iterator[Difference]:
    for device, note in sorted(seen.unnamed.items()):
        yield Difference(Kind.UNNAMED, (), (), device=device, note=note)
    for device, note in sorted(seen.absent_groups.items()):
        yield Difference(Kind.ABSENT, (), (), device=device, note=note)


@dataclass(slots=True)
class _Knot:
    """Planned cables that are not there, and cables that are there instead, which share ports."""

    missing: list[Wire] = field(default_factory=list)
    wrong: list[Wire] = field(default_factory=list)


def _knots(missing: list[Wire], wrong: list[Wire]) -> Iterator[_Knot]:
    """Cables that share a port, directly or by others, belong together."""
    leader: dict[Plug, Plug] = {}

    def root(plug: Plug) -> Plug:
        while leader.setdefault(plug, plug) != plug:
            leader[plug] = leader[leader[plug]]
            plug = leader[plug]
        return plug

    for wire in (*missing, *wrong):
        leader[root(wire.z)] = root(wire.a)
    knots: dict[Plug, _Knot] = {}
    for wire in missing:
        knots.setdefault(root(wire.a), _Knot()).missing.append(wire)
    for wire in wrong:
        knots.setdefault(root(wire.a), _Knot()).wrong.append(wire)
    return iter(knots.values())


def _fault(intended: Network, knot: _Knot) -> Difference:
    """One knot, mended with the fewest plugs; of equal ways the one that touches fewer devices."""
    ways = [_mend(knot, from_a=from_a) for from_a in (True, False)]
    moves, connect, remove = min(ways, key=lambda way: len({_box(intended, move.source) for move in way[0]}))
    return Difference(
        kind=_kind(intended, knot, moves),
        intended=tuple(knot.missing),
        observed=tuple(knot.wrong),
        moves=moves,
        connect=connect,
        remove=remove,
    )


def _mend(knot: _Knot, *, from_a: bool) -> tuple[tuple[Move, ...], tuple[Wire, ...], tuple[Wire, ...]]:
    """Give each cable that is there one of the planned ones that it shares a port with, as far as they go.

    A planned cable that only one can serve is served by it first, its neighbour next, and so on: each
    plug goes into the port that the one before has left. Only rings are left then, in which one plug
    hangs meanwhile; they are opened at the plugs that `from_a` says to keep.
    """
    by_plug = {plug: wire for wire in knot.missing for plug in wire}
    able: dict[Wire, list[tuple[Wire, Plug]]] = {wire: [] for wire in knot.missing}
    for wire in knot.wrong:
        for plug in wire:
            if plug in by_plug:
                able[by_plug[plug]].append((wire, plug))
    served: dict[Wire, tuple[Wire, Plug]] = {}
    done: set[Wire] = set()
    forced = deque(planned for planned, some in able.items() if len(some) == 1)
    for ring in (None, *knot.missing):
        if ring is not None:
            forced.append(ring)
        while forced:
            planned = forced.popleft()
            free = [one for one in able[planned] if one[0] not in served]
            if free and planned not in done:
                wire, kept = min(free, key=lambda one: (planned.a == one[1]) is not from_a)
                served[wire] = (planned, kept)
                done.add(planned)
                forced.extend(by_plug[plug] for plug in wire if plug in by_plug and plug != kept)
    moves = tuple(_move(wire, planned, kept) for wire, (planned, kept) in served.items())
    connect = tuple(wire for wire in knot.missing if wire not in done)
    return moves, connect, tuple(wire for wire in knot.wrong if wire not in served)


def _move(wire: Wire, planned: Wire, kept: Plug) -> Move:
    return Move(
        kept=kept,
        source=wire.z if wire.a == kept else wire.a,
        target=planned.z if planned.a == kept else planned.a,
    )


def _box(intended: Network, plug: Plug) -> str:
    """The switch or node that a port is in; an adapter's is its node."""
    device = intended.devices.get(plug.device)
    if device is None:
        return plug.device
    return device.name if device.is_switch else device.name.rpartition(" ")[0]


def _kind(intended: Network, knot: _Knot, moves: tuple[Move, ...]) -> Kind:
    if not knot.wrong:
        return Kind.MISSING
    if not knot.missing:
        return Kind.EXTRA
    ring = {plug for wire in knot.wrong for plug in wire} == {plug for wire in knot.missing for plug in wire}
    lower = {_box(intended, wire.a) for wire in knot.missing}
    adapters = not any(intended.devices[wire.a.device].is_switch for wire in knot.missing)
    if ring and adapters and len(lower) == 1:
        return Kind.CROSSED_RAILS
    if all(move.source.device == move.target.device for move in moves):
        return Kind.SHIFTED_PORTS
    return Kind.SWAPPED if ring else Kind.MISPLACED


def _slow(intended: Network, seen: Identified, matched: list[Wire]) -> Iterator[Difference]:
    """Cables in their place that came up with fewer lanes, or slower ones."""
    for wire in matched:
        planned, found = intended.links[wire.a].speed, seen.links[wire.a][1]
        if found and planned and found != planned:
            width = found.partition("x")[0] != planned.partition("x")[0]
            kind = Kind.WRONG_WIDTH if width else Kind.WRONG_SPEED
            yield Difference(kind, (wire,), (wire,), note=f"{found}, planned {planned}")
