"""Who sits where: each slot's index and rack unit, kept from the lock or newly allocated.

The rules, all of them (docs/decisions/0003-lock-and-slots.md):

- A pool's slots are numbered from 1; the first `static` are always filled, the rest on demand.
- What the lock has seated keeps its seat. A seat is given up when its slot is gone from the spec.
- New slots take the lowest free index of their site and the first rack that fits, pool by pool
  in the order of names, slot by slot in the order of numbers.
- A seat that the spec no longer has room for is a finding, never a move.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.addresses import KEPT, RESERVED, AddressRange, prefix_for
from rackwright.plan.fabric.layout import sit_down
from rackwright.plan.lock import PoolSeats, Seat
from rackwright.plan.racks import WATTS, Hall
from rackwright.plan.ranges import fold
from rackwright.spec.sites import NewVpc, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.plan.fabric.layout import Standing
    from rackwright.plan.lock import Lock
    from rackwright.plan.racks import Footprint
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.pools import Nodes
    from rackwright.spec.sites import Site

NO_SWITCHES: Mapping[str, Sequence[Standing]] = MappingProxyType({})
_IDENTITY = "a slot's rack, addresses and cables are its identity (docs/decisions/0003)"
_VPC_MOST = 5 * (1 << 16)
"""Addresses of five /16, the most a VPC has (EC2 quotas)."""
_LARGEST = 8
"""Prefix of 10.0.0.0/8, the largest network of RFC 1918."""


@dataclass(frozen=True, slots=True)
class Seating:
    """The outcome: all seats, and each hall as it is filled."""

    pools: dict[str, PoolSeats]
    halls: dict[str, Hall]


def numbers(nodes: Nodes) -> list[int]:
    """Numbers of the slots that a pool has, rising."""
    return [number for number in range(1, nodes.static + nodes.burst + 1) if number not in nodes.retired]


def seat(
    spec: ClusterSpec,
    footprints: Mapping[str, Footprint],
    lock: Lock | None,
    switches: Mapping[str, Sequence[Standing]] = NO_SWITCHES,
) -> tuple[Seating, list[Finding]]:
    """Seat every slot of a spec.

    Args:
        spec: the cluster.
        footprints: what a node takes in its rack, for the pools of halls.
        lock: the seats of the last plan; None on the first.
        switches: site → switches that the lock has placed there.
    """
    findings = [*room(spec), *_moved(spec, lock)]
    if findings:
        return Seating({}, {}), findings
    kept = {name: _kept(spec.pools[name].nodes, lock, name) for name in sorted(spec.pools)}
    pools: dict[str, PoolSeats] = {}
    halls: dict[str, Hall] = {}
    for site_name, site in sorted(spec.sites.items()):
        here = {name: kept[name] for name in kept if spec.pools[name].site == site_name}
        _give_indexes(here)
        findings += _outside(site_name, site, here)
        if isinstance(site, OnpremSite):
            halls[site_name] = Hall(site.racks)
            findings += _fill(halls[site_name], here, footprints, switches.get(site_name, ()))
        pools |= {name: PoolSeats(site_name, seats) for name, seats in here.items()}
    return Seating(pools, halls), findings


def room(spec: ClusterSpec) -> Iterator[Finding]:
    """Sites with fewer addresses than slots, counted before ten million of them are allocated."""
    wanted: dict[str, int] = dict.fromkeys(spec.sites, 0)
    largest: dict[str, tuple[int, str]] = {}
    for name, pool in sorted(spec.pools.items()):
        slots = pool.nodes.static + pool.nodes.burst - len(pool.nodes.retired)
        wanted[pool.site] += slots
        largest[pool.site] = max(largest.get(pool.site, (0, name)), (slots, name))
    for site_name, (_, pool_name) in largest.items():
        most, network = _most_slots(spec.sites[site_name])
        if wanted[site_name] > most:
            yield Finding(
                code=faults.TOO_MANY_NODES,
                message=f"site {site_name} has fewer addresses than its pools have nodes",
                path=SpecPath() / "pools" / pool_name / "nodes",
                got=f"{wanted[site_name]} nodes in {site_name}",
                expected=f"at most {most}, as many as {network} holds",
                hint=f"fewer nodes in {pool_name}, or a larger network{_fitting(wanted[site_name])}",
            )


def _fitting(slots: int) -> str:
    """Which network would do, where there is one that somebody may have: nobody's is larger than 10/8."""
    prefix = prefix_for(slots)
    return f": /{prefix} holds them, and the {KEPT} addresses that no node gets" if prefix >= _LARGEST else ""


def _most_slots(site: Site) -> tuple[int, str]:
    """How many slots the smallest network of a site takes, and which that is."""
    if isinstance(site, OnpremSite):
        return min((AddressRange.of(network.cidr).capacity, name) for name, network in site.networks.items())
    if isinstance(site.vpc, NewVpc):
        return AddressRange.of(site.vpc.cidrs[0]).capacity, "vpc"
    return _VPC_MOST, "a VPC"


def _moved(spec: ClusterSpec, lock: Lock | None) -> Iterator[Finding]:
    """A pool that would change its site."""
    for name, pool in sorted(spec.pools.items()):
        before = lock.pools.get(name) if lock else None
        if before is not None and before.site != pool.site:
            yield Finding(
                code=faults.SITE_CHANGED,
                message=f"the slots of pool {name} are allocated in another site",
                path=SpecPath() / "pools" / name / "site",
                got=pool.site,
                expected=before.site,
                hint="a slot cannot move: make a pool of another name there, and take this one out",
                source=_IDENTITY,
            )


def _kept(nodes: Nodes, lock: Lock | None, name: str) -> dict[int, Seat]:
    """Number → seat of a pool's slots that the lock knows; others have no seat yet (index -1)."""
    before = lock.pools[name].seats if lock and name in lock.pools else {}
    return {number: before.get(number, _NEW) for number in numbers(nodes)}


_NEW = Seat(-1)
"""Of a slot that has no seat yet."""


def _give_indexes(pools: Mapping[str, dict[int, Seat]]) -> None:
    """Give every slot without one the lowest free index of its site."""
    taken = {seat.index for seats in pools.values() for seat in seats.values()}
    free = (index for index in count() if index not in taken)
    for seats in pools.values():
        for number, seat_ in seats.items():
            if seat_.index < 0:
                seats[number] = Seat(next(free))


def _outside(site_name: str, site: Site, pools: Mapping[str, Mapping[int, Seat]]) -> Iterator[Finding]:
    """Slots that a network made smaller has shut out."""
    ranges = node_ranges(site)
    last = max(
        ((seat_.index, name) for name, seats in pools.items() for seat_ in seats.values()), default=None
    )
    most, network = _most_slots(site)
    if network in ranges and last is not None and last[0] >= most:
        where, cidr = ranges[network]
        yield Finding(
            code=faults.ADDRESS_OUTSIDE,
            message=f"slots of pool {last[1]} have addresses outside network {network}",
            path=SpecPath(("sites", site_name, *where)),
            got=cidr,
            expected=f"a network that holds address {last[0] + RESERVED} from its base",
            hint="an address cannot move: keep the network as large as it was",
            source=_IDENTITY,
        )


def node_ranges(site: Site) -> dict[str, tuple[tuple[str | int, ...], str]]:
    """Network → where a site states its range, and the range."""
    if isinstance(site, OnpremSite):
        return {name: (("networks", name, "cidr"), one.cidr) for name, one in site.networks.items()}
    return {"vpc": (("vpc", "cidrs", 0), site.vpc.cidrs[0])} if isinstance(site.vpc, NewVpc) else {}


def _fill(
    hall: Hall,
    pools: Mapping[str, dict[int, Seat]],
    footprints: Mapping[str, Footprint],
    switches: Sequence[Standing],
) -> Iterator[Finding]:
    """First everybody who has a place, then the new ones."""
    for name, seats in pools.items():
        yield from _sit_down(hall, name, seats, footprints[name])
    for placed in switches:
        yield from sit_down(hall, placed)
    for name, seats in pools.items():
        yield from _find_places(hall, name, seats, footprints[name])


def _sit_down(hall: Hall, name: str, seats: Mapping[int, Seat], footprint: Footprint) -> Iterator[Finding]:
    lost: dict[str, list[int]] = {}
    for number, seat_ in seats.items():
        rack, unit = seat_.rack, seat_.unit
        if rack is None or unit is None:
            continue
        reason = hall.why_not(rack, unit, footprint)
        if reason:
            lost.setdefault(reason, []).append(number)
        else:
            hall.seat(rack, unit, footprint)
    return (_lost(name, reason, fold(slots), seats[slots[0]]) for reason, slots in lost.items())


def _lost(name: str, reason: str, slots: str, first: Seat) -> Finding:
    return Finding(
        code=faults.SEAT_LOST,
        message=f"slots {slots} of pool {name} can no longer stand where the lock has put them",
        path=SpecPath() / "pools" / name,
        got=reason,
        expected=f"{first.rack} as it was, from unit {first.unit}",
        hint=f"a slot cannot move: keep the rack as it was, or retire {slots} (`nodes.retired`)",
        source=_IDENTITY,
    )


def _find_places(hall: Hall, name: str, seats: dict[int, Seat], footprint: Footprint) -> Iterator[Finding]:
    standing: list[int] = []
    for number, seat_ in seats.items():
        if seat_.rack is not None:
            continue
        place = None if standing else hall.find(footprint)
        if place is None:
            standing.append(number)
            continue
        hall.seat(*place, footprint)
        seats[number] = Seat(seat_.index, *place)
    if standing:
        yield _no_room(hall, name, standing, len(seats), footprint)


def _no_room(hall: Hall, name: str, standing: list[int], slots: int, footprint: Footprint) -> Finding:
    grid = hall.grid
    each = f"{footprint.units} units and {footprint.watts / WATTS:g} kW each"
    per_rack = "" if footprint.per_rack is None else f", {footprint.per_rack} a rack at most"
    return Finding(
        code=faults.NO_RACK,
        message=f"{len(standing)} of {slots} nodes of pool {name} find no rack",
        path=SpecPath() / "pools" / name / "nodes",
        got=f"slots {fold(standing)}, {each}{per_rack}",
        expected=f"room in {grid.rows * grid.per_row} racks of {grid.units} units and {grid.power_kw:g} kW",
        hint="more rows, more racks in a row, more power for each rack, or fewer nodes",
    )
