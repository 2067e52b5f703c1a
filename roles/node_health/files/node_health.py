#!/usr/bin/python3
"""Slurm's HealthCheckProgram: drains this node for what it lacks, and takes back only its own drains.

What the node should have is in /etc/rackwright/node-health.json. A fault must be found by several checks in a
row. slurmd waits for it: it reads a few files and asks the controller only where something changes.

With --dry-run it prints ``good`` or its faults, one a line, and touches nothing.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

EXPECTED = Path("/etc/rackwright/node-health.json")
MEMORY = Path("/run/rackwright/node-health.json")
INTERFACES = Path("/sys/class/net")
PREFIX = "rackwright: "
"""Of every reason that we drain for; a drain with another reason is somebody else's."""
SLURM_TIMEOUT_S = 10
MIB = 1 << 20
SAYS_NOTHING = {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.EACCES, errno.EPERM}
"""Of writes: no files without a name are known there, or root is nobody. Any other error is a fault."""


ASK_EVERY = 6
"""Good checks until Slurm is asked again: a controller once killed may have forgotten what it was told."""


class Memory(NamedTuple):
    """What the last check left."""

    strikes: int = 0
    """Checks in a row that found a fault."""
    drained: bool | None = None
    """Whether we drained the node; None where we do not know, as after a boot."""
    calm: int = 0
    """Good checks since Slurm was last asked."""


def rail_faults(rails: dict[str, str]) -> list[str]:
    """Rails without a link."""
    return [f"{rail} ({fabric}): {fault}" for rail, fabric in sorted(rails.items()) if (fault := link(rail))]


def link(interface: str) -> str:
    """What is wrong with an interface; empty where it has a carrier."""
    try:
        carrier = (INTERFACES / interface / "carrier").read_text().strip()
    except FileNotFoundError:
        return "no such interface"
    except OSError:
        return "switched off"  # the kernel gives no carrier for an interface that is down
    return "" if carrier == "1" else "no carrier"


def file_system_faults(free_mib: dict[str, int]) -> list[str]:
    """File systems that are full or read-only."""
    return [f"{mount}: {fault}" for mount, least in sorted(free_mib.items()) if (fault := room(mount, least))]


def room(mount: str, least_mib: int) -> str:
    """What is wrong with a file system; empty where it takes writes."""
    try:
        state = os.statvfs(mount)
    except OSError as error:
        return error.strerror or "unreadable"
    if state.f_flag & os.ST_RDONLY:
        return "read-only"
    free_mib = state.f_bavail * state.f_frsize // MIB
    if free_mib < least_mib:
        return f"{free_mib} MiB free, expected {least_mib}"
    return "" if takes_writes(mount) else "takes no writes"


def takes_writes(mount: str) -> bool:
    """Whether a file can be made; since Linux 6.15 one that met an error is not marked read-only."""
    try:
        os.close(os.open(mount, os.O_TMPFILE | os.O_WRONLY, 0o600))
    except OSError as error:
        return error.errno in SAYS_NOTHING
    return True


def recall() -> Memory:
    """What the last check noted."""
    try:
        return Memory(**json.loads(MEMORY.read_text()))
    except (OSError, ValueError, TypeError):
        return Memory()


def remember(memory: Memory) -> None:
    """Note for the next check; /run is no disk that could be full."""
    MEMORY.parent.mkdir(parents=True, exist_ok=True)
    new = MEMORY.with_suffix(".new")
    new.write_text(json.dumps(memory._asdict()))
    new.replace(MEMORY)


def slurm(*words: str) -> str:
    """Run one of Slurm's programs."""
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=SLURM_TIMEOUT_S)
    return done.stdout.strip()


def drained_for(node: str) -> str | None:
    """Reason why the node gets no new jobs; None where it gets some."""
    line = slurm("sinfo", "--noheader", f"--nodes={node}", "--format=%T|%E").partition("\n")[0]
    state, _, reason = line.partition("|")
    return reason if state.startswith(("drain", "down")) else None


def drain(node: str, faults: list[str]) -> None:
    """Give the node no new jobs, unless somebody else's reason already stands."""
    reason = drained_for(node)
    wanted = PREFIX + "; ".join(faults)
    if reason is None or (reason.startswith(PREFIX) and reason != wanted):
        slurm("scontrol", "update", f"nodename={node}", "state=drain", f"reason={wanted}")


def undrain(node: str) -> None:
    """Give the node jobs again, if it was us who took them."""
    reason = drained_for(node)
    if reason is not None and reason.startswith(PREFIX):
        slurm("scontrol", "update", f"nodename={node}", "state=undrain")


def act(node: str, faults: list[str], needed: int) -> None:
    """Drain or undrain, and note it; what fails is tried again by the next check."""
    before = recall()
    strikes = min(before.strikes + 1, needed) if faults else 0
    remember(before._replace(strikes=strikes, calm=0 if faults else before.calm + 1))
    if strikes >= needed:
        drain(node, faults)
        remember(Memory(strikes, drained=True))
    elif not faults and (before.drained is not False or before.calm + 1 >= ASK_EVERY):
        undrain(node)
        remember(Memory(strikes, drained=False))


def main(arguments: list[str]) -> int:
    """Check once."""
    expected = json.loads(EXPECTED.read_text())
    faults = rail_faults(expected["rails"]) + file_system_faults(expected["file_systems_free_mib"])
    print("\n".join(f"fault {fault}" for fault in faults) or "good")  # noqa: T201 (its answer)
    if "--dry-run" not in arguments:
        try:
            act(expected["node"], faults, expected["strikes"])
        except (subprocess.SubprocessError, OSError) as error:
            print(f"Slurm was not told: {error}", file=sys.stderr)  # noqa: T201 (slurmd logs it)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
