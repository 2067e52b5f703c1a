"""A plan in, the emulated clouds of a lab out: zones with a subnet, rails and the line to the halls.

A zone has a router of its own, as a VPC has, so that what is between it and the halls is one line
that can be cut, and whose MTU the routers on both sides keep to.
"""

from __future__ import annotations

from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from rackwright.errors import NotProvisionable
from rackwright.lab.fabric import mac, rail_segments, rate_mbit
from rackwright.lab.model import CloudPool, CloudSite, Line, Rail, Segment
from rackwright.lab.network import SUBNET
from rackwright.spec.fabrics import Ethernet
from rackwright.spec.sites import MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.plan.model import AwsSitePlan, OnpremSitePlan, Plan, PoolPlan

SPARE_INSTANCES = 2
"""Beside the planned ones: one that is replaced is there until the other one runs."""
PRIMARY = "mgmt0"
"""Where the platform does not name its interface."""
_LINE_RANGES = "169.254.{}.0/30"
"""As the tunnels of an AWS Site-to-Site VPN: link-local, so that no range of anybody is touched."""
_FIRST_LINE = 100


def cloud_sites(plan: Plan, spec: Path) -> Iterator[CloudSite]:
    """The clouds of a plan, by name.

    Args:
        plan: the plan.
        spec: where it was read from.

    Raises:
        NotProvisionable: one that no lab can be.
    """
    zones = {name: site for name, site in sorted(plan.sites.items()) if site.kind == "aws"}
    for number, (name, zone) in enumerate(zones.items()):
        rails = rail_segments(plan, _pools(plan, name))
        yield CloudSite(
            site=name,
            subnet=_subnet(plan, name, zone, spec),
            rails=tuple(rails.values()),
            line=_line(plan, name, number, spec),
            pools={
                pool: _pool(plan, one, {key: segment.name for key, segment in rails.items()})
                for pool, one in _pools(plan, name).items()
            },
            most_instances=SPARE_INSTANCES + sum(len(one.slots) for one in _pools(plan, name).values()),
        )


def _pools(plan: Plan, site: str) -> dict[str, PoolPlan]:
    return {name: pool for name, pool in plan.pools.items() if pool.site == site}


def _subnet(plan: Plan, name: str, zone: AwsSitePlan, spec: Path) -> Segment:
    network = zone.networks.get(MANAGEMENT)
    if network is None:
        raise _cannot_be(spec, f"site {name} in a VPC of somebody else", "a VPC with `cidrs`")
    return Segment(
        name=SUBNET,
        what=f"{name} subnet",
        mac=mac(plan.cluster.name, name, SUBNET),
        mtu=network.mtu,
        cidr=network.cidr,
        addresses=(f"{network.gateway}/{IPv4Network(network.cidr).prefixlen}",),
    )


def _line(plan: Plan, name: str, number: int, spec: Path) -> Line:
    links = {link: one for link, one in sorted(plan.links.items()) if name in one.between}
    others = [end for one in links.values() for end in one.between if end != name]
    if [plan.sites[end].kind for end in others] != ["onprem"]:
        raise _cannot_be(
            spec, f"links of site {name}: {', '.join(links) or 'none'}", "one link, which joins it to a hall"
        )
    (link, one), *_ = links.items()
    ends = IPv4Network(_LINE_RANGES.format(_FIRST_LINE + number))
    near, far = (f"{end}/{ends.prefixlen}" for end in ends.hosts())
    bridge = Segment(
        name=f"wan{number}",
        what=f"link {link}",
        mac=mac(plan.cluster.name, link),
        mtu=one.mtu,
        cidr="",
        addresses=(near,),
    )
    return Line(link=link, bridge=bridge, address=far, routes=tuple(_hall_ranges(plan)))


def _hall_ranges(plan: Plan) -> Iterator[str]:
    """What a cloud reaches of the halls: their hosts, and this machine; never their BMCs."""
    halls: list[OnpremSitePlan] = [site for site in plan.sites.values() if site.kind == "onprem"]
    return (hall.networks[MANAGEMENT].cidr for hall in halls)


def _pool(plan: Plan, pool: PoolPlan, segments: dict[tuple[str, int], str]) -> CloudPool:
    ports = next((slot.ports for slot in pool.slots.values()), ())
    rails = tuple(
        Rail(
            interface=port.interface,
            segment=segments[port.fabric, port.rail],
            rate_mbit=rate_mbit(fabric),
        )
        for port in ports
        for fabric in [plan.fabrics[port.fabric]]
        if isinstance(fabric, Ethernet) and port.interface is not None
    )
    return CloudPool(type=pool.platform, primary=pool.management_interface or PRIMARY, rails=rails)


def _cannot_be(spec: Path, got: str, expected: str) -> NotProvisionable:
    return NotProvisionable(
        "this spec has a cloud that a lab cannot be",
        code="LAB024",
        where=str(spec),
        got=got,
        expected=expected,
        hint="docs/lab.md says what the cloud of a lab is",
    )
