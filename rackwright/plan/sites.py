"""Sites of the plan: networks with their gateways, racks with what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.plan.addresses import AddressRange
from rackwright.plan.model import (
    AccessPlan,
    AwsSitePlan,
    BmcPlan,
    NetworkPlan,
    OnpremSitePlan,
    RackPlan,
    SitePlan,
)
from rackwright.plan.racks import WATTS
from rackwright.spec.sites import OnpremSite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.racks import Hall
    from rackwright.spec.cluster import ClusterSpec


def site_plans(spec: ClusterSpec, halls: Mapping[str, Hall]) -> dict[str, SitePlan]:
    """Name → site."""
    return {
        name: _hall(site, halls[name])
        if isinstance(site, OnpremSite)
        else AwsSitePlan(kind="aws", account=site.account, region=site.region, zone_id=site.zone_id)
        for name, site in sorted(spec.sites.items())
    }


def _hall(site: OnpremSite, hall: Hall) -> OnpremSitePlan:
    networks = {
        name: NetworkPlan(cidr=network.cidr, gateway=AddressRange.of(network.cidr).gateway, mtu=network.mtu)
        for name, network in sorted(site.networks.items())
    }
    bmc = BmcPlan(
        protocol=site.bmc.protocol, port=site.bmc.port, credentials=site.bmc.credentials, ca=site.bmc.ca
    )
    access = AccessPlan(
        user=site.access.user, bastion=site.access.bastion, console_logs=site.access.console_logs
    )
    return OnpremSitePlan(
        kind="onprem",
        networks=networks,
        racks=_racks(hall),
        cooling=site.racks.cooling,
        bmc=bmc,
        access=access,
    )


def _racks(hall: Hall) -> dict[str, RackPlan]:
    units = hall.grid.units
    return {
        name: RackPlan(
            row=rack.row,
            place=rack.place,
            units_used=units - rack.free.bit_count(),
            units=units,
            power_kw=rack.watts / WATTS,
            limit_kw=hall.limit_watts / WATTS,
        )
        for name, rack in hall.filled()
    }
