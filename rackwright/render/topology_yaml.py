"""The tree or the blocks of topology.conf as topology.yaml, which Slurm reads from 25.05 on instead of it.

Source: topology.yaml(5): a list of named topologies, one kind each, one of them the cluster's default.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.render.slurm import files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.model import SlurmPlan

FIRST = "25.05"
_SWITCH = re.compile(r"SwitchName=(\S+) (Nodes|Switches)=(\S+)")
_BLOCK = re.compile(r"BlockName=(\S+) Nodes=(\S+)")
_KEYS = {"Nodes": "nodes", "Switches": "children"}


def topology_yaml(slurm: SlurmPlan) -> str:
    """The file.

    Raises:
        UsageError: a release that does not know the file.
    """
    if _number(slurm.version) < _number(FIRST):
        raise UsageError(
            f"Slurm {slurm.version} does not read topology.yaml",
            where="schedulers",
            got=slurm.version,
            expected=f"{FIRST} or newer",
            hint="take topology.conf: `--as slurm-conf`",
        )
    kind = _blocks(slurm) if slurm.block_sizes else _tree(slurm)
    return "".join(f"{line}\n" for line in ("- topology: default", "  cluster_default: true", *kind))


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _tree(slurm: SlurmPlan) -> Iterator[str]:
    yield "  tree:"
    yield "    switches:"
    for name, key, below in _SWITCH.findall(files(slurm)["topology.conf"]):
        yield f"      - switch: {name}"
        yield f'        {_KEYS[key]}: "{below}"'


def _blocks(slurm: SlurmPlan) -> Iterator[str]:
    yield "  block:"
    yield "    block_sizes:"
    yield from (f"      - {size}" for size in slurm.block_sizes)
    yield "    blocks:"
    for name, nodes in _BLOCK.findall(files(slurm)["topology.conf"]):
        yield f"      - block: {name}"
        yield f'        nodes: "{nodes}"'
