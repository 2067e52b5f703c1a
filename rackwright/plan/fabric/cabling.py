"""The seats of a fabric in, what the plan says of its switches and cables out."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rackwright.plan.fabric.counts import Cables, Counts, Tier, counts
from rackwright.plan.fabric.demand import manager_uplinks
from rackwright.plan.fabric.model import CablesPlan, CablingPlan, TierPlan
from rackwright.plan.ranges import pair_up
from rackwright.spec.fabrics import FatTree, rate_gbps, uplink_gbps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwright.catalogue.switch import Switch
    from rackwright.plan.fabric.locked import FabricSeats, Stand
    from rackwright.plan.fabric.settle import Ground


def cabling(ground: Ground, switches: Mapping[str, Switch], seats: FabricSeats) -> CablingPlan:
    """Numbers of one fabric."""
    topology = ground.fabric.topology
    switch = topology.switch if isinstance(topology, FatTree) else None
    numbers, uplinks = _counts(ground, seats), manager_uplinks(ground.fabric) if seats.manager else 0
    return CablingPlan(
        site=ground.site,
        switch=switch,
        switch_units=None if switch is None else switches[switch].units,
        port_split=1 if switch is None else switches[switch].split or 1,
        cage_lanes=None if switch is None else switches[switch].lanes,
        rate_gbps=rate_gbps(ground.fabric),
        uplink_gbps=uplink_gbps(ground.fabric),
        endpoints=numbers.endpoints,
        nics=dict(sorted(ground.nics.items())),
        tree=seats.tree,
        manager_uplinks=uplinks,
        manager=tuple(place for _, place in sorted(seats.manager.items())),
        tiers=tuple(TierPlan(role=tier.role, switches=tier.switches) for tier in numbers.tiers),
        cables=tuple(CablesPlan(between=one.between, count=one.count) for one in numbers.cables),
        places={pool: _spans(places.items()) for pool, places in sorted(seats.places.items())},
        switches={tier: _racks(stands) for tier, stands in sorted(seats.switches.items())},
    )


def _counts(ground: Ground, seats: FabricSeats) -> Counts:
    endpoints = sum(ground.nics[pool] * len(places) for pool, places in seats.places.items())
    if seats.tree is not None:
        return counts(seats.tree, endpoints, manager_uplinks(ground.fabric) if seats.manager else 0)
    rails = max(ground.nics.values())
    return Counts(
        endpoints=endpoints,
        tiers=(Tier("rail", rails),),
        cables=(Cables(("node", "rail"), endpoints),),
        uplinks_per_leaf=0,
        leaf_spine_links=0,
    )


def _spans(values: Iterable[tuple[int, int]]) -> dict[str, str]:
    return {str(keys): str(spans) for keys, spans in pair_up(sorted(values))}


def _racks(stands: Mapping[int, Stand]) -> dict[str, dict[str, str]]:
    placed = sorted((stand.rack, number, stand.unit) for number, stand in stands.items())
    return {
        rack: _spans((number, unit) for _, number, unit in in_rack)
        for rack, in_rack in groupby(placed, key=lambda place: place[0])
    }
