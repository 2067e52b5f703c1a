"""What a lab needs on a machine and somebody else has: address ranges, link, sockets."""

from __future__ import annotations

import socket
from ipaddress import IPv4Network
from typing import TYPE_CHECKING

from rackwright.lab import processes
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import ROUTER
from rackwright.lack import Lack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.model import Host, World

_HALVES = 1
"""VPNs split the default route in two; like it, such a route hides nothing."""


def ranges(world: World) -> Iterator[Lack]:
    """Routes and addresses of the machine that overlap with the lab's ranges."""
    taken = {
        (IPv4Network(destination), link)
        for destination, link in Namespace().routes()
        if link != world.places.leg
    }
    for segment in world.ranges:
        if not segment.cidr:
            continue
        wanted = IPv4Network(segment.cidr)
        for network, where in sorted(taken):
            if network.prefixlen > _HALVES and network.overlaps(wanted):
                yield Lack(
                    code="LAB108",
                    what="an address range of the lab is in use on this machine",
                    got=f"{segment.what} {wanted} overlaps with {network}"
                    + (f" on {where}" if where else ""),
                    expected="ranges that no route or address of this machine touches",
                    hint=f"change it in {world.spec}",
                )


def link(world: World) -> Iterator[Lack]:
    """A link of the leg's name that is not ours."""
    places = world.places
    have = Namespace().links().get(places.leg)
    if have is not None and have.alias != places.leg_alias:
        yield Lack(
            code="LAB110",
            what="the name of the lab's link is taken",
            got=f"{places.leg}, with alias {have.alias or 'none'}",
            expected=f"no link {places.leg}, or the lab's own",
            hint=f"remove it (`ip link del {places.leg}`), or name the cluster otherwise",
        )


def sockets(world: World) -> Iterator[Lack]:
    """Somebody else who listens where labd or a BMC should."""
    places = world.places
    if processes.read_pid_file(places.labd_pid) is None and _somebody_listens(str(places.socket)):
        yield _taken("LAB111", str(places.socket), "a process that is not this lab's daemon")
    router = Namespace(places.netns(ROUTER))
    if not router.exists:
        return
    listening = run("nsenter", f"--net={router.path}", "ss", "-H", "-l", "-t", "-n", "-p")
    for host in world.hosts:
        if processes.read_pid_file(places.bmc_pid(host.slot)) is None:
            yield from (_taken("LAB112", _end(host), who) for who in _who_has(listening, host))


def _end(host: Host) -> str:
    return f"{host.bmc_address}:{host.bmc_port}"


def _who_has(listening: str, host: Host) -> Iterator[str]:
    """Processes of `ss -l -t -n -p` on a BMC's address and port, or on that port of all addresses."""
    ends = {_end(host), f"0.0.0.0:{host.bmc_port}", f"*:{host.bmc_port}", f"[::]:{host.bmc_port}"}
    for line in listening.splitlines():
        _, _, _, local, _, *who = line.split()
        if local in ends:
            yield " ".join(who) or "another process"


def _taken(code: str, where: str, who: str) -> Lack:
    return Lack(
        code=code,
        what="a port or socket of the lab is taken",
        got=f"{where} by {who}",
        expected="nobody there",
        hint="end that process",
    )


def _somebody_listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
        except OSError:
            return False
    return True
