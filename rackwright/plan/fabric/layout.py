"""A fabric's tree and the hall its nodes stand in, in; a rack and unit for each of its switches, out.

The rule: the leaves of a unit want the middle one of the racks their nodes stand in; the spines of
a pod the middle of the row that the middle of their leaves is in; the cores the same among all
spines. Each takes the nearest rack with units and power, the lowest free units there. A switch that
the lock has placed stays, and no node is ever moved for one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.fabric.frame import tier_name
from rackwright.plan.fabric.locked import Stand
from rackwright.plan.racks import WATTS, Footprint, rack_place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.catalogue.switch import Switch
    from rackwright.plan.fabric.frame import Frame
    from rackwright.plan.fabric.locked import FabricSeats
    from rackwright.plan.lock import PoolSeats
    from rackwright.plan.racks import Hall

    Target = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """Switches that the lock has placed in a hall, of one tier."""

    fabric: str
    tier: str
    footprint: Footprint
    stands: Mapping[int, Stand]


def footprint(fabric: str, tier: str, switch: Switch) -> Footprint | None:
    """What a switch takes in its rack; None where its height is not known.

    A power that no source states is not added up: `not_planned` then names it.
    """
    if switch.units is None:
        return None
    return Footprint(f"{fabric} {tier}", switch.units, round((switch.power_kw or 0) * WATTS), None)


def standing(name: str, seats: FabricSeats, switch: Switch) -> Iterator[Standing]:
    """What the lock has placed of a fabric."""
    for tier, stands in sorted(seats.switches.items()):
        size = footprint(name, tier, switch)
        if size is not None:
            yield Standing(name, tier, size, stands)


def sit_down(hall: Hall, placed: Standing) -> Iterator[Finding]:
    """Put the switches of the lock where they were."""
    for number, stand in sorted(placed.stands.items()):
        reason = hall.why_not(stand.rack, stand.unit, placed.footprint)
        if reason:
            yield Finding(
                code=faults.SWITCH_LOST,
                message=f"{placed.tier} {number} of {placed.fabric} cannot stand where the lock has it",
                path=SpecPath() / "fabrics" / placed.fabric,
                got=reason,
                expected=f"{stand.rack} as it was, from unit {stand.unit}",
                hint="keep the rack as it was; a switch cannot move without its cables",
            )
        else:
            hall.seat(stand.rack, stand.unit, placed.footprint)


def place(
    name: str, seats: FabricSeats, switch: Switch, hall: Hall, pools: Mapping[str, PoolSeats]
) -> tuple[FabricSeats, list[Finding]]:
    """Find a place for every switch that has none.

    Args:
        name: of the fabric.
        seats: its tree, places, and the switches that stand already.
        switch: what all of them are.
        hall: with everybody in it who has a place.
        pools: where the nodes stand.
    """
    tree, racks = seats.tree, _node_racks(seats, pools)
    if tree is None or switch.units is None or not racks:
        return seats, []
    wanted = _Wanted(tree, racks, hall.grid.per_row)
    stands: dict[str, dict[int, Stand]] = {tier: dict(found) for tier, found in seats.switches.items()}
    homeless: dict[str, int] = {}
    for plane in range(1, tree.planes + 1):
        for role, number, target in wanted.switches():
            tier = tier_name(role, plane, tree.planes)
            if number in stands.setdefault(tier, {}):
                continue
            size = footprint(name, tier, switch)
            found = hall.nearest(target, size) if size else None
            if size is None or found is None:
                homeless[tier] = homeless.get(tier, 0) + 1
                continue
            hall.seat(*found, size)
            stands[tier][number] = Stand(*found)
    findings = [_no_room(name, homeless, tree, switch, hall)] if homeless else []
    return replace(seats, switches=stands), findings


def _node_racks(seats: FabricSeats, pools: Mapping[str, PoolSeats]) -> dict[int, Target]:
    """Place → row and place of the rack of the node that has it."""
    racks: dict[int, Target] = {}
    for pool, places in seats.places.items():
        for number, place_ in places.items():
            rack = pools[pool].seats[number].rack
            if rack is not None:
                racks[place_] = rack_place(rack)
    return racks


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Where the switches of one plane would stand if every rack had room."""

    tree: Frame
    nodes: Mapping[int, Target]
    per_row: int

    def switches(self) -> Iterator[tuple[str, int, Target]]:
        """Role, number and wanted rack of each."""
        tree, middle = self.tree, _middle(self.nodes.values())
        units = [self._unit(unit, middle) for unit in range(tree.units)]
        leaves = [units[leaf // tree.leaves_per_unit] for leaf in range(tree.leaves)]
        yield from (("leaf", number, target) for number, target in enumerate(leaves, 1))
        pods = [
            self._mid_row(leaves[first : first + tree.pod_leaves])
            for first in range(0, tree.leaves, tree.pod_leaves)
        ]
        for spine in range(tree.pods * tree.spines):
            yield "spine", spine + 1, pods[spine // tree.spines]
        for core in range(tree.spines * tree.cores):
            yield "core", core + 1, self._mid_row(pods)

    def _mid_row(self, racks: Iterable[Target]) -> Target:
        row, _ = _middle(racks)
        return row, (self.per_row + 1) // 2

    def _unit(self, unit: int, otherwise: Target) -> Target:
        nodes = self.tree.unit_nodes
        here = [self.nodes[one] for one in range(unit * nodes, (unit + 1) * nodes) if one in self.nodes]
        return _middle(here) if here else otherwise


def _middle(racks: Iterable[Target]) -> Target:
    """The middle one of some racks, each counted once, in the order of rows and places."""
    known = sorted(set(racks))
    return known[(len(known) - 1) // 2]


def _no_room(name: str, homeless: Mapping[str, int], tree: Frame, switch: Switch, hall: Hall) -> Finding:
    grid, total = hall.grid, sum(tree.sizes().values())
    power = "" if switch.power_kw is None else f" and {switch.power_kw:g} kW"
    missing = sum(homeless.values())
    return Finding(
        code=faults.NO_SWITCH_RACK,
        message=f"{missing} of {total} switches of fabric {name} find no rack",
        path=SpecPath() / "fabrics" / name / "topology",
        got=", ".join(f"{count} {tier}" for tier, count in homeless.items()),
        expected=f"{switch.units} free units{power} for each in {grid.rows * grid.per_row} racks",
        hint=_roomier(missing, switch, hall),
    )


def _roomier(missing: int, switch: Switch, hall: Hall) -> str:
    watts = round((switch.power_kw or 0) * WATTS)
    each = min(hall.grid.units // (switch.units or 1), hall.limit_watts // watts if watts else missing)
    if not each:
        return f"no rack of this hall takes a {switch.name}: racks with more units or power"
    racks = -(-missing // each)
    return f"more rows or racks in a row: {racks} empty one{'s' if racks != 1 else ''} would hold them"
