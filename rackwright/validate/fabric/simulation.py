"""A network in, ibsim(1) running it out: sized for it, on a socket of its own, gone with its block."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from rackwright.errors import EnvironmentUnfit, Incomplete
from rackwright.render.fabric import ibnetdiscover

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.render.fabric.network import Network

PROGRAMS = {"ibsim": "ibsim-utils", "opensm": "opensm"}
"""Program → its Debian package."""
_ADMIN = "/usr/sbin:/sbin"
"""Where Debian puts opensm; not on everybody's PATH."""
_READY, _REFUSED = "Network simulator ready", ("no more nodes", "no more ports", "no more switches", "fatal")
_LINEAR_CAP = 0xBFFF
"""Highest unicast LID (InfiniBand Architecture Specification 4.1.3)."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """A running network, and how a program gets into it: in that folder, where the library leaves files."""

    environment: dict[str, str]
    folder: Path


def program(name: str) -> str:
    """Path of a program.

    Raises:
        EnvironmentUnfit: it is not installed.
    """
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_ADMIN}")
    if found is None:
        raise EnvironmentUnfit(
            f"the simulation of a fabric needs {name}",
            code="FAB010",
            where=name,
            got="not installed",
            expected=" and ".join(PROGRAMS),
            hint=f"apt-get install --no-install-recommends {' '.join(sorted(PROGRAMS.values()))}",
        )
    return found


def _library() -> Path:
    """The library that puts a program's management packets into the simulation."""
    found = next(Path("/usr/lib").glob("**/umad2sim/libumad2sim.so"), None)
    if found is None:
        raise EnvironmentUnfit(
            "the simulation of a fabric needs libumad2sim",
            code="FAB010",
            where="/usr/lib",
            got="no umad2sim/libumad2sim.so",
            expected="the library of ibsim",
            hint="apt-get install --no-install-recommends ibsim-utils",
        )
    return found


def text(network: Network) -> str:
    """What ibsim reads. All links are EDR: routing does not look at speeds, and older ibsims know no NDR."""
    return ibnetdiscover.write(network, speed="4xEDR")


def size(network: Network) -> list[str]:
    """Options that make room for a network: the defaults end at 2,048 nodes and 36-port switches."""
    switches = sum(one.is_switch for one in network.devices.values())
    ports = sum(one.ports + 1 for one in network.devices.values())
    room = {"-N": len(network.devices), "-S": switches, "-P": ports}
    return [word for option, number in room.items() for word in (option, str(number + 16))] + [
        "-L",
        str(_LINEAR_CAP),
    ]


@contextmanager
def simulated(network: Network, attach: str, folder: Path, timeout_s: float) -> Iterator[Simulation]:
    """Run a network.

    Args:
        network: what to run.
        attach: description of the adapter that programs stand at.
        folder: for its files; it is there.
        timeout_s: for ibsim to read the network.

    Raises:
        EnvironmentUnfit: ibsim is not installed.
        Incomplete: it did not take the network.
    """
    net, log = folder / "network.txt", folder / "ibsim.log"
    net.write_text(text(network), encoding="utf-8")
    socket = f"rackwright-{os.getpid()}-{uuid4().hex[:8]}"
    environment = {**os.environ, "IBSIM_SOCKNAME": socket, "SIM_HOST": attach}
    command = [program("ibsim"), "-s", "-n", *size(network), str(net)]
    library = _library()
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        _wait(process, log, timeout_s)
        yield Simulation({**environment, "LD_PRELOAD": str(library)}, folder)
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        said = log.read_text(encoding="utf-8", errors="replace")
        if _READY in said:
            return
        if process.poll() is not None or any(word in said for word in _REFUSED):
            break
        time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace")
    raise Incomplete(
        "ibsim did not take the network",
        code="FAB011",
        where=str(log),
        got=said[-300:] or f"nothing within {timeout_s:g} s",
        expected=_READY,
    )
