#!/usr/bin/python3
"""Names the link in the reason of nodes that are down because nothing beyond it answers.

Slurm itself only says ``Not responding`` of a node that it lost, of one as of all. Which nodes are reached
over which link is in /etc/rackwright/slurm-links.json. A link is named while none of the nodes beyond it
answers; when one does again, the others have Slurm's own reason back. A node that returns loses its reason
by itself (slurm.conf(5), ReturnToService=2), and nobody's state is changed here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

LINKS = Path("/etc/rackwright/slurm-links.json")
SILENT, DOWN = "NOT_RESPONDING", "DOWN"
NOT_ASKED = frozenset({"FUTURE", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"})
"""States and flags of nodes that are not expected to answer (sinfo(1), NODE STATE CODES)."""
SLURMS = "Not responding"
"""Reason that slurmctld gives a node it has lost."""
TIMEOUT_S = 10


class Node(NamedTuple):
    """What Slurm says of one."""

    state: frozenset[str]
    reason: str


def reason(link: str, site: str) -> str:
    """Why a node of a site is down when nothing there answers."""
    return f"link {link}: no node of {site} answers over it"


def changes(links: list[dict[str, object]], nodes: dict[str, Node]) -> dict[str, list[str]]:
    """Reason → nodes that are to have it, of those that have another now.

    Args:
        links: each with its name, the site it leads to, and that site's nodes.
        nodes: by name; reasons of anybody but Slurm and us are left alone.
    """
    wanted: dict[str, list[str]] = {}
    for link in links:
        ours = reason(str(link["link"]), str(link["site"]))
        names = link["nodes"]
        beyond = {name: nodes[name] for name in nodes if isinstance(names, list) and name in names}
        asked = [node for node in beyond.values() if not NOT_ASKED & node.state]
        cut = bool(asked) and all(SILENT in node.state for node in asked)
        before, after = (SLURMS, ours) if cut else (ours, SLURMS)
        for name, node in beyond.items():
            if DOWN in node.state and SILENT in node.state and node.reason == before:
                wanted.setdefault(after, []).append(name)
    return wanted


def known() -> dict[str, Node]:
    """All nodes that Slurm knows."""
    told = json.loads(scontrol("show", "nodes", "--json"))
    return {one["name"]: Node(frozenset(one["state"]), one["reason"]) for one in told["nodes"]}


def scontrol(*words: str) -> str:
    """Run it."""
    done = subprocess.run(("scontrol", *words), capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return done.stdout


def main() -> int:
    """Look once."""
    try:
        for why, names in changes(json.loads(LINKS.read_text())["links"], known()).items():
            scontrol("update", f"nodename={','.join(sorted(names))}", f"reason={why}")
            print(f"{','.join(sorted(names))}: {why}")  # noqa: T201 (its journal)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"Slurm was not asked: {error}", file=sys.stderr)  # noqa: T201 (its journal)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
