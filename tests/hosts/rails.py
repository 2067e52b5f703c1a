"""What a rail of the lab carries: one host sends to another as fast as it can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.hosts.lab import Lab

RATE_MBIT = 100
"""As planned."""
_RECEIVER = """
import socket
with socket.create_server(("RECEIVER", 5001)) as server:
    peer, _ = server.accept()
    while peer.recv(65536):
        pass
    peer.close()
"""
_SENDER = """
import socket, time
def connected():
    for _ in range(600):
        try:
            return socket.create_connection(("RECEIVER", 5001), source_address=("SENDER", 0))
        except ConnectionRefusedError:
            time.sleep(0.1)  # the receiver is being started
with connected() as rail:
    chunk, sent, start = b"x" * 65536, 0, time.monotonic()
    while time.monotonic() < start + 2:
        sent += rail.send(chunk)
    rail.shutdown(socket.SHUT_WR)
    rail.recv(1)
    print(sent * 8 / 1e6 / (time.monotonic() - start))
"""


def address(lab: Lab, rail: int, node: int) -> str:
    return f"{lab.prefix}.{16 + rail}.{16 + node}"


def mbit(lab: Lab, rail: int, sender: int, receiver: int) -> float:
    """Mbit/s that arrive from a node over a rail at another; nodes are numbered from 1, rails from 0."""
    receive, send = _RECEIVER, _SENDER
    for word, node in {"RECEIVER": receiver, "SENDER": sender}.items():
        receive, send = (program.replace(word, address(lab, rail, node)) for program in (receive, send))
    lab.ssh(f"node-00{receiver}", f"sudo systemd-run --quiet --collect python3 -c '{receive}'")
    return float(lab.ssh(f"node-00{sender}", f"python3 -c '{send}'"))
