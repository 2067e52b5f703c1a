"""What the plan says of a fabric in, every cable out: as columns of numbers, by arithmetic alone.

Which leaf and port a NIC has follows from its node's place and its rail; which spine and port a
leaf's uplink has, and which core and port a spine's, from their numbers. Downlinks are a switch's
first ports, uplinks its last ones. All switches are numbered from 1 in their tier, ports from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rackwright.plan.ranges import Span
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rackwright.plan.fabric.frame import Frame
    from rackwright.plan.fabric.model import CablingPlan

Column: TypeAlias = "NDArray[np.int64]"

RAIL, NODE, MANAGER, LEAF, SPINE, CORE = "rail", "node", "manager", "leaf", "spine", "core"


@dataclass(frozen=True, slots=True)
class Links:
    """Cables between two roles in one plane; all columns have the same length."""

    roles: tuple[str, str]
    """Lower and upper."""
    plane: int
    """From 1."""
    lower: Column
    """Node: its place. Manager: 1. Switch: its number."""
    lower_port: Column
    """Node: its rail, from 1. Manager: its uplink."""
    lower_lane: Column
    """Node: which link of that NIC, from 1; 0 where a NIC has but one, and for all others."""
    upper: Column
    upper_port: Column
    upper_lane: Column
    """Which tail of a breakout cable; 0 where a port has one link."""

    def __len__(self) -> int:
        return len(self.lower)


def links(plan: CablingPlan) -> Iterator[Links]:
    """Every cable, plane by plane: nodes, manager, leaves, spines."""
    tree = plan.tree
    if tree is None:
        yield _rails(plan)
        return
    places = np.fromiter(sorted(all_places(plan)), np.int64)
    for plane in range(1, tree.planes + 1):
        yield _nodes(tree, places, plane)
        if plan.manager_uplinks:
            yield _manager(plan, tree, plane)
        yield _uplinks(tree, plane)
        if tree.cores:
            yield _cores(tree, plane)


def all_places(plan: CablingPlan) -> Iterator[int]:
    """Places of all nodes."""
    for spans in plan.places.values():
        for places in spans.values():
            yield from Span.parse(places)


def _rails(plan: CablingPlan) -> Links:
    """One switch a rail: a node's port on it is its place."""
    pairs = [
        (place, rail)
        for pool, spans in plan.places.items()
        for places in spans.values()
        for place in Span.parse(places)
        for rail in range(1, plan.nics[pool] + 1)
    ]
    place, rail = np.array(sorted(pairs), np.int64).reshape(-1, 2).T
    none = np.zeros_like(place)
    return Links((NODE, RAIL), 1, place, rail, none, rail, place + 1, none)


def _nodes(tree: Frame, places: Column, plane: int) -> Links:
    each = tree.links_per_nic
    place = np.repeat(places, tree.rails * each)
    rail = np.tile(np.repeat(np.arange(tree.rails), each), len(places))
    side = np.tile(np.arange(each), len(places) * tree.rails)
    lane = (plane - 1) * each + side + 1 if tree.planes * each > 1 else np.zeros_like(side)
    return Links((NODE, LEAF), plane, place, rail + 1, lane, *attached(tree, place, rail, side))


def _manager(plan: CablingPlan, tree: Frame, plane: int) -> Links:
    """Uplink n has the port of NIC n of the places given up; two leaves of a unit take turns."""
    number = np.arange(plan.manager_uplinks)
    place = np.array(plan.manager, np.int64)[number // tree.rails]
    rail, side = number % tree.rails, number % tree.links_per_nic
    lane = np.full_like(number, plane if tree.planes > 1 else 0)
    one = np.ones_like(number)
    return Links((MANAGER, LEAF), plane, one, number + 1, lane, *attached(tree, place, rail, side))


def attached(tree: Frame, place: Column, rail: Column, side: Column) -> tuple[Column, Column, Column]:
    """Leaf, port and lane of NICs.

    Args:
        tree: whose leaves they are.
        place: of the node, from 0.
        rail: of the NIC, from 0.
        side: 0 or 1, which of its two links with dual ToR; else 0.
    """
    unit, seat = np.divmod(place, tree.unit_nodes)
    down = seat if tree.attach is Attach.RAIL else seat * tree.rails + rail
    within = rail if tree.attach is Attach.RAIL else side
    port, lane = np.divmod(down, tree.breakout)
    leaf = unit * tree.leaves_per_unit + within
    return leaf + 1, port + 1, lane + 1 if tree.breakout > 1 else np.zeros_like(lane)


def _uplinks(tree: Frame, plane: int) -> Links:
    """Each leaf has its links to one spine of its pod side by side, on the spine as well."""
    leaf = np.repeat(np.arange(tree.leaves), tree.uplinks)
    uplink = np.tile(np.arange(tree.uplinks), tree.leaves)
    pod, in_pod = np.divmod(leaf, tree.pod_leaves)
    spine, link = np.divmod(uplink, tree.leaf_spine_links)
    none = np.zeros_like(leaf)
    return Links(
        (LEAF, SPINE),
        plane,
        leaf + 1,
        tree.ports - tree.uplinks + uplink + 1,
        none,
        pod * tree.spines + spine + 1,
        in_pod * tree.leaf_spine_links + link + 1,
        none,
    )


def _cores(tree: Frame, plane: int) -> Links:
    """Spine n of every pod reaches all cores of group n."""
    count = tree.pods * tree.spines
    spine = np.repeat(np.arange(count), tree.spine_uplinks)
    uplink = np.tile(np.arange(tree.spine_uplinks), count)
    pod, group = np.divmod(spine, tree.spines)
    core, link = np.divmod(uplink, tree.spine_core_links)
    none = np.zeros_like(spine)
    return Links(
        (SPINE, CORE),
        plane,
        spine + 1,
        tree.ports - tree.spine_uplinks + uplink + 1,
        none,
        group * tree.cores + core + 1,
        pod * tree.spine_core_links + link + 1,
        none,
    )
