"""Spec, catalogue and pools in, one `SlurmPlan` for each scheduler out."""

from __future__ import annotations

from itertools import chain
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from rackwright.catalogue.load import nearest
from rackwright.catalogue.model import SlurmHost
from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.local_nvme import epilog
from rackwright.plan.model import SlurmNodes, SlurmPartition, SlurmPlan, SlurmQos
from rackwright.plan.slurm_settings import DEFAULTS
from rackwright.plan.slurm_topology import block_sizes, misfits, roots, unit_size, units
from rackwright.spec.pools import Role
from rackwright.spec.sites import OnpremSite
from rackwright.spec.storage import FsxLustre, Lustre

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import Platform
    from rackwright.plan.model import PoolPlan, Slot
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.pools import Pool
    from rackwright.spec.schedulers import BurstTimes, Logins, Slurm

OURS = frozenset({Role.SLURM_CONTROLLER, Role.SLURMDBD, Role.LOGIN})
"""Roles whose hosts run something of the Slurm of their site."""
_ONE_RELEASE = "slurm.conf(5): one file for all hosts, whose keys are those of a release"
_ONE_FILE = "slurm.conf(5): ProctrackType, TaskPlugin and cgroup.conf hold for all nodes of a slurm.conf"


def compute_pools(scheduler: Slurm) -> list[str]:
    """Pools that a scheduler's partitions name, each once."""
    return sorted(set(chain.from_iterable(part.pools for part in scheduler.partitions.values())))


def pools_of(spec: ClusterSpec, scheduler: Slurm) -> list[str]:
    """Pools that run a daemon or a client of a scheduler."""
    here = {
        name
        for name, pool in spec.pools.items()
        if pool.site in scheduler.sites and not OURS.isdisjoint(pool.roles)
    }
    return sorted(here.union(compute_pools(scheduler)) & spec.pools.keys())


def release(spec: ClusterSpec, catalogue: Catalogue, pool: Pool) -> str | None:
    """Release of Slurm on a pool's hosts: what its image says, else what its OS brings."""
    image = spec.images.get(pool.image)
    if image is None or image.slurm is not None:
        return image.slurm if image else None
    return next((one.name for one in catalogue.slurm.values() if image.os in one.os), None)


def ambiguous(spec: ClusterSpec, catalogue: Catalogue) -> Iterator[Finding]:
    """Schedulers of which one slurm.conf cannot be written."""
    for name, scheduler in sorted(spec.schedulers.items()):
        yield from _releases(spec, catalogue, name, scheduler)
        yield from _hosts(spec, catalogue, name, scheduler)


def _releases(spec: ClusterSpec, catalogue: Catalogue, name: str, scheduler: Slurm) -> Iterator[Finding]:
    first: tuple[str, str] | None = None
    for image, pool_name in _images(spec, scheduler).items():
        found = release(spec, catalogue, spec.pools[pool_name])
        if found is None:
            yield _unknown(spec, catalogue, image, pool_name)
        elif first is None:
            first = (found, pool_name)
        elif found != first[0]:
            yield Finding(
                code=faults.SLURMS_DIFFER,
                message=f"the hosts of scheduler {name} have different releases of Slurm",
                path=SpecPath() / "images" / image / "slurm",
                got=f"{found} on {pool_name}, {first[0]} on {first[1]}",
                expected="one release over all its sites",
                hint="give their images the same `slurm`, or the sites schedulers of their own",
                source=_ONE_RELEASE,
            )


def _images(spec: ClusterSpec, scheduler: Slurm) -> dict[str, str]:
    """Image → the last pool that has it; one that is not there is another rule's finding."""
    images = {spec.pools[pool].image: pool for pool in pools_of(spec, scheduler)}
    return {image: pool for image, pool in images.items() if image in spec.images}


def _unknown(spec: ClusterSpec, catalogue: Catalogue, image: str, pool: str) -> Finding:
    os = spec.images[image].os
    return Finding(
        code=faults.SLURM_UNKNOWN,
        message=f"image {image} of pool {pool} does not say which Slurm it has",
        path=SpecPath() / "images" / image,
        got=f"os {os}, which brings none that the catalogue knows",
        expected='its release: `slurm: "24.11"`',
        hint=nearest(os, (name for one in catalogue.slurm.values() for name in one.os)),
        source=_ONE_RELEASE,
    )


def _hosts(spec: ClusterSpec, catalogue: Catalogue, name: str, scheduler: Slurm) -> Iterator[Finding]:
    computing = [pool for pool in compute_pools(scheduler) if pool in spec.pools]
    for pool in computing[1:]:
        first, other = (_platform(spec, catalogue, one) for one in (computing[0], pool))
        if _host(first) != _host(other):
            yield Finding(
                code=faults.HOSTS_DIFFER,
                message=f"the platforms of scheduler {name} confine jobs in different ways",
                path=SpecPath() / "pools" / pool / "platform",
                got=f"{other.name} by {_host(other).proctrack}, {first.name} by {_host(first).proctrack}",
                expected="platforms that have the same `slurm` in the catalogue",
                hint=f"give {pool} a scheduler of its own",
                source=_ONE_FILE,
            )


def _platform(spec: ClusterSpec, catalogue: Catalogue, pool: str) -> Platform:
    return catalogue.platforms[spec.pools[pool].platform]


def _host(platform: Platform) -> SlurmHost:
    return platform.slurm or SlurmHost()


class _Ground(NamedTuple):
    """What one scheduler is planned from."""

    spec: ClusterSpec
    catalogue: Catalogue
    pools: Mapping[str, PoolPlan]
    scheduler: Slurm

    @property
    def computing(self) -> dict[str, PoolPlan]:
        """Pools of its partitions, by name."""
        return {name: self.pools[name] for name in compute_pools(self.scheduler) if name in self.pools}

    def slots(self, role: Role) -> Iterator[str]:
        """Slots with a role, in the order of the scheduler's sites, of the pools' names, and rising."""
        for site in self.scheduler.sites:
            for pool in self.pools.values():
                if pool.site == site and role in pool.roles:
                    yield from pool.slots


def unplaceable(plans: Mapping[str, SlurmPlan]) -> list[Finding]:
    """Topologies with which slurmctld would not start."""
    return [
        finding
        for name, slurm in plans.items()
        for finding in misfits(name, slurm.block_sizes, slurm.units, slurm.version)
    ]


def schedulers(
    spec: ClusterSpec, catalogue: Catalogue, pools: Mapping[str, PoolPlan]
) -> dict[str, SlurmPlan]:
    """Name → Slurm, of a spec in which nothing is `ambiguous`."""
    return {
        name: _slurm(f"{spec.cluster.name}-{name}", _Ground(spec, catalogue, pools, scheduler))
        for name, scheduler in sorted(spec.schedulers.items())
    }


def _slurm(cluster: str, ground: _Ground) -> SlurmPlan:
    scheduler = ground.scheduler
    by_pool = {name: _units(ground, name, pool) for name, pool in ground.computing.items()}
    found = {unit: slots for one in by_pool.values() for unit, slots in one.items()}
    sizes = _block_sizes(ground, found)
    return SlurmPlan(
        cluster=cluster,
        controllers=_controllers(ground),
        accounting=next(ground.slots(Role.SLURMDBD), None),
        version=_release(ground),
        state_folder=scheduler.state_folder,
        slurmd_timeout_s=scheduler.slurmd_timeout_s,
        host=_confinement(ground),
        logins=_logins(ground),
        settings=_settings(ground, epilog(ground.spec, ground.computing) | _prolog(ground)),
        pools={name: _nodes(ground, name, pool) for name, pool in ground.computing.items()},
        partitions=_partitions(scheduler),
        units=found,
        burst=_burst(ground),
        spines={} if sizes else _spines(ground, by_pool),
        block_sizes=sizes,
        qos=_qos(scheduler),
        default_qos=scheduler.default_qos,
        account=scheduler.account,
        users=_users(ground),
    )


def _controllers(ground: _Ground) -> tuple[str, ...]:
    """All hosts with the role where they share their state; else the first alone.

    A second slurmctld that takes over with a state folder of its own knows no job, and kills those
    that it finds running.
    """
    found = tuple(ground.slots(Role.SLURM_CONTROLLER))
    return found if state_is_shared(ground.spec, ground.scheduler) else found[:1]


def state_is_shared(spec: ClusterSpec, scheduler: Slurm) -> bool:
    """Whether the state folder lies on a file system that several hosts can mount."""
    folder = PurePosixPath(scheduler.state_folder)
    return any(
        isinstance(storage, (Lustre, FsxLustre)) and folder.is_relative_to(storage.mount)
        for storage in spec.storage.values()
    )


def _release(ground: _Ground) -> str:
    found = (
        release(ground.spec, ground.catalogue, ground.spec.pools[name])
        for name in pools_of(ground.spec, ground.scheduler)
    )
    return next((one for one in found if one is not None), "")


def _confinement(ground: _Ground) -> SlurmHost:
    platforms = (_platform(ground.spec, ground.catalogue, name) for name in ground.computing)
    return next((_host(platform) for platform in platforms), SlurmHost())


def _logins(ground: _Ground) -> Logins:
    """As the spec has it; a login can belong to no job where jobs have no cgroup."""
    return ground.scheduler.logins if _confinement(ground).proctrack == "cgroup" else "open"


def _prolog(ground: _Ground) -> dict[str, str]:
    """PrologFlags of the spec, with what makes a place in each job that a login can go to."""
    key, stated = next(
        (pair for pair in ground.scheduler.settings.items() if pair[0].lower() == "prologflags"),
        ("PrologFlags", ""),
    )
    flags = [flag for flag in str(stated).split(",") if flag]
    if _logins(ground) == "open" or {"contain", "x11"} & {flag.lower() for flag in flags}:
        return {}
    return {key: ",".join([*flags, "Contain"])}


def _nodes(ground: _Ground, name: str, pool: PoolPlan) -> SlurmNodes:
    platform = _platform(ground.spec, ground.catalogue, name)
    static = list(_static(pool))
    onprem = isinstance(ground.spec.sites[pool.site], OnpremSite)
    return SlurmNodes(
        nodes=tuple(slot.name for slot in static),
        burst=tuple(slot.name for slot in _on_demand(ground, pool)),
        awaited=tuple(slot.name for slot in static if onprem and slot.asset is None),
        cpus=platform.cpus,
        processors=platform.processors,
        memory_mib=platform.memory_mib,
        accelerator=platform.accelerator,
        device=_device(ground.catalogue, platform),
        accelerators=pool.accelerators_per_node,
    )


def _device(catalogue: Catalogue, platform: Platform) -> str | None:
    return catalogue.accelerators[platform.accelerator].device if platform.accelerator else None


def _static(pool: PoolPlan) -> Iterator[Slot]:
    return (slot for slot in pool.slots.values() if not slot.burst)


def _on_demand(ground: _Ground, pool: PoolPlan) -> list[Slot]:
    """Slots that Slurm fills; a hall's burst slots it cannot (`limits`), so they are no nodes of it."""
    if isinstance(ground.spec.sites[pool.site], OnpremSite):
        return []
    return [slot for slot in pool.slots.values() if slot.burst]


def _burst(ground: _Ground) -> BurstTimes | None:
    """None where no slot is filled on demand."""
    filled = any(_on_demand(ground, pool) for pool in ground.computing.values())
    return ground.scheduler.burst if filled else None


def _partitions(scheduler: Slurm) -> dict[str, SlurmPartition]:
    only = len(scheduler.partitions) == 1
    return {
        name: SlurmPartition(pools=tuple(part.pools), default=part.default or only, max_hours=part.max_hours)
        for name, part in sorted(scheduler.partitions.items())
    }


def _units(ground: _Ground, name: str, pool: PoolPlan) -> dict[str, tuple[str, ...]]:
    """Slots of a pool by scalable unit."""
    size = unit_size(ground.spec, _platform(ground.spec, ground.catalogue, name), pool)
    slots = (*_static(pool), *_on_demand(ground, pool))
    return units(name, size, ((slot.number, slot.name) for slot in slots))


def _block_sizes(ground: _Ground, found: Mapping[str, tuple[str, ...]]) -> tuple[int, ...]:
    sizes = (
        unit_size(ground.spec, _platform(ground.spec, ground.catalogue, name), pool)
        for name, pool in ground.computing.items()
    )
    return block_sizes(ground.scheduler.topology, min(sizes, default=1), found)


def _spines(ground: _Ground, units: Mapping[str, Mapping[str, object]]) -> dict[str, tuple[str, ...]]:
    spines: dict[str, list[str]] = {}
    for name, root in roots(ground.spec, ground.computing).items():
        spines.setdefault(root, []).extend(units[name])
    return {spine: tuple(below) for spine, below in sorted(spines.items()) if below}


def _settings(ground: _Ground, planned: Mapping[str, str]) -> dict[str, str]:
    """Keys of slurm.conf by name, in which Slurm does not tell upper from lower case."""
    stated = {key: str(value) for key, value in ground.scheduler.settings.items()}
    lower = {key.lower() for key in stated}
    ours = DEFAULTS | _memory(ground)
    kept = {key: value for key, value in ours.items() if key.lower() not in lower}
    return dict(sorted({**kept, **stated, **planned}.items()))


def _memory(ground: _Ground) -> dict[str, str]:
    """Memory is given out, and a job held to it, where jobs have a cgroup and all nodes' memory is known.

    Without this ConstrainRAMSpace holds no job to anything (seen in tests/kernel/test_slurm.py). A job that
    asks for none gets its processors' share.
    """
    platforms = [_platform(ground.spec, ground.catalogue, name) for name in ground.computing]
    shares = [one.memory_mib // one.cpus for one in platforms if one.memory_mib and one.cpus]
    if _confinement(ground).proctrack != "cgroup" or not shares or len(shares) < len(platforms):
        return {}
    return {"SelectTypeParameters": "CR_Core_Memory", "DefMemPerCPU": str(min(shares))}


def _qos(scheduler: Slurm) -> dict[str, SlurmQos]:
    return {
        name: SlurmQos(priority=qos.priority, preempts=tuple(sorted(qos.preempts)), max_hours=qos.max_hours)
        for name, qos in sorted(scheduler.qos.items())
    }


def _users(ground: _Ground) -> tuple[str, ...]:
    sites = (ground.spec.sites.get(site) for site in ground.scheduler.sites)
    return tuple(sorted({site.access.user for site in sites if site is not None}))
