"""A plan in, the lab's world out: machines with serial numbers, NICs and cables, and no software.

The world is what a machine room holds before anybody installs anything: it knows MACs, but no host
names, addresses of NICs or users; those reach a host by its boot seed. It is stored as
``world.json`` while the lab is up; a lab of another world must be taken down first.
"""

from __future__ import annotations

import uuid
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.catalogue.model import PlatformKind
from rackwright.errors import NotProvisionable
from rackwright.lab.cloud.sites import cloud_sites
from rackwright.lab.fabric import mac, rail_segments, rate_mbit
from rackwright.lab.model import Host, Leg, Nic, Segment, World
from rackwright.spec.fabrics import Ethernet
from rackwright.spec.references import locate
from rackwright.spec.sites import BMC, MANAGEMENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.catalogue.load import Catalogue
    from rackwright.lab.model import CloudSite
    from rackwright.lab.places import Places
    from rackwright.plan.model import Asset, OnpremSitePlan, Plan, PoolPlan, Slot

CONTROLLER = 2
"""The controller is base + 2 of each management network (the gateway is base + 1)."""
DISK_MIB = 2048
"""Measured: a controller's changes to the image are 0.8 GB, a node's 25 MB."""
MEMORY_MIB = 1024
"""Measured: a controller with Slurm, MariaDB and Prometheus takes 271 MB."""
BOOT_INTERFACE = "mgmt0"
"""Where the platform does not name the interface that boots."""
_BRIDGE = {MANAGEMENT: "mgmt", BMC: "bmc"}


def world_of(plan: Plan, catalogue: Catalogue, spec: Path, image: Path, places: Places) -> World:
    """All machines of a plan's halls, with their BMCs, the networks between them, and the empty clouds.

    Args:
        plan: the plan.
        catalogue: tells which platforms are the lab's.
        spec: where it was read from; references to files are relative to its folder.
        image: root of the hosts' image.
        places: where this lab keeps things.

    Raises:
        NotProvisionable: it holds something that this lab cannot be.
    """
    halls = {name: site for name, site in sorted(plan.sites.items()) if site.kind == "onprem"}
    _refuse_other_machines(plan, catalogue, spec)
    rails = rail_segments(plan, {name: pool for name, pool in plan.pools.items() if pool.site in halls})
    cloud = tuple(cloud_sites(plan, spec))
    return World(
        cluster=plan.cluster.name,
        state=str(places.state),
        run=str(places.run),
        spec=str(spec.resolve()),
        image=str(image),
        disk_mib=DISK_MIB,
        memory_mib=MEMORY_MIB,
        segments=(*_hall_segments(plan.cluster.name, halls), *rails.values()),
        leg=_leg(halls, cloud),
        hosts=tuple(_hosts(plan, halls, rails, spec, places)),
        cloud=cloud,
    )


def _refuse_other_machines(plan: Plan, catalogue: Catalogue, spec: Path) -> None:
    """A lab takes its state away with it: that must never be the state of real machines."""
    platforms = {pool.platform for pool in plan.pools.values()}
    others = sorted(name for name in platforms if catalogue.platforms[name].kind is not PlatformKind.LAB)
    if others or not any(site.kind == "onprem" for site in plan.sites.values()):
        raise NotProvisionable(
            "this spec describes machines that a lab cannot be",
            code="LAB001",
            where=str(spec),
            got=", ".join(others) or "no hall",
            expected="at least one hall (`kind: onprem`), and pools of lab platforms such as lab-node",
            hint="`rackwright lab up clusters/lab.yaml` builds the example",
        )


def _hall_segments(cluster: str, halls: dict[str, OnpremSitePlan]) -> Iterator[Segment]:
    for number, (name, hall) in enumerate(halls.items()):
        for network in (MANAGEMENT, BMC):
            plan = hall.networks[network]
            prefix = IPv4Network(plan.cidr).prefixlen
            yield Segment(
                name=_hall_segment(number, network),
                what=f"{name} {network}",
                mac=mac(cluster, name, network),
                mtu=plan.mtu,
                cidr=plan.cidr,
                addresses=(f"{plan.gateway}/{prefix}",),
            )


def _hall_segment(number: int, network: str) -> str:
    return f"{_BRIDGE[network]}{number}"


def _leg(halls: dict[str, OnpremSitePlan], cloud: tuple[CloudSite, ...]) -> Leg:
    """The machine's own place: in the first hall's management network, the rest by its router."""
    first, *_ = halls.values()
    network = IPv4Network(first.networks[MANAGEMENT].cidr)
    routes = [hall.networks[name].cidr for hall in halls.values() for name in (MANAGEMENT, BMC)]
    routes += [site.subnet.cidr for site in cloud]
    return Leg(
        segment=_hall_segment(0, MANAGEMENT),
        address=f"{network[CONTROLLER]}/{network.prefixlen}",
        gateway=first.networks[MANAGEMENT].gateway,
        routes=tuple(route for route in routes if route != str(network)),
    )


def _hosts(
    plan: Plan,
    halls: dict[str, OnpremSitePlan],
    rails: dict[tuple[str, int], Segment],
    spec: Path,
    places: Places,
) -> Iterator[Host]:
    """A machine for each slot whose machine the factory has delivered."""
    bridges = {name: _hall_segment(number, MANAGEMENT) for number, name in enumerate(halls)}
    for number, (pool, slot, asset) in enumerate(_delivered(plan)):
        site = plan.pools[pool].site
        yield Host(
            slot=slot.name,
            number=number,
            pool=pool,
            site=site,
            roles=tuple(plan.pools[pool].roles),
            serial=asset.serial,
            uuid=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{places.cluster} {asset.serial}")),
            bmc_address=slot.addresses[BMC].partition("/")[0],
            bmc_port=halls[site].bmc.port,
            console=str(_console(halls[site], slot, spec, places)),
            nics=(_boot_nic(plan.pools[pool], asset, bridges[site]), *_rail_nics(plan, slot, rails)),
        )


def _delivered(plan: Plan) -> Iterator[tuple[str, Slot, Asset]]:
    for name, pool in plan.pools.items():
        for slot in pool.slots.values():
            if slot.asset is not None:
                yield name, slot, slot.asset


def _console(hall: OnpremSitePlan, slot: Slot, spec: Path, places: Places) -> Path:
    logs = hall.access.console_logs
    folder = Path(logs) if logs.startswith("/") else locate(logs, spec.resolve().parent, places.state)
    return folder / f"{slot.name}.log"


def _boot_nic(pool: PoolPlan, asset: Asset, bridge: str) -> Nic:
    return Nic(interface=pool.management_interface or BOOT_INTERFACE, mac=asset.boot_mac, segment=bridge)


def _rail_nics(plan: Plan, slot: Slot, rails: dict[tuple[str, int], Segment]) -> Iterator[Nic]:
    for port in slot.ports:
        fabric = plan.fabrics[port.fabric]
        if isinstance(fabric, Ethernet) and port.interface is not None:
            yield Nic(
                interface=port.interface,
                mac=mac(plan.cluster.name, slot.name, port.interface),
                segment=rails[port.fabric, port.rail].name,
                rate_mbit=rate_mbit(fabric),
            )
