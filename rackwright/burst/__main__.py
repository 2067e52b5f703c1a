"""The daemon of a controller: ``python3 -m rackwright.burst LAID WORK SOCKET``.

Slurm's programs wake it by a datagram; without one it looks by itself, so that none is missed.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.burst import model
from rackwright.burst.configure import Configurer, Places
from rackwright.burst.pools import pools
from rackwright.burst.slurm import Slurm
from rackwright.burst.worker import Worker
from rackwright.errors import UsageError
from rackwright.inventory.zone import opened
from rackwright.plan.model import AwsSitePlan, Plan
from rackwright.plan.observed import ObservedSlot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.burst.instances import Instances

BUSY_S, IDLE_S = 2.0, 15.0
"""Between two looks, where something is under way and where nothing is."""
_LONGEST_CALL = 65536
log = logging.getLogger("rackwright.burst")


def keys(plan: Plan, pool: Instances, due: Mapping[str, str]) -> dict[str, ObservedSlot]:
    """Host keys of instances whose consoles have them.

    Args:
        plan: the plan.
        pool: whose instances.
        due: slot → instance.
    """
    site = plan.sites[pool.ground.site]
    if not isinstance(site, AwsSitePlan):
        raise TypeError(pool.ground.site)
    zone = opened(pool.ground.site, site, plan.cluster.name)
    there = {slot: one for slot, one in zone.instances.items() if due.get(slot) == one.id}
    readings = {slot: zone.read(slot) for slot in there}
    return {
        slot: ObservedSlot(host_keys=reading.keys, instance=there[slot].id, address=there[slot].address)
        for slot, reading in readings.items()
        if reading.keys
    }


def worker(plan: Plan, setting: model.Setting, places: Places) -> Worker:
    """All that a scheduler's slots on demand need."""
    times = plan.slurm[setting.scheduler].burst
    if times is None:
        raise TypeError(setting.scheduler)
    roles = Configurer(plan, setting, places, times.resume_within_s)
    roles.lay_files()
    return Worker(Slurm(), list(pools(plan, setting)), roles, partial(keys, plan), times)


def _listen(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listening.bind(str(path))
    return listening


def _wait(listening: socket.socket, seconds: float) -> None:
    """Until Slurm calls, or for so long."""
    ready, _, _ = select.select([listening], [], [], seconds)
    if ready:
        log.info("Slurm: %s", listening.recv(_LONGEST_CALL).decode(errors="replace"))


def main(laid: Path, work: Path, path: Path) -> int:
    """Run until it is stopped.

    Raises:
        UsageError: what the role has laid cannot be read.
    """
    plan, setting = model.read(laid)
    secrets = Path(os.environ["CREDENTIALS_DIRECTORY"])
    ours = worker(plan, setting, Places(paths.repository(), laid, work, secrets))
    with _listen(path) as listening:
        log.info("slots on demand: %s", ", ".join(slot for one in ours.pools for slot in one.nodes) or "none")
        while True:
            _wait(listening, BUSY_S if ours.turn() else IDLE_S)


if __name__ == "__main__":
    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.INFO)
    logging.getLogger("botocore").setLevel(logging.WARNING)
    try:
        sys.exit(main(*map(Path, sys.argv[1:])))
    except UsageError as spoiled:
        log.critical("%s", model.told(spoiled))
        sys.exit(spoiled.exit_code)
