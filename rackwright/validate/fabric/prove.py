"""A planned fabric in, whether opensm takes it as a fat tree out: its rendered files run on a simulation.

opensm ends with 0 and says SUBNET UP also when it has refused the tree and fallen back to minhop:
what counts is what its log says was configured, and over how many switches and adapters.
"""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.errors import Incomplete, UsageError
from rackwright.render.fabric.network import network
from rackwright.render.fabric.opensm import Place, Seat, files
from rackwright.validate.fabric.simulation import program, simulated

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Device, Network

FTREE = "ftree"
_CONFIGURED = re.compile(r"osm_ucast_mgr_process: (\S+) tables configured on all switches")
_SEEN = re.compile(r"Fabric has (\d+) CAs, \d+ CA ports \(\d+ of them CNs\), (\d+) switches")
_ERROR = re.compile(r"-> (\S+: ERR AB\w\w: .*|Fabric rank is .*|ucast_mgr_route: .*)")
"""What opensm has against a tree: its ftree engine's errors, and that none of its tables were taken."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What opensm made of one plane of a fabric."""

    plane: int
    routing: str
    """Engine whose tables were configured: ``ftree``, or ``minhop`` where the tree was refused."""
    accepted: bool
    seconds: float
    """From opensm's start to its end."""
    adapters: int
    switches: int
    refusals: tuple[str, ...]
    """What the log has against the tree."""
    log: Path


def prove(plan: Plan, fabric: str, plane: int, folder: Path, built: Network | None = None) -> Proof:
    """Run the subnet manager's configuration on one plane.

    Args:
        plan: the plan.
        fabric: an InfiniBand fat tree of it.
        plane: which of its trees, from 1.
        folder: for files and logs; it is made.
        built: a network that was found, in the place of the planned one.

    Raises:
        EnvironmentUnfit: opensm or ibsim is not installed.
        UsageError: nobody is on the network.
        Incomplete: opensm came to no end, or its log does not say what it configured.
    """
    one = built or network(plan, fabric, plane)
    at = _attach(fabric, one)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "opensm.log"
    log.unlink(missing_ok=True)
    place, seat = Place(str(folder), str(log)), Seat(guid=_port(one, at))
    for name, content in files(plan, fabric, one, place, seat).items():
        (folder / name).write_text(content, encoding="utf-8")
    started = time.monotonic()
    _run(one, at, folder, log)
    return _read(log, plane, one, time.monotonic() - started)


def _run(one: Network, at: Device, folder: Path, log: Path) -> None:
    """Opensm once over the whole network, and to its end."""
    limit_s = 60 + len(one.devices) / 10
    command = [program("opensm"), "-o", "-F", str(folder / "opensm.conf")]
    with (
        simulated(one, at.id, folder, limit_s) as simulation,
        (folder / "opensm.out").open("wb") as output,
    ):
        places = {"OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)}
        try:
            subprocess.run(
                command,
                env={**simulation.environment, **places},
                cwd=simulation.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                timeout=limit_s,
            )
        except subprocess.TimeoutExpired:
            raise Incomplete(
                "opensm came to no end",
                code="FAB012",
                where=str(log),
                got=f"{limit_s:.0f} s",
                expected=f"tables for {len(one.devices)} devices",
            ) from None


def _attach(fabric: str, one: Network) -> Device:
    """The adapter that opensm stands at."""
    cabled = {plug.device for plug in one.links}
    for device in one.devices.values():
        if not device.is_switch and device.ports and device.id in cabled:
            return device
    raise UsageError(
        "opensm has no port to manage this network from",
        where=f"fabrics.{fabric}",
        got=f"{len(one.devices)} devices, none of them an adapter with a cable",
        expected="one at least",
        hint="put a pool on the fabric, or give a dump of a network with hosts",
    )


def _port(one: Network, device: Device) -> str:
    """GUID of the first port of an adapter that has a cable."""
    first = min(plug.port for plug in one.links if plug.device == device.id)
    return f"{int(device.guid, 16) + first:016x}"


def _read(log: Path, plane: int, one: Network, seconds: float) -> Proof:
    said = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    configured = _CONFIGURED.findall(said)
    if not configured or "SUBNET UP" not in said:
        raise Incomplete(
            "opensm's log does not say which tables it configured",
            code="FAB013",
            where=str(log),
            got=said.strip().splitlines()[-1] if said.strip() else "an empty log",
            expected="`… tables configured on all switches` and `SUBNET UP`",
        )
    seen = _SEEN.findall(said)
    switches = sum(device.is_switch for device in one.devices.values())
    adapters, found = (int(number) for number in seen[-1]) if seen else (0, 0)
    routing, refusals = configured[-1], tuple(dict.fromkeys(_ERROR.findall(said)))
    whole = (adapters, found) == (len(one.devices) - switches, switches)
    return Proof(
        plane=plane,
        routing=routing,
        accepted=routing == FTREE and whole and not refusals,
        seconds=round(seconds, 2),
        adapters=adapters,
        switches=found,
        refusals=refusals,
        log=log,
    )
