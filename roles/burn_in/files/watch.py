#!/usr/bin/python3
"""For how long ports of this host have no link: ``watch.py [--sys FOLDER] NAME [INTERFACE…]``.

Looks twice a second from its start on, and tells processes of its own user that connect to the abstract
socket of that NAME, as one JSON object ``device/port`` → seconds. It ends when one of them has said that it
has kept what it was told; one that is cut off before that may ask again. `counters.py` starts it before a
load, outside of the job's step, and asks it after it. Ports are those of `counters.py`, but for EFA's, which
always say that they are active, and LNet, which is none.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import struct
import sys
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

EVERY_S = 0.5
EFA = "efa"
"""Name of its driver."""
ACTIVE = "4:"
"""How the state of an RDMA port begins that has a link."""
KEPT = b"k"
"""What a process says that has kept what it was told."""
ANSWER_WITHIN_S = 5.0
KEPT_WITHIN_S = 60.0
"""To read counters takes time."""
CREDENTIALS = struct.Struct("3i")


def address(name: str) -> str:
    """Of a name and this user, in the host's network namespace and on no file system."""
    return f"\0rackwright-ports-{os.getuid()}-{zlib.crc32(name.encode())}"


def is_mine(peer: socket.socket) -> bool:
    """Whether the other end is of this user."""
    told = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return bool(CREDENTIALS.unpack(told)[1] == os.getuid())


def ask(name: str) -> dict[str, float]:
    """What a watch of that name tells as its last word; nothing where there is none."""
    with asked(name) as told:
        return told


@contextlib.contextmanager
def asked(name: str) -> Iterator[dict[str, float]]:
    """What a watch of that name tells, which ends when this is left, but not by an error."""
    with socket.socket(socket.AF_UNIX) as end:
        told = _told(end, name)
        yield told
        with contextlib.suppress(OSError):
            end.sendall(KEPT)


def _told(end: socket.socket, name: str) -> dict[str, float]:
    with contextlib.suppress(OSError, ValueError):
        end.settimeout(ANSWER_WITHIN_S)
        end.connect(address(name))
        if is_mine(end):
            told = json.loads(b"".join(iter(lambda: end.recv(2**16), b"")))
            return {str(port): float(seconds) for port, seconds in told.items()}
    return {}


def ports(root: Path, interfaces: list[str]) -> dict[str, Path]:
    """Port → the file that says whether it has a link."""
    found = {f"{name}/0": root / "class" / "net" / name / "carrier" for name in interfaces}
    for state in sorted(root.glob("class/infiniband/*/ports/*/state")):
        device = root / "class" / "infiniband" / state.parts[-4]
        if (device / "device" / "driver").resolve().name != EFA:
            found[f"{state.parts[-4]}/{state.parts[-2]}"] = state
    return found


def has_link(file: Path) -> bool:
    """What a port says; one that is off, or gone, has none."""
    try:
        text = file.read_text()
    except OSError:
        return False
    return text.startswith(ACTIVE) if file.name == "state" else text.strip() == "1"


def watch(called: str, files: dict[str, Path]) -> None:
    """Look until somebody asks, and tell."""
    down = dict.fromkeys(files, 0.0)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address(called))
        listening.listen()
        listening.settimeout(EVERY_S)
        before = time.monotonic()
        while True:
            peer = accepted(listening)
            now = time.monotonic()
            for name in (name for name, file in files.items() if not has_link(file)):
                down[name] += now - before
            before = now
            if peer is not None and tell(peer, down):
                return
            if peer is not None:
                time.sleep(EVERY_S)


def tell(peer: socket.socket, down: dict[str, float]) -> bool:
    """Tell who asks; whether it has kept that."""
    with peer, contextlib.suppress(OSError):
        if is_mine(peer):
            peer.settimeout(KEPT_WITHIN_S)
            peer.sendall(json.dumps(down).encode())
            peer.shutdown(socket.SHUT_WR)
            return peer.recv(1) == KEPT
    return False


def accepted(listening: socket.socket) -> socket.socket | None:
    """Who asks, within the time between two looks."""
    try:
        return listening.accept()[0]
    except TimeoutError:
        return None


def main(arguments: list[str]) -> None:
    """Watch the ports that are named, and those of RDMA devices."""
    options = argparse.ArgumentParser()
    options.add_argument("--sys", type=Path, default=Path("/sys"))
    options.add_argument("name")
    options.add_argument("interfaces", nargs="*")
    asked = options.parse_args(arguments)
    watch(asked.name, ports(asked.sys, asked.interfaces))


if __name__ == "__main__":
    main(sys.argv[1:])
