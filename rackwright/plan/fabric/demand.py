"""One fat tree of a spec and the nodes on it in, a `Demand` out."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from rackwright.plan.fabric.frame import Demand, Infeasible
from rackwright.spec.fabrics import InfiniBand, rate_gbps, uplink_gbps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.catalogue.switch import Switch
    from rackwright.spec.fabrics import Ethernet, FatTree


def demand(
    fabric: InfiniBand | Ethernet, topology: FatTree, switch: Switch, nics: Mapping[str, int], nodes: int
) -> Demand:
    """Demand of one fat tree.

    Args:
        fabric: that it is the topology of.
        topology: of the fabric.
        switch: that it is built of.
        nics: pool → NICs of each of its nodes on the fabric.
        nodes: of all these pools.

    Raises:
        Infeasible: its pools have different numbers of NICs there, or the switch is none for such links.
    """
    each = _one_number(nics)
    _refuse_switch(fabric, topology, switch)
    return Demand(
        endpoints=each * nodes,
        ports=switch.ports,
        rails=each,
        unit_nodes=topology.unit_nodes,
        attach=topology.attach,
        planes=topology.planes,
        tiers=topology.tiers,
        leaf_oversubscription=Fraction(topology.oversubscription.leaf).limit_denominator(1000),
        spine_oversubscription=Fraction(topology.oversubscription.spine).limit_denominator(1000),
        breakout=topology.breakout,
        uplink_ratio=Fraction(uplink_gbps(fabric) / rate_gbps(fabric)).limit_denominator(1000),
        pod_units=topology.pod_units,
        manager_uplinks=manager_uplinks(fabric),
        partial=topology.partial,
    )


def manager_uplinks(fabric: InfiniBand | Ethernet) -> int:
    """Ports of leaves that the fabric manager's own links take, in one plane."""
    return fabric.manager.uplinks if isinstance(fabric, InfiniBand) else 0


def _refuse_switch(fabric: InfiniBand | Ethernet, topology: FatTree, switch: Switch) -> None:
    """A switch speaks the fabric's kind, and a port of it has the rate of all links that share it."""
    if fabric.kind not in switch.kinds:
        raise Infeasible(
            f"{switch.name} is no switch of this kind of fabric",
            got=fabric.kind,
            expected=" or ".join(switch.kinds),
            hint="see `rackwright catalogue list` for others",
        )
    if topology.breakout.bit_count() != 1:
        raise Infeasible(
            "no cage is split into so many ports",
            got=f"breakout {topology.breakout}",
            expected="1, 2, 4 or 8",
            hint="lanes of a cage are shared out equally, and there are 4 or 8 of them",
        )
    wanted = rate_gbps(fabric) * topology.breakout
    if wanted > switch.rate_gbps:
        tails = f"{topology.breakout} links of " if topology.breakout > 1 else ""
        raise Infeasible(
            f"a port of {switch.name} is slower than what it should carry",
            got=f"{tails}{rate_gbps(fabric):g} Gb/s",
            expected=f"at most {switch.rate_gbps:g} Gb/s in all",
            hint="fewer links on a port (`breakout`), slower ones, or a faster switch",
        )
    if uplink_gbps(fabric) > switch.rate_gbps:
        raise Infeasible(
            f"a port of {switch.name} is slower than an uplink",
            got=f"{uplink_gbps(fabric):g} Gb/s",
            expected=f"at most {switch.rate_gbps:g} Gb/s",
            hint="a slower `uplink_speed`, or a faster switch",
        )


def _one_number(nics: Mapping[str, int]) -> int:
    numbers = set(nics.values())
    if len(numbers) == 1:
        return numbers.pop()
    raise Infeasible(
        "the nodes of a fat tree have the same number of NICs on it",
        got=", ".join(f"{pool} {count}" for pool, count in nics.items()),
        expected="one number",
        hint="give all its pools the same `nics`, or put some on a fabric of their own",
    )
