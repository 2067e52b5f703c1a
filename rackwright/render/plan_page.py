"""A plan in, one page for the eye out: racks with their power, tiers of fabrics, rails of a unit.

The page is one file that asks for no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from rackwright.plan.fabric.cables import Roster, switch_name
from rackwright.plan.fabric.links import attached
from rackwright.plan.hostlist import hostlist
from rackwright.plan.model import OnpremSitePlan
from rackwright.plan.ranges import fold
from rackwright.render.templates import render
from rackwright.spec.slots import parse_slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwright.plan.fabric.frame import Frame
    from rackwright.plan.model import Plan, RackPlan


@dataclass(frozen=True, slots=True)
class _Rack:
    name: str
    percent: int
    power: str
    units: str


@dataclass(frozen=True, slots=True)
class _Row:
    name: str
    racks: list[_Rack]


@dataclass(frozen=True, slots=True)
class _Hall:
    name: str
    racks: int
    power: str
    rows: list[_Row]


@dataclass(frozen=True, slots=True)
class _Count:
    name: str
    count: str


@dataclass(frozen=True, slots=True)
class _Rail:
    number: int
    interface: str
    leaf: str
    ports: str


@dataclass(frozen=True, slots=True)
class _Fabric:
    name: str
    what: str
    tiers: list[_Count]
    unit: str
    rails: list[_Rail]


@dataclass(frozen=True, slots=True)
class _Page:
    cluster: str
    totals: str
    halls: list[_Hall]
    fabrics: list[_Fabric]


def page(plan: Plan) -> str:
    """The page."""
    totals = plan.totals
    counted = (
        (totals.nodes, "nodes"),
        (totals.accelerators, "accelerators"),
        (totals.switches, "switches"),
        (totals.cables, "cables"),
        (totals.racks, "racks"),
    )
    words = [f"{count:,} {what}" for count, what in counted if count is not None]
    if totals.power_kw is not None:
        words.append(f"{totals.power_kw:,.1f} kW of IT load at most")
    values = _Page(plan.cluster.name, ", ".join(words), list(_halls(plan)), list(_fabrics(plan)))
    return render("plan/plan.html.j2", {"page": values})


def _halls(plan: Plan) -> Iterator[_Hall]:
    for name, site in plan.sites.items():
        if isinstance(site, OnpremSitePlan) and site.racks:
            drawn = sum(rack.power_kw for rack in site.racks.values())
            racks = sorted(site.racks.items(), key=lambda item: (item[1].row, item[1].place))
            rows = [
                _Row(f"row {row}", [_rack(*item) for item in members])
                for row, members in groupby(racks, key=lambda item: item[1].row)
            ]
            yield _Hall(name, len(site.racks), f"{drawn:,.1f} kW", rows)


def _rack(name: str, rack: RackPlan) -> _Rack:
    percent = min(round(100 * rack.power_kw / rack.limit_kw), 100)
    power = f"{rack.power_kw:.1f} of {rack.limit_kw:g} kW"
    return _Rack(name, percent, power, f"{rack.units_used} of {rack.units} units")


def _fabrics(plan: Plan) -> Iterator[_Fabric]:
    for name, one in plan.cabling.items():
        tiers = [_Count(tier.role, f"{tier.switches:,}") for tier in one.tiers]
        tiers += [_Count(f"cables {'-'.join(some.between)}", f"{some.count:,}") for some in one.cables]
        what = f"{plan.fabrics[name].kind}, {one.rate_gbps:g} Gb/s a link"
        roster = Roster(plan, name)
        first = _first_unit(roster, one.tree) if one.tree is not None else {}
        rails = [] if one.tree is None else list(_rails(name, roster, one.tree, first))
        yield _Fabric(name, what, tiers, _folded(first.values()), rails)


def _first_unit(roster: Roster, tree: Frame) -> dict[int, str]:
    """Place → node, of the first unit that has some."""
    places = sorted(roster.nodes)
    unit = places[0] // tree.unit_nodes if places else 0
    return {place: roster.nodes[place][0] for place in places if place // tree.unit_nodes == unit}


def _folded(names: Iterable[str]) -> str:
    numbers: dict[str, list[int]] = {}
    for pool, number in filter(None, map(parse_slot, names)):
        numbers.setdefault(pool, []).append(number)
    return ", ".join(hostlist(pool, sorted(members)) for pool, members in numbers.items())


def _rails(fabric: str, roster: Roster, tree: Frame, first: dict[int, str]) -> Iterator[_Rail]:
    """Where the NICs of each rail go, in the first plane."""
    places = np.array(sorted(first), np.int64)
    tier = roster.tier("leaf", 1)
    for rail in range(tree.rails if first else 0):
        for side in range(tree.links_per_nic):
            leaves, ports, _ = attached(tree, places, np.full_like(places, rail), np.full_like(places, side))
            label = roster.nodes[int(places[0])][1][rail]
            for leaf in sorted(set(leaves.tolist())):
                mine = fold(sorted(set(ports[leaves == leaf].tolist())))
                yield _Rail(rail + 1, label, switch_name(fabric, tier, leaf), mine)
