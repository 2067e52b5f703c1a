"""What `make lab` and `make lab-down` run."""

from __future__ import annotations

from bootstrap import places
from bootstrap.stages import Stage

_BOOT_S = 180
"""Seconds a host may take from power-on to the keys on its console: 1 s measured, more under load."""


def up(spec: str) -> list[Stage]:
    """From nothing to a verdict on every node and rail."""
    rackwright = str(places.tool("rackwright"))
    return [
        Stage("lab up", (rackwright, "lab", "up", spec)),
        Stage("plan", (rackwright, "plan", spec)),
        Stage("up", (rackwright, "up", spec, "--yes")),
        Stage("inventory", (rackwright, "inventory", spec, "--wait", str(_BOOT_S))),
        Stage("converge", (rackwright, "converge", spec)),
        Stage("validate", (rackwright, "validate", spec)),
    ]


def down(spec: str) -> list[Stage]:
    """Take the lab of a spec away, or the only one; by the standard library where the environment is gone."""
    which = [spec] if spec else []
    rackwright = places.tool("rackwright")
    if rackwright.exists():
        return [Stage("lab down", (str(rackwright), "lab", "down", *which))]
    return [Stage("lab down", (places.python(), "-m", "rackwright.lab.teardown", *which))]
