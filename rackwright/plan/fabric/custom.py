"""A hierarchy that is no fat tree, as the spec tells it, in; its counts out, or why they cannot be.

Torus, dragonfly and others are counted and checked for ports. Which port each cable has is not known here, so
none is planned, drawn or compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.plan.fabric.frame import Infeasible
from rackwright.plan.fabric.model import CablesPlan, CablingPlan, TierPlan
from rackwright.spec.fabrics import NODE, rate_gbps, uplink_gbps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.switch import Switch
    from rackwright.plan.fabric.settle import Ground
    from rackwright.spec.fabrics import Custom


def cabling(ground: Ground, topology: Custom, switches: Mapping[str, Switch]) -> CablingPlan:
    """Numbers of one fabric.

    Raises:
        Infeasible: more cables than ports, or a role that is not there.
    """
    entry = switches.get(topology.switch) if topology.switch else None
    endpoints = sum(ground.nics[pool] * len(numbers) for pool, numbers in ground.numbers.items())
    for misfit in _misfits(topology, entry, endpoints):
        raise misfit
    return CablingPlan(
        site=ground.site,
        switch=topology.switch,
        switch_units=None,
        rate_gbps=rate_gbps(ground.fabric),
        uplink_gbps=uplink_gbps(ground.fabric),
        endpoints=endpoints,
        nics=dict(sorted(ground.nics.items())),
        tree=None,
        manager_uplinks=0,
        manager=(),
        tiers=tuple(TierPlan(role=role, switches=count) for role, count in topology.switches.items()),
        cables=tuple(CablesPlan(between=one.ends, count=one.count) for one in topology.cables),
        places={},
        switches={},
    )


def _misfits(topology: Custom, switch: Switch | None, endpoints: int) -> Iterator[Infeasible]:
    ends = {role: 0 for one in topology.cables for role in one.between}
    for one in topology.cables:
        for role in one.between:
            ends[role] += one.count
    known = {NODE, *topology.switches}
    for role in ends:
        if role not in known:
            yield Infeasible(
                "cables of a custom topology end at a role that has no switches",
                got=role,
                expected=f"one of {', '.join(sorted(known))}",
            )
    if ends.get(NODE, 0) > endpoints:
        yield Infeasible(
            "more cables end at nodes than their pools have NICs on the fabric",
            got=f"{ends[NODE]} ends",
            expected=f"at most {endpoints}",
        )
    if switch is not None:
        yield from _crowded(topology, ends, switch)


def _crowded(topology: Custom, ends: Mapping[str, int], switch: Switch) -> Iterator[Infeasible]:
    for role, count in topology.switches.items():
        if ends.get(role, 0) > count * switch.ports:
            yield Infeasible(
                f"more cables end at {role} switches than they have ports",
                got=f"{ends[role]} ends",
                expected=f"at most {count * switch.ports}, {count} {switch.name} of {switch.ports} ports",
            )
