"""Make what is missing of a lab's networks, and nothing else.

All bridges are in one router namespace, which alone forwards; every host has a namespace of its
own; the machine's own namespace gets one link, the leg, and routes to the lab's ranges.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import MADE_NETNS_FOLDER, NETNS, ROUTER, run_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.lab.model import Host, Nic, Segment, World
    from rackwright.lab.netns import Link

LEG_INSIDE = "leg"
"""The router's end of the leg."""
_BURST_KB, _LATENCY = 64, "1s"
"""facts/lab.md §3."""
_KB_PER_MBIT = 0.5
"""A queue must hold what its rate sends between two timer ticks, 4 ms at 250 Hz."""


def build(world: World) -> Iterator[str]:
    """Make it; each thing that was missing is named when it has been made.

    Raises:
        EnvironmentUnfit: the kernel or iproute2 refused something.
    """
    router = Namespace(world.places.netns(ROUTER))
    yield from _namespace(router)
    yield from _forwarding(router)
    have = router.links()
    for segment in world.segments:
        yield from _bridge(router, segment, have.get(segment.name))
    yield from _bmc_addresses(world, router)
    yield from _leg(world, router)
    for host in world.hosts:
        yield from _host(world, router, host, have)


def _namespace(namespace: Namespace) -> Iterator[str]:
    if not namespace.exists:
        _note_netns_folder()
        namespace.make()
        yield f"namespace {namespace.name}"


def _note_netns_folder() -> None:
    if not NETNS.exists():
        (run_root() / MADE_NETNS_FOLDER).touch()


def _forwarding(router: Namespace) -> Iterator[str]:
    """Only in the router: the machine's own sysctls stay as they are."""
    within = ("nsenter", f"--net={router.path}", "sysctl")
    if run(*within, "-n", "net.ipv4.ip_forward").strip() != "1":
        run(*within, "-q", "-w", "net.ipv4.ip_forward=1")
        yield f"forwarding in {router.name}"


def _bridge(router: Namespace, segment: Segment, have: Link | None) -> Iterator[str]:
    missing = [address for address in segment.addresses if have is None or address not in have.addresses]
    if have is None:
        bridge = ("type", "bridge", "forward_delay", "0", "stp_state", "0")
        router.ip("link", "add", segment.name, "address", segment.mac, *bridge)
    for address in missing:
        router.ip("addr", "replace", address, "dev", segment.name)
    if have is None or missing or not have.up:
        router.ip("link", "set", segment.name, "alias", segment.what, "mtu", str(segment.mtu), "up")
        yield f"bridge {segment.name} ({segment.what})"


def _bmc_addresses(world: World, router: Namespace) -> Iterator[str]:
    """Every BMC's address is the router's own: its process listens there."""
    have = {address for link in router.links().values() for address in link.addresses}
    for host in world.hosts:
        address = f"{host.bmc_address}/32"
        if address not in have:
            router.ip("addr", "replace", address, "dev", "lo")
            yield f"BMC address {host.bmc_address} ({host.slot})"


def _leg(world: World, router: Namespace) -> Iterator[str]:
    own, leg, name = Namespace(), world.leg, world.places.leg
    have = own.links().get(name)
    if have is None or LEG_INSIDE not in router.links():
        _plug_leg(world, router, have)
        have = None
    if have is None or not have.up or leg.address not in have.addresses:
        own.ip("addr", "replace", leg.address, "dev", name)
        own.ip("link", "set", name, "up")
        yield f"link {name}"
    routes = own.routes()
    for cidr in leg.routes:
        if (cidr, name) not in routes:
            own.ip("route", "replace", cidr, "via", leg.gateway, "dev", name)
            yield f"route {cidr}"


def _plug_leg(world: World, router: Namespace, half: Link | None) -> None:
    """It is marked as ours before it comes out of the router: what is cut off never lies about."""
    name = world.places.leg
    if half is not None:
        Namespace().ip("link", "del", name)
    for rest in {LEG_INSIDE, name} & router.links().keys():
        router.ip("link", "del", rest)
    router.ip("link", "add", LEG_INSIDE, "type", "veth", "peer", "name", name)
    router.ip("link", "set", LEG_INSIDE, "master", world.leg.segment, "up")
    router.ip("link", "set", name, "alias", world.places.leg_alias)
    router.ip("link", "set", name, "netns", str(os.getpid()))


def _host(world: World, router: Namespace, host: Host, have: Mapping[str, Link]) -> Iterator[str]:
    namespace = Namespace(world.places.netns(host.slot))
    yield from _namespace(namespace)
    inside = namespace.links()
    mtus = {segment.name: segment.mtu for segment in world.segments}
    for nic in host.nics:
        near, far = have.get(host.cable(nic)), inside.get(nic.interface)
        if near is None or far is None or near.master != nic.segment:
            _cable(router, namespace, host, nic, mtus[nic.segment])
            near = far = None
            yield f"cable {host.slot} {nic.interface}"
        for where, link, end in ((router, near, host.cable(nic)), (namespace, far, nic.interface)):
            if nic.rate_mbit and (link is None or not link.rate_mbit):
                shape(where, end, nic.rate_mbit)
                if link is not None:
                    yield f"rate of {host.slot} {nic.interface}"


def _cable(router: Namespace, namespace: Namespace, host: Host, nic: Nic, mtu: int) -> None:
    """Both ends new: half a cable is none. Removing one end removes the other."""
    near = host.cable(nic)
    for where, name in ((router, near), (namespace, nic.interface)):
        if name in where.links():
            where.ip("link", "del", name)
    router.ip(
        *("link", "add", near, "mtu", str(mtu), "type", "veth", "peer", "name", nic.interface),
        *("address", nic.mac, "mtu", str(mtu), "netns", namespace.name),
    )
    router.ip("link", "set", near, "alias", f"{host.slot} {nic.interface}", "master", nic.segment, "up")
    namespace.ip("link", "set", nic.interface, "up")


def shape(where: Namespace, interface: str, rate_mbit: int) -> None:
    """Limit what an interface sends; a rate that it has already is replaced."""
    burst_kb = max(_BURST_KB, round(rate_mbit * _KB_PER_MBIT))
    where.tc(
        *("qdisc", "replace", "dev", interface, "root", "tbf"),
        *("rate", f"{rate_mbit}mbit", "burst", f"{burst_kb}kb", "latency", _LATENCY),
    )
