"""Sums over the cluster; what no part plans yet is None, never 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.plan import aws
from rackwright.plan.model import OnpremSitePlan, Totals
from rackwright.plan.racks import WATTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.fabric.model import CablingPlan
    from rackwright.plan.model import PoolPlan, SitePlan, StacksPlan

BESIDE_HOST_SETS = 3
"""Resources of an `onprem` stack that are no host sets: the stack, its hall and their provider."""


def totals(
    sites: Mapping[str, SitePlan],
    pools: Mapping[str, PoolPlan],
    stacks: StacksPlan,
    cabling: Mapping[str, CablingPlan] | None,
) -> Totals:
    """Add everything up.

    Args:
        sites: all.
        pools: all.
        stacks: slices of all stacks.
        cabling: of every cabled fabric; None where one of them cannot be counted.
    """
    return Totals(
        nodes=sum(len(pool.slots) for pool in pools.values()),
        accelerators=sum(len(pool.slots) * pool.accelerators_per_node for pool in pools.values()),
        racks=sum(len(site.racks) for site in sites.values() if isinstance(site, OnpremSitePlan)),
        power_kw=_power_kw(pools),
        resources=_resources(stacks),
        switches=None if cabling is None else _switches(cabling),
        cables=None if cabling is None else _cables(cabling),
    )


def _switches(cabling: Mapping[str, CablingPlan]) -> int:
    return sum(tier.switches for one in cabling.values() for tier in one.tiers)


def _cables(cabling: Mapping[str, CablingPlan]) -> int:
    return sum(some.count for one in cabling.values() for some in one.cables)


def _power_kw(pools: Mapping[str, PoolPlan]) -> float | None:
    """IT load of all nodes at most, kW; None unless the power of every platform is known."""
    watts = 0
    for pool in pools.values():
        if pool.power_kw_per_node is None:
            return None
        watts += len(pool.slots) * round(pool.power_kw_per_node * WATTS)
    return watts / WATTS


def _resources(stacks: StacksPlan) -> int:
    """Pulumi resources of all stacks: they grow with pools, and only on-prem with nodes."""
    halls = sum(len(stack.host_sets) + BESIDE_HOST_SETS for stack in stacks.onprem.values())
    networks = sum(map(aws.network_resources, stacks.aws_network.values()))
    accesses = sum(map(aws.access_resources, stacks.aws_access.values()))
    return halls + networks + accesses + sum(map(aws.compute_resources, stacks.aws_compute.values()))
