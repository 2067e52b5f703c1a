"""What this release does not plan and cannot build: named, never counted as 0, never silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.plan.aws import NODES, subnet_of, zones
from rackwright.spec.fabrics import Custom, Efa, FatTree
from rackwright.spec.sites import AwsSite
from rackwright.spec.storage import FsxLustre, LocalNvme, Lustre, NvmeOverFabrics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.fabric.model import CablingPlan
    from rackwright.plan.model import PoolPlan
    from rackwright.spec.cluster import ClusterSpec

NEVER_PLANNED = ("cost", "failure")
"""Parts that no code plans yet, whatever the spec."""


def not_planned(
    spec: ClusterSpec,
    pools: Mapping[str, PoolPlan],
    catalogue: Catalogue,
    cabling: Mapping[str, CablingPlan],
) -> tuple[str, ...]:
    """Names of the totals and parts that are null in the plan, or that are missing in its sums, sorted."""
    by_spec = {*_by_spec(spec, pools), *_by_cabling(spec, catalogue, cabling)}
    return tuple(sorted({*NEVER_PLANNED, *by_spec}))


def _by_cabling(spec: ClusterSpec, catalogue: Catalogue, cabling: Mapping[str, CablingPlan]) -> Iterator[str]:
    if uncabled(spec, cabling):
        yield from ("cables", "switches")
    used = {one.switch for one in cabling.values() if one.switch is not None}
    if any(catalogue.switches[switch].power_kw is None for switch in used):
        yield "switch_power"


def uncabled(spec: ClusterSpec, cabling: Mapping[str, CablingPlan]) -> list[str]:
    """Fabrics with cables and nodes whose cables are not planned."""
    on_it = {name for pool in spec.pools.values() for name in pool.fabrics}
    return sorted(
        name
        for name, fabric in spec.fabrics.items()
        if name in on_it and name not in cabling and not isinstance(fabric, Efa)
    )


def _by_spec(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> Iterator[str]:
    if any(pool.power_kw_per_node is None for pool in pools.values()):
        yield "power_kw"
    if any(not isinstance(one, NvmeOverFabrics | LocalNvme) for one in spec.storage.values()):
        yield "storage"


def not_provisionable(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> tuple[str, ...]:
    """One sentence for each part of the spec that `up` cannot build, in the spec's order of parts.

    Schedulers and mounts are no such parts: roles converge them on hosts that are up.
    """
    return tuple(
        f"{part}: {reason}"
        for parts in (_sites(spec, pools), _links(spec), _pools(spec, pools), _fabrics(spec), _storage(spec))
        for part, reason in parts
    )


def _sites(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> Iterator[tuple[str, str]]:
    for name, site in zones(spec, pools):
        if subnet_of(site) is None:
            yield f"sites.{name}.vpc.subnets", f"none of the subnets is called {NODES}; no node is launched"


def _links(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    for name, link in sorted(spec.links.items()):
        if all(isinstance(spec.sites.get(end), AwsSite) for end in link.between):
            yield (
                f"links.{name}",
                "this release joins no two zones; peering and its routes are to be made by hand",
            )


def _pools(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> Iterator[tuple[str, str]]:
    for name, pool in pools.items():
        if pool.provisioning == "ec2":
            image = spec.images.get(pool.image)
            if image is None or image.ami is None:
                yield f"images.{pool.image}", f"it has no ami, and pool {name} cannot be launched without one"
        elif pool.provisioning == "none":
            yield f"pools.{name}", f"{pool.platform} has no management controller; power its nodes on by hand"
        elif spec.pools[name].nodes.burst:
            yield (
                f"pools.{name}",
                "this release does not fill on-prem slots on demand; its burst slots stay off",
            )


def _fabrics(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    for name, fabric in sorted(spec.fabrics.items()):
        if not isinstance(fabric, Efa) and isinstance(fabric.topology, FatTree):
            yield f"fabrics.{name}", "this release does not set up the switches of a fat tree"
        elif not isinstance(fabric, Efa) and isinstance(fabric.topology, Custom):
            yield f"fabrics.{name}", "a custom topology is counted; its cables are nobody's plan"


def _storage(spec: ClusterSpec) -> Iterator[tuple[str, str]]:
    for name, storage in sorted(spec.storage.items()):
        if isinstance(storage, Lustre) and storage.existing is None:
            yield f"storage.{name}", "this release does not set up Lustre servers"
        if isinstance(storage, FsxLustre) and storage.existing is None:
            yield f"storage.{name}", "this release does not make FSx file systems"
