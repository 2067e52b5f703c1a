#!/usr/bin/python3
"""InfiniBand subnets that a host is to manage in; what it still has of others is stopped and taken away.

With ``--apply`` it reads one JSON object: ``plan`` (``subnets``, their names) and ``check``. The folder of a
subnet goes last, so that a run that is cut off is brought to its end by the next. Logs stay.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import on_host
from on_host import Difference, Plan, must, run, told

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIGURED = Path("/etc/rackwright/opensm")
UNITS = Path("/etc/systemd/system")
CACHES = Path("/var/cache")
UNIT = "rackwright-opensm@.service"
STOPPED = ("inactive", "failed", "unknown", "")
_INSTANCE = re.compile(r"rackwright-opensm@(.+)\.service")


def of(subnet: str) -> str:
    """``rackwright-opensm@compute.service``."""
    return UNIT.replace("@", f"@{subnet}")


def here() -> set[str]:
    """Subnets of which something is on this host: files, a unit that starts at boot, or one that runs."""
    folders = {path.name for path in CONFIGURED.glob("*/")}
    enabled = (path.name for path in wanting("*"))
    listed = run("systemctl", "list-units", "--all", "--plain", "--no-legend", of("*")).stdout.splitlines()
    units = (*enabled, *(line.split()[0] for line in listed if line.strip()))
    return folders | {found[1] for found in map(_INSTANCE.fullmatch, units) if found}


def wanting(subnet: str) -> Iterator[Path]:
    """Links that start its manager at boot."""
    return UNITS.glob(f"*.wants/{of(subnet)}")


def state(subnet: str) -> str:
    """As systemd has its manager."""
    return run("systemctl", "is-active", of(subnet)).stdout.strip()


def differences(left: set[str], *, unit: bool) -> Iterator[Difference]:
    """What is to be taken away."""
    for subnet in sorted(left):
        yield Difference("unit", of(subnet), "not there: this host does not manage its subnet", state(subnet))
    if unit:
        yield Difference("file", str(UNITS / UNIT), "not there: this host manages no subnet", "there")


def take_away(left: set[str], *, unit: bool) -> None:
    """Stop and disable first: whatever else fails, two do not manage one subnet."""
    for subnet in sorted(left):
        if state(subnet) not in STOPPED:
            must("systemctl", "stop", of(subnet))
        run("systemctl", "reset-failed", of(subnet))
        for link in wanting(subnet):
            link.unlink()
        shutil.rmtree(CACHES / f"rackwright-opensm-{subnet}", ignore_errors=True)
        if (CONFIGURED / subnet).is_dir():
            shutil.rmtree(CONFIGURED / subnet)
    if unit:
        (UNITS / UNIT).unlink()
    must("systemctl", "daemon-reload")


def apply(asked: Plan) -> Plan:
    """Bring it about."""
    planned = set(asked["plan"]["subnets"])
    left = here() - planned
    unit = not planned and (UNITS / UNIT).exists()
    found = list(differences(left, unit=unit))
    if found and not asked["check"]:
        take_away(left, unit=unit)
    return told(found)


if __name__ == "__main__":
    sys.exit(on_host.answer(apply))
