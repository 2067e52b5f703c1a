"""Rules on pools: what they are made of, and where that can be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.checks.registry import Breach, rule
from rackwright.findings import Level, SpecPath
from rackwright.spec.pools import CapacityBlock
from rackwright.spec.sites import AwsSite, Cooling, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import SpecSubject
    from rackwright.spec.pools import Pool


def pools_in(subject: SpecSubject, kind: type[OnpremSite | AwsSite]) -> Iterator[tuple[str, Pool]]:
    """Pools whose site is of a kind."""
    for name, pool in subject.spec.pools.items():
        if isinstance(subject.spec.sites.get(pool.site), kind):
            yield name, pool


def lost_pools(subject: SpecSubject) -> Iterator[Pool]:
    """Pools whose site is not there: what they would have been part of cannot be said to lack them."""
    return (pool for pool in subject.spec.pools.values() if pool.site not in subject.spec.sites)


@rule(
    "POOL001",
    remedy="count all of them as static; Slurm can power down idle nodes without giving their slots up",
    source="burst slots are launched on demand, and a hall has only the machines that stand in it",
)
def burst_is_for_the_cloud(subject: SpecSubject) -> Iterator[Breach]:
    """Only a pool in the cloud has burst slots."""
    for name, pool in pools_in(subject, OnpremSite):
        if pool.nodes.burst:
            yield Breach(
                SpecPath() / "pools" / name / "nodes" / "burst",
                f"pool {name} cannot launch machines in {pool.site}",
                got=f"burst {pool.nodes.burst} on-prem",
                expected="burst 0",
            )


@rule(
    "POOL002",
    remedy="take `assets` away; EC2 knows no serials or BMCs",
    source="an asset file lists what a factory delivers",
)
def assets_are_delivered_to_halls(subject: SpecSubject) -> Iterator[Breach]:
    """Only an on-prem pool has an asset file."""
    for name, pool in pools_in(subject, AwsSite):
        if pool.assets:
            yield Breach(
                SpecPath() / "pools" / name / "assets",
                f"pool {name} is in the cloud, where no machine of ours is delivered",
                got=pool.assets,
                expected="no assets",
            )


@rule(
    "POOL003",
    remedy="say `cooling: liquid` where the hall's racks have it, or choose another platform",
    source="the platform's entry in the catalogue, cooling",
)
def liquid_is_where_it_is_needed(subject: SpecSubject) -> Iterator[Breach]:
    """A platform whose chips are cooled by liquid stands in racks that have it."""
    for name, pool in pools_in(subject, OnpremSite):
        site, platform = subject.spec.sites[pool.site], subject.catalogue.platforms.get(pool.platform)
        dry = isinstance(site, OnpremSite) and site.racks.cooling is not Cooling.LIQUID
        if dry and platform is not None and platform.cooling == "liquid":
            yield Breach(
                SpecPath() / "pools" / name / "platform",
                f"{pool.platform} is cooled by liquid, and the racks of {pool.site} by air",
                got="cooling: air",
                expected="cooling: liquid",
            )


@rule(
    "CAP001",
    remedy="take `capacity` away",
    source="EC2 API: RunInstances, InstanceMarketOptions; a hall's machines are there already",
)
def capacity_is_bought_in_the_cloud(subject: SpecSubject) -> Iterator[Breach]:
    """Only a pool in the cloud says how its capacity is bought."""
    for name, pool in pools_in(subject, OnpremSite):
        if pool.capacity is not None:
            yield Breach(
                SpecPath() / "pools" / name / "capacity",
                f"nothing is bought for pool {name}, which is on-prem",
                got=pool.capacity.kind,
                expected="no capacity",
            )


@rule(
    "CAP002",
    level=Level.WARNING,
    remedy="count all of them as static: they are paid for in advance, used or not",
    source="aws-parallelcluster, ComputeResourceSizeValidator: min = max > 0",
)
def a_capacity_block_is_filled(subject: SpecSubject) -> Iterator[Breach]:
    """A pool in a capacity block fills it from the start: a slot left for later is paid for and empty."""
    for name, pool in subject.spec.pools.items():
        if isinstance(pool.capacity, CapacityBlock) and pool.nodes.burst:
            yield Breach(
                SpecPath() / "pools" / name / "nodes" / "burst",
                f"pool {name} leaves slots of its capacity block empty",
                got=f"burst {pool.nodes.burst}",
                expected="burst 0",
            )
