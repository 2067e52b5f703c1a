"""Sites of the plan: networks with their gateways, racks with what they hold, zones with their subnet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath
from rackwright.plan import faults
from rackwright.plan.addresses import AddressRange
from rackwright.plan.model import (
    AccessPlan,
    AwsSitePlan,
    BmcPlan,
    LoginPlan,
    NetworkPlan,
    OnpremSitePlan,
    RackPlan,
    SitePlan,
)
from rackwright.plan.racks import WATTS
from rackwright.spec.sites import BMC, MANAGEMENT, VPC_MTU, AwsSite, NewVpc, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.racks import Hall
    from rackwright.spec.cluster import ClusterSpec
    from rackwright.spec.sites import Site


NEEDED = (BMC, MANAGEMENT)
"""Networks of every hall."""


def missing_networks(spec: ClusterSpec) -> Iterator[Finding]:
    """Halls without a network that every host needs."""
    for name, site in sorted(spec.sites.items()):
        if isinstance(site, OnpremSite):
            yield from (_missing(name, site, network) for network in NEEDED if network not in site.networks)


def _missing(name: str, site: OnpremSite, network: str) -> Finding:
    return Finding(
        code=faults.NETWORK_MISSING,
        message=f"site {name} has no network {network}",
        path=SpecPath() / "sites" / name / "networks",
        got=", ".join(sorted(site.networks)) or "none",
        expected=" and ".join(NEEDED),
        hint=f"add `{network}: {{cidr: …}}`",
    )


def site_plans(spec: ClusterSpec, halls: Mapping[str, Hall]) -> dict[str, SitePlan]:
    """Name → site."""
    return {
        name: _hall(site, halls[name]) if isinstance(site, OnpremSite) else _zone(site)
        for name, site in sorted(spec.sites.items())
    }


def _zone(site: AwsSite) -> AwsSitePlan:
    return AwsSitePlan(
        kind="aws",
        account=site.account,
        region=site.region,
        zone_id=site.zone_id,
        networks={
            name: NetworkPlan(cidr=cidr, gateway=AddressRange.of(cidr).gateway, mtu=VPC_MTU)
            for name, cidr in node_networks(site).items()
        },
        access=LoginPlan(user=site.access.user, bastion=site.access.bastion),
    )


def node_networks(site: AwsSite) -> dict[str, str]:
    """The subnet of a zone's nodes; none where it is somebody else's, whose addresses EC2 gives."""
    return {MANAGEMENT: site.vpc.cidrs[0]} if isinstance(site.vpc, NewVpc) else {}


def site_ranges(site: Site) -> dict[str, AddressRange]:
    """Network → range of the addresses that the plan gives."""
    if isinstance(site, OnpremSite):
        return {name: AddressRange.of(network.cidr) for name, network in sorted(site.networks.items())}
    return {name: AddressRange.of(cidr) for name, cidr in node_networks(site).items()}


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
