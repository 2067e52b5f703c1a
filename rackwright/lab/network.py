"""Make what is missing of a lab's networks, and nothing else.

All bridges of the halls are in one router namespace, which alone forwards; every host has a namespace
of its own; the machine's own namespace gets one link, the leg, and routes to the lab's ranges. Each
cloud has a router namespace too, joined to the first by the line of its link.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rackwright.lab.commands import run
from rackwright.lab.model import Host
from rackwright.lab.netns import Namespace
from rackwright.lab.places import MADE_NETNS_FOLDER, NETNS, ROUTER, run_root

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.lab.model import Chassis, CloudSite, Line, Nic, Segment, World
    from rackwright.lab.netns import Link

SUBNET = "subnet"
"""The bridge of a cloud's instances, in the cloud's router."""
LEG_INSIDE = "leg"
"""The router's end of the leg."""
_BURST_KB, _LATENCY = 64, "1s"
"""Of tbf: with them a line of 100 Mbit/s carried 90 to 101 between two hosts."""
_KB_PER_MBIT = 0.5
"""A queue must hold what its rate sends between two timer ticks, 4 ms at 250 Hz."""


def build(world: World) -> Iterator[str]:
    """Make it; each thing that was missing is named when it has been made.

    Raises:
        EnvironmentUnfit: the kernel or iproute2 refused something.
    """
    router = Namespace(world.places.netns(ROUTER))
    yield from _router(router, world.segments)
    yield from _bmc_addresses(world, router)
    yield from _leg(world, router)
    for site in world.cloud:
        yield from _cloud(world, router, site)
    have = router.links()
    for host in world.hosts:
        yield from _host(world, router, host, have)


def _router(router: Namespace, segments: Iterable[Segment]) -> Iterator[str]:
    yield from _namespace(router)
    yield from _forwarding(router)
    have = router.links()
    for segment in segments:
        yield from _bridge(router, segment, have.get(segment.name))


def host(world: World, one: Chassis) -> Iterator[str]:
    """Make what is missing of one host's networks, its router being there; as `build`."""
    router = router_of(world, one)
    yield from _host(world, router, one, router.links())


def remove_host(world: World, one: Chassis) -> None:
    """Take away a host's namespace and cables: at once, where the kernel would do so some time later."""
    router, namespace = router_of(world, one), Namespace(world.places.netns(one.name))
    there = router.links() if router.exists else {}
    for nic in one.nics:
        if one.cable(nic) in there:
            router.ip("link", "del", one.cable(nic))
    if namespace.exists:
        run("ip", "netns", "del", namespace.name)
    else:
        namespace.path.unlink(missing_ok=True)


def router_of(world: World, one: Chassis) -> Namespace:
    """The router that a host's cables end in."""
    who = ROUTER if isinstance(one, Host) else world.cloud_site(one.site).router
    return Namespace(world.places.netns(who))


def _cloud(world: World, router: Namespace, site: CloudSite) -> Iterator[str]:
    far = Namespace(world.places.netns(site.router))
    yield from _router(far, site.segments)
    yield from _bridge(router, site.line.bridge, router.links().get(site.line.bridge.name))
    yield from _line(router, far, site.line)
    yield from _routes(router, site.line.bridge.name, site.line.address, [site.subnet.cidr])
    yield from _routes(far, site.line.bridge.name, site.line.bridge.addresses[0], site.line.routes)


def _line(router: Namespace, far: Namespace, line: Line) -> Iterator[str]:
    """The cable of a link, both ends new: whether its port is switched on is a fault's to say."""
    name, near, end = line.bridge.name, router.links().get(line.cable), far.links().get(line.bridge.name)
    if near is None or end is None or near.master != name:
        for where, half in ((router, line.cable), (far, name)):
            if half in where.links():
                where.ip("link", "del", half)
        mtu = ("mtu", str(line.bridge.mtu))
        router.ip(
            *("link", "add", line.cable, *mtu, "type", "veth"),
            *("peer", "name", name, *mtu, "netns", far.name),
        )
        for where, half in ((router, line.cable), (far, name)):
            where.ip("link", "set", half, "alias", line.bridge.what, "gso_max_segs", "1", "up")
        router.ip("link", "set", line.cable, "master", name)
        end = None
        yield line.bridge.what
    if end is None or line.address not in end.addresses:
        far.ip("addr", "replace", line.address, "dev", name)
        if end is not None:
            yield f"address {line.address} of {line.bridge.what}"


def _routes(where: Namespace, link: str, gateway: str, cidrs: Iterable[str]) -> Iterator[str]:
    have = where.routes()
    for cidr in cidrs:
        if (cidr, link) not in have:
            where.ip("route", "replace", cidr, "via", gateway.partition("/")[0], "dev", link)
            yield f"route {cidr} in {where.name}"


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


def _host(world: World, router: Namespace, host: Chassis, have: Mapping[str, Link]) -> Iterator[str]:
    namespace = Namespace(world.places.netns(host.name))
    yield from _namespace(namespace)
    inside = namespace.links()
    segments = world.segments if isinstance(host, Host) else world.cloud_site(host.site).segments
    mtus = {segment.name: segment.mtu for segment in segments}
    for nic in host.nics:
        near, far = have.get(host.cable(nic)), inside.get(nic.interface)
        if near is None or far is None or near.master != nic.segment:
            _cable(router, namespace, host, nic, mtus[nic.segment])
            near = far = None
            yield f"cable {host.name} {nic.interface}"
        for where, link, end in ((router, near, host.cable(nic)), (namespace, far, nic.interface)):
            if nic.rate_mbit and (link is None or not link.rate_mbit):
                shape(where, end, nic.rate_mbit)
                if link is not None:
                    yield f"rate of {host.name} {nic.interface}"


def _cable(router: Namespace, namespace: Namespace, host: Chassis, nic: Nic, mtu: int) -> None:
    """Both ends new: half a cable is none. Removing one end removes the other."""
    near = host.cable(nic)
    for where, name in ((router, near), (namespace, nic.interface)):
        if name in where.links():
            where.ip("link", "del", name)
    router.ip(
        *("link", "add", near, "mtu", str(mtu), "type", "veth", "peer", "name", nic.interface),
        *("address", nic.mac, "mtu", str(mtu), "netns", namespace.name),
    )
    router.ip("link", "set", near, "alias", f"{host.name} {nic.interface}", "master", nic.segment, "up")
    namespace.ip("link", "set", nic.interface, "up")


def shape(where: Namespace, interface: str, rate_mbit: int) -> None:
    """Limit what an interface sends; a rate that it has already is replaced."""
    burst_kb = max(_BURST_KB, round(rate_mbit * _KB_PER_MBIT))
    where.tc(
        *("qdisc", "replace", "dev", interface, "root", "tbf"),
        *("rate", f"{rate_mbit}mbit", "burst", f"{burst_kb}kb", "latency", _LATENCY),
    )
