"""Slices of the plan for the stacks: which hosts each site's `onprem` stack reconciles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.plan.model import HostPlan, HostSetPlan, OnpremSitePlan, OnpremStack
from rackwright.spec.sites import BMC

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.model import PoolPlan, SitePlan, Slot

HOSTS_PER_SET = 32
"""Hosts reconciled together, and lost together if their stack's run is cut off."""
MAINTENANCE = "its asset row says state: maintenance"


def host_set_name(pool: str, number: int) -> str:
    """``node-u01`` has the slots 1 to 32, whoever of them is still there."""
    return f"{pool}-u{(number - 1) // HOSTS_PER_SET + 1:02d}"


def onprem_stacks(sites: Mapping[str, SitePlan], pools: Mapping[str, PoolPlan]) -> dict[str, OnpremStack]:
    """Site → slice, for the halls that have a host to power on."""
    stacks: dict[str, OnpremStack] = {}
    for name, site in sites.items():
        if isinstance(site, OnpremSitePlan):
            host_sets = dict(_host_sets(name, pools))
            if host_sets:
                stacks[name] = OnpremStack(site=name, bmc=site.bmc, host_sets=host_sets)
    return stacks


def _host_sets(site: str, pools: Mapping[str, PoolPlan]) -> Iterator[tuple[str, HostSetPlan]]:
    for pool_name, pool in pools.items():
        if pool.site != site or pool.provisioning != "redfish":
            continue
        sets: dict[str, dict[str, HostPlan]] = {}
        for slot in pool.slots.values():
            if slot.asset is not None and not slot.burst:
                sets.setdefault(host_set_name(pool_name, slot.number), {})[slot.name] = _host(slot)
        for set_name, hosts in sets.items():
            yield set_name, HostSetPlan(pool=pool_name, hosts=hosts)


def _host(slot: Slot) -> HostPlan:
    if slot.asset is None:
        raise ValueError(slot.name)
    return HostPlan(
        bmc_address=slot.addresses[BMC].partition("/")[0],
        serial=slot.asset.serial,
        boot_mac=slot.asset.boot_mac,
        held=MAINTENANCE if slot.asset.maintenance else "",
    )
