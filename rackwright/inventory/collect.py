"""Read the consoles of a plan's hosts, wait for them where asked, and keep what they said."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rackwright import paths
from rackwright.inventory import store
from rackwright.inventory.build import build, expected
from rackwright.inventory.keys import judge, placed, renewed
from rackwright.inventory.logs import ConsoleLogs
from rackwright.inventory.zone import opened
from rackwright.plan.model import AwsSitePlan, OnpremSitePlan
from rackwright.spec.references import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwright.inventory.console import Reading
    from rackwright.inventory.keys import Acceptance, Judged
    from rackwright.inventory.model import Inventory
    from rackwright.inventory.zone import Zone
    from rackwright.plan.model import Plan
    from rackwright.plan.observed import Observed

POLL_SECONDS = 0.5


class Consoles(Protocol):
    """Consoles of one site."""

    def read(self, host: str) -> Reading:
        """What a host's console says of its keys."""


@dataclass(frozen=True, slots=True)
class Wait:
    """How long to wait for hosts that are still booting, and whom to tell.

    Args:
        seconds: at most; 0 reads once.
        tell: gets a sentence whenever the number of hosts still missing changes.
    """

    seconds: float
    tell: Callable[[str], None]


def collect(plan: Plan, spec_folder: Path, wait: Wait, acceptance: Acceptance | None = None) -> Inventory:
    """The inventory as the consoles have it now; what is newly known is stored.

    Args:
        plan: whose hosts.
        spec_folder: ``file:`` references are relative to it.
        wait: for hosts that have not printed their keys.
        acceptance: of changed keys; none are accepted otherwise.

    Raises:
        EnvironmentUnfit: what was stored before cannot be read or is held, or a zone cannot be asked.
        UsageError: a key is accepted that has not changed.
        OSError: what is known cannot be written.
    """
    file = paths.observed_file(plan.cluster.name)
    ends = time.monotonic() + wait.seconds
    while True:
        stored = store.load(file, plan.cluster.name)
        left = replace(wait, seconds=max(0.0, ends - time.monotonic()))
        judged = _judged(plan, spec_folder, stored, left, acceptance)
        if store.replaced(file, stored, judged.observed):  # else another has meanwhile: what it took stays
            return build(plan, judged)


def _judged(
    plan: Plan, spec_folder: Path, stored: Observed, wait: Wait, acceptance: Acceptance | None
) -> Judged:
    """What is known once the consoles were read."""
    zones = _zones(plan)
    instances = {slot: one for zone in zones.values() for slot, one in zone.instances.items()}
    empty = {slot.name for site, slot in expected(plan) if site in zones} - instances.keys()
    observed = renewed(stored, instances, empty)
    logs: dict[str, Consoles] = {**console_logs(plan, spec_folder), **zones}
    judged = judge(observed, _read_and_wait(plan, logs, observed, wait), acceptance)
    return replace(judged, observed=placed(judged.observed, instances))


def _zones(plan: Plan) -> dict[str, Zone]:
    """Zones that have a pool, each asked once."""
    used = {pool.site for pool in plan.pools.values()}
    return {
        name: opened(name, site, plan.cluster.name)
        for name, site in plan.sites.items()
        if isinstance(site, AwsSitePlan) and name in used
    }


def _read_and_wait(
    plan: Plan, logs: Mapping[str, Consoles], observed: Observed, wait: Wait
) -> dict[str, Reading]:
    readings = {slot.name: logs[site].read(slot.name) for site, slot in expected(plan)}
    pending = {
        slot.name: site
        for site, slot in expected(plan)
        if not slot.burst and slot.name not in observed.slots and _is_booting(readings[slot.name])
    }
    _wait_for(pending, readings, logs, wait)
    return readings


def _wait_for(
    pending: dict[str, str], readings: dict[str, Reading], logs: Mapping[str, Consoles], wait: Wait
) -> None:
    """Read the logs of the pending (slot → site) again and again, until nothing is left to wait for."""
    deadline = time.monotonic() + wait.seconds
    told = 0
    while pending and (left := deadline - time.monotonic()) > 0:
        if told != len(pending):
            told = len(pending)
            wait.tell(f"waiting for the keys of {told} of {len(readings)} hosts, first {next(iter(pending))}")
        time.sleep(min(POLL_SECONDS, left))
        for slot in list(pending):
            readings[slot] = logs[pending[slot]].read(slot)
            if not _is_booting(readings[slot]):
                del pending[slot]


def _is_booting(reading: Reading) -> bool:
    return reading.printing or (reading.fault is not None and reading.fault.waiting_helps)


def console_logs(plan: Plan, spec_folder: Path) -> dict[str, ConsoleLogs]:
    """Site → the folder its console servers write to."""
    return {
        name: ConsoleLogs(_folder(site.access.console_logs, plan.cluster.name, spec_folder))
        for name, site in plan.sites.items()
        if isinstance(site, OnpremSitePlan)
    }


def _folder(reference: str, cluster: str, spec_folder: Path) -> Path:
    if reference.startswith("/"):
        return Path(reference)
    return locate(reference, spec_folder, paths.state(cluster))
