"""What a spec's fat trees have to carry: a `Demand` for each."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rackwright.plan.fabric.frame import Demand, Infeasible
from rackwright.spec.fabrics import FatTree, InfiniBand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.catalogue.model import Switch
    from rackwright.plan.model import Plan, PoolPlan
    from rackwright.spec.fabrics import Ethernet


def demand(plan: Plan, name: str, topology: FatTree, switch: Switch) -> Demand:
    """Demand of one fat tree.

    Args:
        plan: its pools are counted.
        name: of the fabric.
        topology: of the fabric.
        switch: that it is built of.

    Raises:
        Infeasible: no pool is on it, or its pools have different numbers of NICs there.
    """
    nics = _nics(name, plan.pools)
    each = _one_number(nics)
    fabric = plan.fabrics[name]
    return Demand(
        endpoints=each * sum(len(plan.pools[pool].slots) for pool in nics),
        ports=switch.ports,
        rails=each,
        unit_nodes=topology.unit_nodes,
        attach=topology.attach,
        planes=topology.planes,
        tiers=topology.tiers,
        leaf_oversubscription=Fraction(topology.oversubscription.leaf).limit_denominator(1000),
        spine_oversubscription=Fraction(topology.oversubscription.spine).limit_denominator(1000),
        breakout=topology.breakout,
        manager_uplinks=fabric.manager.uplinks if isinstance(fabric, InfiniBand) else 0,
        partial=topology.partial,
    )


def fat_trees(plan: Plan) -> dict[str, FatTree]:
    """Fabrics of a plan that are fat trees, by name."""
    cabled: dict[str, InfiniBand | Ethernet] = {
        name: fabric for name, fabric in plan.fabrics.items() if fabric.kind != "efa"
    }
    return {name: fabric.topology for name, fabric in cabled.items() if isinstance(fabric.topology, FatTree)}


def _nics(name: str, pools: Mapping[str, PoolPlan]) -> dict[str, int]:
    """Pool → NICs of each of its nodes on the fabric; pools that are not on it are left out."""
    counts = {
        pool: sum(port.fabric == name for port in next(iter(plan.slots.values())).ports)
        for pool, plan in pools.items()
    }
    return {pool: count for pool, count in counts.items() if count}


def _one_number(nics: Mapping[str, int]) -> int:
    numbers = set(nics.values())
    if len(numbers) == 1:
        return numbers.pop()
    raise Infeasible(
        "the nodes of a fat tree have the same number of NICs on it",
        got=", ".join(f"{pool} {count}" for pool, count in nics.items()) or "no pool is on it",
        expected="one number",
        hint="give all its pools the same `nics`, or put some on a fabric of their own",
    )
