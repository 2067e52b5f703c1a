"""Who has which place in a fabric, and of which tree: kept from the lock, or newly allocated.

The rules, all of them (docs/fabrics.md):

- A place is a number from 0; unit, leaf and ports follow from it. A slot that the lock knows keeps
  its place; a new one takes the lowest free, pool by pool in the order of names.
- The fabric manager has the highest places of the tree as it was first built, and keeps them.
- The tree is the lock's as long as its places suffice. It grows by units while no cable of it moves.
- What would move a cable between switches is a finding; `rackwright plan --resize` does it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from math import ceil
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.fabric.demand import demand
from rackwright.plan.fabric.frame import Infeasible, frame, refuse
from rackwright.plan.fabric.locked import FabricSeats
from rackwright.spec.fabrics import Custom, FatTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.catalogue.switch import Switch
    from rackwright.plan.fabric.frame import Demand, Frame
    from rackwright.plan.fabric.locked import Stand
    from rackwright.spec.fabrics import Ethernet, InfiniBand

_IDENTITY = "a slot's cables are its identity (docs/decisions/0003)"
_RESIZE = "keep it as it was, or build it anew: `rackwright plan --resize`"


class TreeMoves(Infeasible):
    """What is asked would move cables between switches that are built."""


@dataclass(frozen=True, slots=True)
class Ground:
    """One fabric, and who is on it."""

    name: str
    fabric: InfiniBand | Ethernet
    nics: Mapping[str, int]
    """Pool → NICs of each of its nodes on the fabric; only pools that have some."""
    numbers: Mapping[str, Sequence[int]]
    """Pool → numbers of its slots, for the same pools."""
    site: str | None
    """Of these pools, which have but one; without a pool, where the lock has its switches."""
    stood: str | None
    """Site where the lock has its switches; None where it has none, or the spec has no such site any more."""


def settle(
    ground: Ground, switches: Mapping[str, Switch], before: FabricSeats | None, *, resize: bool
) -> FabricSeats | Finding | None:
    """Places and tree of one fabric.

    Args:
        ground: the fabric and its nodes.
        switches: of the catalogue.
        before: what the lock says; None on the first plan.
        resize: whether cables between switches may move.

    Returns:
        None for a fabric of which nothing can be said: its switch is not known, nobody is on it or ever was,
        or its topology is custom. Where the last node has left, tree and switches stay as they were.
    """
    topology, kept = ground.fabric.topology, before or FabricSeats()
    if not ground.nics:
        stays = kept.tree and ground.stood and not resize
        return replace(kept, places={}, site=ground.stood) if stays else None
    if isinstance(topology, Custom):
        return None
    if not isinstance(topology, FatTree):
        return FabricSeats(places=_places(ground, kept, taken=()))
    if topology.switch not in switches:
        return before
    if resize and ground.stood != ground.site:
        kept = FabricSeats()
    try:
        _refuse_other_site(ground, kept)
        return _fat_tree(ground, topology, switches[topology.switch], kept, resize=resize)
    except Infeasible as misfit:
        return no_such_tree(ground.name, misfit)


def _refuse_other_site(ground: Ground, kept: FabricSeats) -> None:
    if kept.tree and ground.stood is not None and ground.stood != ground.site:
        raise TreeMoves(
            "the tree was built in another site, and all its switches would move",
            got=f"nodes in {ground.site}",
            expected=f"nodes in {ground.stood}",
            hint="a fabric of another name for that site, or this one built anew: `rackwright plan --resize`",
        )


def _places(ground: Ground, kept: FabricSeats, taken: Sequence[int]) -> dict[str, dict[int, int]]:
    """Everybody's place: what the lock says, and the lowest free ones for the new."""
    places = {
        pool: {number: kept.places.get(pool, {}).get(number, _NONE) for number in numbers}
        for pool, numbers in sorted(ground.numbers.items())
    }
    full = {place for mine in places.values() for place in mine.values()}.union(taken)
    free = (place for place in count() if place not in full)
    return {
        pool: {number: next(free) if place == _NONE else place for number, place in mine.items()}
        for pool, mine in places.items()
        if mine
    }


_NONE = -1


def _fat_tree(
    ground: Ground, topology: FatTree, switch: Switch, kept: FabricSeats, *, resize: bool
) -> FabricSeats:
    wanted = demand(ground.fabric, topology, switch, ground.nics, 0)
    numbers = range(1, wanted.manager_places + 1)
    manager = {number: kept.manager[number] for number in numbers if number in kept.manager}
    places = _places(ground, kept, tuple(manager.values()))
    full = {place for mine in places.values() for place in mine.values()}.union(manager.values())
    missing = wanted.manager_places - len(manager)
    wanted = replace(
        wanted,
        endpoints=(max(full, default=-1) + 1) * wanted.rails,
        manager_uplinks=missing * wanted.rails,
    )
    tree = _tree(wanted, None if resize else kept.tree, len(full) + missing)
    free = (place for place in reversed(range(tree.places)) if place not in full)
    manager = {number: manager[number] if number in manager else next(free) for number in numbers}
    return FabricSeats(tree, places, manager, _standing(tree, kept), None if places else ground.site)


def _tree(wanted: Demand, locked: Frame | None, places: int) -> Frame:
    """The lock's tree, or the same with more units, or a new one where there was none.

    Args:
        wanted: its endpoints reach up to the highest place that is taken.
        locked: the tree as it is; None where a new one may be made.
        places: that are taken, those that the manager still looks for included.

    Raises:
        Infeasible: none that would leave every cable between switches where it is.
    """
    if locked is None:
        return frame(wanted)
    otherwise = list(_otherwise(wanted, locked))
    if otherwise:
        raise TreeMoves(
            "the tree was built otherwise, and cables between its switches would move",
            got=", ".join(f"{what} {now}" for what, now, _ in otherwise),
            expected=", ".join(f"{what} {was}" for what, _, was in otherwise),
            hint=_RESIZE,
        )
    if wanted.units <= locked.units and places <= locked.places:
        return locked
    refuse(wanted)
    grown = locked.grown(wanted.units)
    if grown is None:
        raise TreeMoves(
            "the tree has no ports for more units, and cables between its switches would move",
            got=f"{wanted.units} units of {wanted.unit_nodes} nodes",
            expected=f"at most {locked.units}, as it was built",
            hint=_RESIZE,
        )
    return grown


def _otherwise(wanted: Demand, locked: Frame) -> Iterator[tuple[str, object, object]]:
    """What the spec says of a tree, and what the lock says, where they differ."""
    over, down = wanted.spine_oversubscription, locked.pod_leaves * locked.leaf_spine_links
    pairs: tuple[tuple[str, object, object], ...] = (
        ("attach", wanted.attach.value, locked.attach.value),
        ("unit_nodes", wanted.unit_nodes, locked.unit_nodes),
        ("rails", wanted.rails, locked.rails),
        ("planes", wanted.planes, locked.planes),
        ("breakout", wanted.breakout, locked.breakout),
        ("ports of a switch", wanted.ports, locked.ports),
        ("uplinks of a leaf", wanted.uplinks, locked.uplinks),
        ("tiers", wanted.tiers or locked.tiers, locked.tiers),
        ("leaves of a pod", _pod_leaves(wanted, locked), locked.pod_leaves),
        ("uplinks of a spine", ceil(down / over) if locked.cores else 0, locked.spine_uplinks),
    )
    return (pair for pair in pairs if pair[1] != pair[2])


def _pod_leaves(wanted: Demand, locked: Frame) -> int:
    return locked.pod_leaves if wanted.pod_units is None else wanted.pod_units * locked.leaves_per_unit


def _standing(tree: Frame, kept: FabricSeats) -> dict[str, dict[int, Stand]]:
    """Switches of the lock that the tree still has."""
    sizes = tree.sizes()
    found = {
        tier: {number: stand for number, stand in stands.items() if number <= sizes.get(tier, 0)}
        for tier, stands in kept.switches.items()
    }
    return {tier: stands for tier, stands in found.items() if stands}


def no_such_tree(name: str, misfit: Infeasible) -> Finding:
    """What the user is told of a topology that cannot be."""
    moved = isinstance(misfit, TreeMoves)
    return Finding(
        code=faults.TREE_MOVES if moved else faults.NO_SUCH_TREE,
        message=misfit.message,
        path=SpecPath() / "fabrics" / name / "topology",
        got=misfit.got,
        expected=misfit.expected,
        hint=misfit.hint,
        source=_IDENTITY if moved else "",
    )
