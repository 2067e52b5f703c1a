#!/usr/bin/python3
"""Names the link in the reason of nodes that are down because nothing beyond it answers, and lets them back.

Slurm itself only says ``Not responding`` of a node that it lost, one as of all. Which nodes are reached over
which link is in /etc/rackwright/slurm-links.json. A link is named while none of the nodes beyond it answers.

Such nodes are drained as well, and get jobs again once they have answered for some seconds. slurmd counts
credentials in whole seconds: where a node registers with a job that was requeued meanwhile, slurmctld has
what is left of it killed, which revokes all its credentials up to that second. Started again there in the
same second, the job fails with "Job credential revoked" (cred_revoked() of slurmd/cred_context.c: ``<=``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

LINKS = Path("/etc/rackwright/slurm-links.json")
SILENT, DOWN, DRAIN = "NOT_RESPONDING", "DOWN", "DRAIN"
NOT_ASKED = frozenset({"FUTURE", "POWERED_DOWN", "POWERING_DOWN", "POWERING_UP"})
"""States and flags of nodes that are not expected to answer (sinfo(1), NODE STATE CODES)."""
SLURMS = "Not responding"
"""Reason that slurmctld gives a node it has lost."""
TIMEOUT_S = 10
SETTLED_S = 3
"""From a node's return to its first job: more than the second in which credentials are revoked."""


class Node(NamedTuple):
    """What Slurm says of one."""

    state: frozenset[str]
    reason: str


def reason(link: str, site: str) -> str:
    """Why a node of a site is down when nothing there answers."""
    return f"link {link}: no node of {site} answers over it"


def alone(link: str, site: str) -> str:
    """Why a node is still down when others of its site answer again."""
    return f"link {link}: others of {site} answer over it, this node does not"


Changes = dict[tuple[str, ...], list[str]]
"""What `scontrol update` is to set → nodes."""


def changes(links: list[dict[str, object]], nodes: dict[str, Node]) -> Changes:
    """What is to be set, of nodes that are not so now.

    Args:
        links: each with its name, the site it leads to, and that site's nodes.
        nodes: by name; those with a reason of anybody but Slurm and us are left alone.
    """
    wanted: Changes = {}
    for link in links:
        names = link["nodes"]
        beyond = {name: nodes[name] for name in nodes if isinstance(names, list) and name in names}
        asked = [node for node in beyond.values() if not NOT_ASKED & node.state]
        cut = bool(asked) and all(SILENT in node.state for node in asked)
        texts = (reason(str(link["link"]), str(link["site"])), alone(str(link["link"]), str(link["site"])))
        for name, node in beyond.items():
            if words := change(node, *texts, cut=cut):
                wanted.setdefault(words, []).append(name)
    return wanted


def change(node: Node, ours: str, left: str, *, cut: bool) -> tuple[str, ...]:
    """What is to be set of one node.

    Args:
        node: as it is.
        ours: reason while the link is cut.
        left: reason of a node that does not come back with the others.
        cut: whether no node beyond the link answers.
    """
    lost = {DOWN, SILENT} <= node.state
    if lost and cut and node.reason in (SLURMS, left):
        return ("state=DRAIN", f"reason={ours}")
    if lost and not cut and node.reason == ours:
        return (f"reason={left}",)
    answers = not {DOWN, SILENT} & node.state
    return ("state=UNDRAIN",) if answers and DRAIN in node.state and node.reason in (ours, left) else ()


def known() -> dict[str, Node]:
    """All nodes that Slurm knows."""
    told = json.loads(scontrol("show", "nodes", "--json"))
    return {one["name"]: Node(frozenset(one["state"]), one["reason"]) for one in told["nodes"]}


def scontrol(*words: str) -> str:
    """Run it."""
    done = subprocess.run(("scontrol", *words), capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
    return done.stdout


def look() -> None:
    """Look once, and set what is to be set."""
    for words, names in sorted(changes(json.loads(LINKS.read_text())["links"], known()).items()):
        if "state=UNDRAIN" in words:
            time.sleep(SETTLED_S)
        scontrol("update", f"nodename={','.join(sorted(names))}", *words)
        print(f"{','.join(sorted(names))}: {' '.join(words)}")  # noqa: T201 (its journal)


def main() -> int:
    """Look once."""
    try:
        look()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"Slurm was not asked: {error}", file=sys.stderr)  # noqa: T201 (its journal)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
