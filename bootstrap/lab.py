"""What `make lab` and `make lab-down` run."""

from __future__ import annotations

from bootstrap import places
from bootstrap.stages import Stage
from rackwright.errors import EnvironmentUnfit

_BOOT_S = 120
"""Seconds a host may take from power-on to the keys on its console: 1 s measured, more under load."""


def up(spec: str) -> list[Stage]:
    """From nothing to hosts that answer Ansible under their planned names."""
    rackwright = str(places.tool("rackwright"))
    return [
        Stage("lab up", (rackwright, "lab", "up", spec)),
        Stage("plan", (rackwright, "plan", spec)),
        Stage("up", (rackwright, "up", spec, "--yes")),
        Stage("inventory", (rackwright, "inventory", spec, "--wait", "180")),
        Stage("ping", ("sh", str(places.DATA / "ping.sh"), spec)),
    ]


def down(spec: str) -> list[Stage]:
    """Take the lab away, if this machine has ever had one.

    Raises:
        EnvironmentUnfit: a lab is there, and the environment that made it is not.
    """
    if places.tool("rackwright").exists():
        return [Stage("lab down", (str(places.tool("rackwright")), "lab", "down", spec))]
    labs = sorted(places.run_folder().glob("*"))
    if not labs:
        return []
    raise EnvironmentUnfit(
        "a lab is up, and the Python environment that can take it down is gone",
        code="SET011",
        where=str(places.environment()),
        got=", ".join(map(str, labs)),
        expected="a Python environment with rackwright in it",
        hint="run `make setup`, then the same command again",
    )
