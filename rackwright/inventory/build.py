"""Plan and `Observed` in, `Inventory` out: who may be connected to, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.inventory.model import Absence, Absent, Host, Inventory, SlurmDuty, SlurmPart, StorageDuty
from rackwright.inventory.zone import NO_INSTANCE
from rackwright.plan.model import OnpremSitePlan
from rackwright.plan.stacks import MAINTENANCE, host_set_name
from rackwright.spec.sites import MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from rackwright.inventory.keys import Judged
    from rackwright.plan.model import Plan, PoolPlan, SitePlan, Slot
    from rackwright.plan.observed import ObservedSlot


def expected(plan: Plan) -> Iterator[tuple[str, Slot]]:
    """Site and slot of the hosts whose consoles are read: of a hall those delivered, and not held."""
    for pool in plan.pools.values():
        hall = isinstance(plan.sites[pool.site], OnpremSitePlan)
        for slot in pool.slots.values():
            if not hall or (slot.asset and not slot.asset.maintenance):
                yield pool.site, slot


def build(plan: Plan, judged: Judged) -> Inventory:
    """The inventory after the consoles were read."""
    hosts: dict[str, Host] = {}
    absent: dict[str, Absent] = {}
    parts = _slurm_parts(plan)
    for name, pool in plan.pools.items():
        for slot in pool.slots.values():
            entry = _entry(plan.sites[pool.site], name, pool, slot, judged)
            if isinstance(entry, Host):
                parts_of = {
                    "slurm": parts.get(slot.name),
                    "subnets": _subnets(plan, slot.name),
                    "storage": _storage(plan, name, slot.name),
                }
                hosts[slot.name] = entry.model_copy(update=parts_of)
            else:
                absent[slot.name] = entry
    return Inventory(cluster=plan.cluster.name, domain=plan.cluster.domain, hosts=hosts, absent=absent)


def _subnets(plan: Plan, slot: str) -> tuple[str, ...]:
    """Subnets that a slot manages, or stands by for."""
    return tuple(
        name
        for name, subnet in sorted(plan.subnets.items())
        if any(manager.slot == slot for manager in subnet.managers)
    )


def _storage(plan: Plan, pool: str, slot: str) -> tuple[StorageDuty, ...]:
    """What a slot serves, and connects to, and how."""
    slots: dict[StorageDuty, Collection[str]] = {
        StorageDuty.RDMA: plan.rdma,
        StorageDuty.TARGET: plan.nvmeof.targets if plan.nvmeof else {},
        StorageDuty.HOST: plan.nvmeof.hosts if plan.nvmeof else {},
    }
    scratch = (StorageDuty.SCRATCH,) if pool in plan.local_nvme else ()
    return (*(duty for duty, those in slots.items() if slot in those), *scratch)


def _slurm_parts(plan: Plan) -> dict[str, SlurmPart]:
    """Slot → its part in its Slurm; no slot is in two (SLURM008)."""
    duties: dict[tuple[str, str], list[SlurmDuty]] = {}
    for scheduler, slurm in plan.slurm.items():
        for nodes in slurm.pools.values():
            for slot in (*nodes.nodes, *nodes.burst):
                duties.setdefault((slot, scheduler), []).append(SlurmDuty.NODE)
        for slot in slurm.controllers:
            duties.setdefault((slot, scheduler), []).append(SlurmDuty.CONTROLLER)
            if slurm.burst:
                duties[slot, scheduler].append(SlurmDuty.BURST)
        if slurm.accounting:
            duties.setdefault((slurm.accounting, scheduler), []).append(SlurmDuty.ACCOUNTING)
    return {
        slot: SlurmPart(
            scheduler=scheduler,
            duties=tuple(found),
            logins=plan.slurm[scheduler].logins if found == [SlurmDuty.NODE] else "open",
        )
        for (slot, scheduler), found in duties.items()
    }


def _entry(site: SitePlan, name: str, pool: PoolPlan, slot: Slot, judged: Judged) -> Host | Absent:
    if isinstance(site, OnpremSitePlan):
        if slot.asset is None:
            return _absent(pool, name, Absence.UNDELIVERED, "the pool's asset file has no row for it")
        if slot.asset.maintenance:
            return _absent(pool, name, Absence.HELD, MAINTENANCE)
    fault = judged.faults.get(slot.name)
    if fault is None:
        return _host(site, name, pool, slot, judged.observed.slots[slot.name])
    if slot.burst and (fault.kind.waiting_helps or fault.kind is NO_INSTANCE):
        return _absent(pool, name, Absence.ON_DEMAND, "filled on demand, and not filled now")
    return Absent(
        site=pool.site,
        pool=name,
        absence=Absence.NO_INSTANCE if fault.kind is NO_INSTANCE else Absence.NO_KEY,
        code=fault.kind.code,
        reason=fault.kind.message,
        got=fault.got,
        hint=fault.kind.hint,
    )


def _absent(pool: PoolPlan, name: str, absence: Absence, reason: str) -> Absent:
    return Absent(site=pool.site, pool=name, absence=absence, code="", reason=reason, got="", hint="")


def _host(site: SitePlan, name: str, pool: PoolPlan, slot: Slot, seen: ObservedSlot) -> Host:
    # Of an instance whose address EC2 gave, that address alone.
    addresses = slot.addresses or {MANAGEMENT: f"{seen.address}/32"}
    return Host(
        kind=site.kind,
        site=pool.site,
        pool=name,
        platform=pool.platform,
        image=pool.image,
        roles=pool.roles,
        user=site.access.user,
        bastion=site.access.bastion,
        address=addresses[MANAGEMENT].partition("/")[0],
        addresses=addresses,
        rails=slot.ports,
        rack=slot.position.rack if slot.position else None,
        unit=slot.position.unit if slot.position else None,
        host_set=host_set_name(name, slot.number),
        serial=slot.asset.serial if slot.asset else "",
        instance=seen.instance,
        host_keys=seen.host_keys,
    )
