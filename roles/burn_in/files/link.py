#!/usr/bin/python3
"""What a link between two sites carries, asked from one host of another: round trip, path MTU, black holes.

Datagrams to a port on which nobody listens, as tracepath sends them: the other host tells of each that it
came (ICMP port unreachable), a router of each that is too big (ICMP fragmentation needed). They have DF set,
and the kernel's own memory of the path is passed over (ip(7), IP_PMTUDISC_PROBE), so nothing that was
learnt before hides what the path does now. A kernel answers a host six times at once and then once a second
(icmp(7), icmp_ratelimit), so few are sent, and each is sent again before it counts as lost.

One line, ``rackwright/link/1``: latency_us (least round trip of the smallest datagrams, 0 without any),
path_mtu_bytes (largest packet that came, of those tried; 0 if none did), told_mtu_bytes (what a router said
when it dropped one, 0 if none did), black_hole (whether a packet vanished that was told too big by nobody
while smaller ones came).
"""

from __future__ import annotations

import argparse
import fcntl
import select
import socket
import struct
import time
from typing import NamedTuple

from sealed import host, tell

SCHEMA = "rackwright/link/1"
HEADERS = 28
"""Bytes of IPv4 and UDP before the data."""
SMALLEST = 68
"""Packet that every path carries (RFC 791 §3.2)."""
STEPS = (1500, 1446, 1400, 1366, 1280, 1200, 1006, 576, SMALLEST)
"""Packets to try below the one that is wanted: common path MTUs, and what tunnels leave of them."""
TRIES = 3
ANSWER_S = 1.2
"""More than the second between two answers of a kernel."""
IP_MTU_DISCOVER, IP_PMTUDISC_PROBE, IP_RECVERR = 10, 3, 11
SIOCGIFADDR, SIOCGIFMTU = 0x8915, 0x8921
ORIGIN_LOCAL, ORIGIN_ICMP = 1, 2
UNREACHABLE, PORT, TOO_BIG = 3, 3, 4
"""ICMP type and its codes (RFC 792, RFC 1191)."""
PORTS = 33434
"""First port, as traceroute has it."""


class Answer(NamedTuple):
    """What became of a packet."""

    came: bool
    seconds: float
    told_mtu: int
    """Of a router, or of this host's own interface, that does not take it; 0 where nothing was told."""
    local: bool


def probe(address: str, port: int, size: int) -> Answer | None:
    """Send one packet of a size, with headers, and wait for what is said of it; None for nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE)
        sock.setsockopt(socket.IPPROTO_IP, IP_RECVERR, 1)
        sock.connect((address, port))
        began = time.monotonic()
        try:
            sock.send(bytes(max(0, size - HEADERS)))
        except OSError:
            # larger than this host's own interface takes
            return Answer(came=False, seconds=0.0, told_mtu=0, local=True)
        waiting = select.poll()
        waiting.register(sock, select.POLLERR)
        if not waiting.poll(ANSWER_S * 1000):
            return None
        return read(sock, time.monotonic() - began)


def read(sock: socket.socket, seconds: float) -> Answer | None:
    """What the socket's error queue says (ip(7), IP_RECVERR: struct sock_extended_err)."""
    _, told, _, _ = sock.recvmsg(0, 512, socket.MSG_ERRQUEUE)
    for level, kind, data in told:
        if (level, kind) == (socket.IPPROTO_IP, IP_RECVERR):
            _, origin, icmp, code, _, info, _ = struct.unpack("=IBBBBII", data[:16])
            if origin == ORIGIN_LOCAL:
                return Answer(came=False, seconds=seconds, told_mtu=info, local=True)
            if origin == ORIGIN_ICMP and icmp == UNREACHABLE and code in {PORT, TOO_BIG}:
                told_mtu = info if code == TOO_BIG else 0
                return Answer(came=code == PORT, seconds=seconds, told_mtu=told_mtu, local=False)
    return None


def asked(address: str, port: int, size: int) -> Answer | None:
    """The first answer to several packets of one size."""
    for number in range(TRIES):
        answer = probe(address, port + number, size)
        if answer is not None:
            return answer
    return None


def interface_mtu(address: str) -> int:
    """Largest packet that this host's interface towards an address takes, whatever was learnt of the path."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect((address, PORTS))
        own = socket.inet_aton(sock.getsockname()[0])
        for _, name in socket.if_nameindex():
            asked_for = struct.pack("16s16x", name.encode())
            try:
                found = fcntl.ioctl(sock, SIOCGIFADDR, asked_for)[20:24]
            except OSError:
                continue  # it has no address
            if found == own:
                mtu: int = struct.unpack("16xi12x", fcntl.ioctl(sock, SIOCGIFMTU, asked_for))[0]
                return mtu
    return max(STEPS)


def largest(address: str, sizes: list[int]) -> tuple[int, int, bool]:
    """Largest packet that came, what a router told of larger ones, and whether one vanished untold."""
    told, vanished = 0, False
    for number, size in enumerate(sizes):
        answer = asked(address, PORTS + 10 + number * TRIES, size)
        if answer is None:
            vanished = True
        elif answer.came:
            return size, told, vanished
        elif not answer.local:
            told = answer.told_mtu or told
    return 0, told, False  # nothing came: the link is down, which is no black hole


def main() -> None:
    """Ask, and print one line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--target", required=True, help="the other host's slot")
    parser.add_argument("--address", required=True)
    parser.add_argument("--mtu", type=int, required=True, help="largest packet that the link is planned for")
    parser.add_argument("--probes", type=int, default=3)
    options = parser.parse_args()
    trips = [probe(options.address, PORTS + number, SMALLEST) for number in range(options.probes)]
    came = [answer.seconds for answer in trips if answer is not None and answer.came]
    own = interface_mtu(options.address)
    wanted = {own, options.mtu, *(step for step in STEPS if step < options.mtu)}
    sizes = sorted((size for size in wanted if size <= own), reverse=True)
    mtu, told, vanished = largest(options.address, sizes) if came else (0, 0, False)
    tell(
        SCHEMA,
        "result",
        host=host(),
        target=options.target,
        latency_us=round(min(came) * 1e6, 1) if mtu else 0.0,
        path_mtu_bytes=mtu,
        told_mtu_bytes=told,
        black_hole=vanished,
    )


if __name__ == "__main__":
    main()
