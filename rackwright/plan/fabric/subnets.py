"""Fabrics and pools in, InfiniBand subnets out: each with the hosts that run its subnet manager."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rackwright.plan.fabric.model import ManagerPlan, SubnetPlan
from rackwright.spec.fabrics import InfiniBand
from rackwright.spec.pools import Role

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.fabric.model import CablingPlan
    from rackwright.plan.model import PoolPlan, Slot
    from rackwright.spec.fabrics import Fabric

HIGHEST = 15
"""Priority of a subnet manager; the standby's is lower (InfiniBand Architecture Specification 14.4)."""
MANAGERS = 2
"""A master and its standby; further slots with the role wait to become one of them."""


def subnet_name(fabric: str, plane: int, planes: int) -> str:
    """``compute``, or ``compute-p2`` of the second of several planes."""
    return fabric if planes == 1 else f"{fabric}-p{plane}"


class _Subnet(NamedTuple):
    name: str
    fabric: str
    plane: int
    site: str


def subnets(
    fabrics: Mapping[str, Fabric], cabling: Mapping[str, CablingPlan], pools: Mapping[str, PoolPlan]
) -> dict[str, SubnetPlan]:
    """Name → subnet, of every fat tree that opensm manages and that somebody can manage.

    Args:
        fabrics: of the spec.
        cabling: of those that have cables.
        pools: all.
    """
    found = sorted(_subnets(fabrics, cabling))
    managed = {one: _managers(one, found, fabrics, pools) for one in found}
    return {
        one.name: SubnetPlan(fabric=one.fabric, plane=one.plane, managers=managers)
        for one, managers in managed.items()
        if managers
    }


def _subnets(fabrics: Mapping[str, Fabric], cabling: Mapping[str, CablingPlan]) -> Iterator[_Subnet]:
    for name, cables in cabling.items():
        fabric = fabrics[name]
        has_own = isinstance(fabric, InfiniBand) and fabric.manager.kind == "opensm"
        if has_own and cables.tree and cables.places:  # a locked tree may have nobody on it any more
            planes = cables.tree.planes
            for plane in range(1, planes + 1):
                yield _Subnet(subnet_name(name, plane, planes), name, plane, cables.site)


def _managers(
    one: _Subnet,
    found: list[_Subnet],
    fabrics: Mapping[str, Fabric],
    pools: Mapping[str, PoolPlan],
) -> tuple[ManagerPlan, ...]:
    number = [other for other in found if other.site == one.site].index(one)
    slots = [
        slot
        for _, pool in sorted(pools.items())
        if pool.site == one.site and Role.SUBNET_MANAGER in pool.roles
        for slot in pool.slots.values()
    ]
    return tuple(
        ManagerPlan(slot=slot.name, priority=HIGHEST - rank, guid=_guid(slot, number, fabrics))
        for rank, slot in enumerate(slots[:MANAGERS])
    )


def _guid(slot: Slot, number: int, fabrics: Mapping[str, Fabric]) -> str | None:
    """An asset's GUIDs are those of its rails, then those of its ports as manager, by name of the subnet."""
    own = sum(fabrics[port.fabric].kind == "infiniband" for port in slot.ports)
    guids = slot.asset.hca_guids[own:] if slot.asset else ()
    return guids[number] if number < len(guids) else None
