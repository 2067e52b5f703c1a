"""plan = f(spec, assets, catalogue, lock): same input, same bytes.

No file, clock or chance comes in here. Cost grows linearly with the slots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright import __version__
from rackwright.catalogue.model import Reboot
from rackwright.errors import SpecInvalid
from rackwright.plan import wiring
from rackwright.plan.aws import access_stacks, compute_stacks, network_stacks
from rackwright.plan.fabric.fabrics import fabrics
from rackwright.plan.fabric.subnets import subnets
from rackwright.plan.hardware import hardware
from rackwright.plan.limits import not_planned, not_provisionable, uncabled
from rackwright.plan.local_nvme import local_nvme
from rackwright.plan.lock import Lock
from rackwright.plan.model import (
    Identity,
    Origin,
    Plan,
    PoolPlan,
    StacksPlan,
)
from rackwright.plan.nvmeof import nvmeof
from rackwright.plan.ranges import fold
from rackwright.plan.rdma import rdma
from rackwright.plan.seating import room, seat
from rackwright.plan.sites import missing_networks, site_plans, site_ranges
from rackwright.plan.slots import PoolGround, slots, strange_bmc_addresses
from rackwright.plan.slurm import ambiguous, schedulers, unplaceable
from rackwright.plan.stacks import onprem_stacks
from rackwright.plan.totals import totals
from rackwright.plan.tuning import settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.findings import Finding
    from rackwright.plan.fabric.fabrics import Fabrics
    from rackwright.plan.hardware import Hardware
    from rackwright.plan.model import SitePlan, Slot
    from rackwright.plan.seating import Seating
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.load import LoadedSpec


def build(
    loaded: LoadedSpec, catalogue: Catalogue, lock: Lock | None, *, resize: bool = False
) -> tuple[Plan, Lock]:
    """Plan a cluster.

    Args:
        loaded: spec and assets, with the hashes of their files.
        catalogue: what is known of hardware.
        lock: what the last plan allocated; None on the first.
        resize: whether cables between switches may move, so that a fabric can grow or change.

    Raises:
        SpecInvalid: the spec cannot be planned; its findings carry spec paths, no places.
    """
    spec = loaded.spec
    nodes, findings = hardware(spec, catalogue)
    _refuse([*missing_networks(spec), *findings])
    _refuse(list(wiring.one_site_each(spec)))
    _refuse(list(ambiguous(spec, catalogue)))
    split, findings = wiring.rails(
        spec, {name: one.wiring for name, one in nodes.items()}, lock.rails if lock else {}
    )
    _refuse([*findings, *room(spec)])
    wanted, loose = fabrics(spec, nodes, catalogue.switches, lock, resize=resize)
    footprints = {name: one.footprint for name, one in nodes.items() if one.footprint}
    seating, more = seat(spec, footprints, lock, wanted.standing())
    _refuse([*loose, *more])
    _refuse(list(wiring.crowded(spec, split, _last_indexes(spec, seating))))
    cabled, loose = wanted.placed(seating)
    _refuse(loose)
    new_lock = Lock(spec.cluster.name, catalogue.sha256, split, seating.pools, cabled.seats)
    plan = _plan(loaded, catalogue, nodes, seating, cabled, lock=new_lock)
    _refuse(unplaceable(plan.slurm))
    _refuse(list(strange_bmc_addresses(loaded.rows, plan.pools)))
    return plan, new_lock


def _last_indexes(spec: ClusterSpec, seating: Seating) -> dict[str, int]:
    """Fabric → highest index of a slot on it."""
    last: dict[str, int] = {}
    for name, seats in seating.pools.items():
        highest = max(one.index for one in seats.seats.values())
        for fabric in spec.pools[name].fabrics:
            last[fabric] = max(last.get(fabric, 0), highest)
    return last


def _refuse(findings: list[Finding]) -> None:
    if findings:
        raise SpecInvalid(findings)


def _plan(  # noqa: PLR0913 (all that was decided comes together here)
    loaded: LoadedSpec,
    catalogue: Catalogue,
    nodes: Mapping[str, Hardware],
    seating: Seating,
    cabled: Fabrics,
    *,
    lock: Lock,
) -> Plan:
    spec, cabling = loaded.spec, cabled.plans()
    sites = site_plans(spec, seating.halls)
    pools = _pools(loaded, catalogue, nodes, seating, lock=lock)
    stacks = _stacks(spec, sites, pools)
    return Plan(
        origin=_origin(loaded, lock),
        cluster=Identity(name=spec.cluster.name, domain=spec.cluster.domain),
        backend=spec.state.backend,
        secrets=spec.state.secrets,
        sites=sites,
        links=dict(sorted(spec.links.items())),
        pools=pools,
        fabrics=dict(sorted(spec.fabrics.items())),
        cabling=cabling,
        subnets=subnets(spec.fabrics, cabling, pools),
        stacks=stacks,
        slurm=schedulers(spec, catalogue, pools),
        nvmeof=nvmeof(spec, pools),
        rdma=rdma(spec, pools),
        local_nvme=local_nvme(spec),
        totals=totals(sites, pools, stacks, None if uncabled(spec, cabling) else cabling),
        not_planned=not_planned(spec, pools, catalogue, cabling),
        not_provisionable=not_provisionable(spec, pools),
        undelivered=_undelivered(sites, pools),
    )


def _origin(loaded: LoadedSpec, lock: Lock) -> Origin:
    return Origin(
        spec_sha256=loaded.spec_sha256,
        assets_sha256=loaded.assets_sha256,
        lock_sha256=lock.sha256,
        catalogue_sha256=lock.catalogue_sha256,
        package=__version__,
    )


def _stacks(spec: ClusterSpec, sites: Mapping[str, SitePlan], pools: Mapping[str, PoolPlan]) -> StacksPlan:
    return StacksPlan(
        onprem=onprem_stacks(sites, pools),
        aws_network=network_stacks(spec, pools),
        aws_access=access_stacks(spec, pools),
        aws_compute=compute_stacks(spec, pools),
    )


def _pools(
    loaded: LoadedSpec, catalogue: Catalogue, nodes: Mapping[str, Hardware], seating: Seating, *, lock: Lock
) -> dict[str, PoolPlan]:
    rails, assets = wiring.networks(loaded.spec, lock.rails), loaded.assets
    ranges = {name: site_ranges(site) for name, site in loaded.spec.sites.items()}
    pools: dict[str, PoolPlan] = {}
    for name, seats in sorted(seating.pools.items()):
        pool = loaded.spec.pools[name]
        ground = PoolGround(name, pool, nodes[name], settings(catalogue, pool), ranges[seats.site], rails)
        pools[name] = _pool(ground, slots(ground, seats.seats, assets))
    return pools


def _pool(ground: PoolGround, made: dict[str, Slot]) -> PoolPlan:
    pool, platform = ground.pool, ground.hardware.platform
    return PoolPlan(
        site=pool.site,
        platform=platform.name,
        image=pool.image,
        roles=tuple(sorted(pool.roles)),
        provisioning=platform.provisioning.value,
        management_interface=platform.management_interface,
        accelerators_per_node=ground.hardware.accelerators,
        accelerator=platform.accelerator,
        power_kw_per_node=platform.power_kw,
        units_per_node=platform.units,
        tuning=ground.tuning,
        reboot=platform.reboot or Reboot(),
        nics=ground.hardware.nics,
        slots=made,
    )


def _undelivered(sites: Mapping[str, SitePlan], pools: Mapping[str, PoolPlan]) -> dict[str, str]:
    """Pool → numbers of the slots that wait for the factory."""
    waiting = {
        name: fold(slot.number for slot in pool.slots.values() if slot.asset is None)
        for name, pool in pools.items()
        if sites[pool.site].kind == "onprem"
    }
    return {name: numbers for name, numbers in waiting.items() if numbers}
