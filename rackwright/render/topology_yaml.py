"""The tree or the blocks of topology.conf as topology.yaml, which Slurm reads from 25.05 on instead of it.

Where a tree has several roots, each is a named topology beside the one of the whole, for partitions to pick.

Source: topology.yaml(5): a list of named topologies, one kind each, one of them the cluster's default.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.render.slurm import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rackwright.plan.model import SlurmPlan

FIRST = "25.05"
SHOWN = "26.05"
"""The release whose slurmctld has started with such files (tests/hosts/test_newer_slurm.py)."""
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
    return "".join(f"{line}\n" for line in (*_head(slurm), *_topologies(slurm)))


def _head(slurm: SlurmPlan) -> Iterator[str]:
    yield f"# Written by rackwright. {_proof(slurm.version)}"
    for name, partition in slurm.partitions.items():
        above = {root for pool in partition.pools for root in _roots(slurm, pool)}
        if len(slurm.spines) > 1 and len(above) == 1:
            yield f"# In slurm.conf: PartitionName={name} … Topology={above.pop()}"


def _proof(version: str) -> str:
    if version == SHOWN:
        return f"A slurmctld of Slurm {SHOWN} has been shown to start with such a file."
    return f"No slurmctld of Slurm {version} has been shown to start with it, one of {SHOWN} has."


def _roots(slurm: SlurmPlan, pool: str) -> Iterator[str]:
    """Switches above the units of a pool."""
    slots = {*slurm.pools[pool].nodes, *slurm.pools[pool].burst}
    for root, units in slurm.spines.items():
        if any(not slots.isdisjoint(slurm.units[unit]) for unit in units):
            yield root


def _topologies(slurm: SlurmPlan) -> Iterator[str]:
    yield "- topology: default"
    yield "  cluster_default: true"
    if slurm.block_sizes:
        yield from _blocks(slurm)
        return
    switches = _SWITCH.findall(files(slurm)["topology.conf"])
    yield from _tree(switches)
    for root, units in slurm.spines.items() if len(slurm.spines) > 1 else ():
        yield f"- topology: {root}"
        yield "  cluster_default: false"
        yield from _tree([one for one in switches if one[0] == root or one[0] in units])


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _tree(switches: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    yield "  tree:"
    yield "    switches:"
    for name, key, below in switches:
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
