"""A topology.conf in, refused where slurmctld would end with it or place jobs wrong.

Slurm has no dry run: it says what is wrong when it is started, and ends.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ClusterShell.NodeSet import NodeSet  # type: ignore[import-untyped]  # (it has no types)

from rackwright.errors import RenderedInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LONGEST_NAME = 64
_SWITCH = re.compile(r"^SwitchName=(\S+)(?: (Nodes|Switches)=(\S*))?$", re.MULTILINE)
_BLOCK = re.compile(r"^BlockName=(\S+) Nodes=(\S*)$", re.MULTILINE)


class _Fault(NamedTuple):
    got: str
    expected: str


def refuse_topology(text: str) -> None:
    """Check one file; sizes of blocks are the plan's to check.

    Raises:
        RenderedInvalid: the first of its faults.
    """
    names = [name for name, *_ in (*_SWITCH.findall(text), *_BLOCK.findall(text))]
    for fault in (*_of_names(names), *_of_tree(text), *_of_blocks(text)):
        raise RenderedInvalid(
            "slurmctld would not place jobs by this topology.conf",
            where="topology.conf",
            got=fault.got,
            expected=fault.expected,
        )


def _of_names(names: list[str]) -> Iterator[_Fault]:
    if not names:
        yield _Fault("no switch and no block", "one at least: a scheduler has nodes")
    for name, count in Counter(names).items():
        if count > 1:
            yield _Fault(f"{name} {count} times", "each name once")
        if len(name) > LONGEST_NAME:
            yield _Fault(f"{name}, {len(name)} characters", f"at most {LONGEST_NAME}")


def _of_tree(text: str) -> Iterator[_Fault]:
    below: dict[str, list[str]] = {}
    nodes = Counter[str]()
    for name, key, value in _SWITCH.findall(text):
        if not value:
            yield _Fault(f"{name} with nothing below it", "nodes or switches")
        below[name] = list(NodeSet(value)) if key == "Switches" else []
        nodes.update(NodeSet(value) if key == "Nodes" else ())
    parents = Counter(child for children in below.values() for child in children)
    for child, count in parents.items():
        if child not in below:
            yield _Fault(f"{child} below a switch", "a switch that is there")
        if count > 1:
            yield _Fault(f"{child} below {count} switches", "one switch above each")
    yield from _shared(nodes)
    yield from _circles(below)


def _of_blocks(text: str) -> Iterator[_Fault]:
    nodes = Counter[str]()
    for name, value in _BLOCK.findall(text):
        if not value:
            yield _Fault(f"{name} without nodes", "nodes")
        nodes.update(NodeSet(value))
    yield from _shared(nodes)


def _shared(nodes: Counter[str]) -> Iterator[_Fault]:
    twice = sorted(node for node, count in nodes.items() if count > 1)
    if twice:
        yield _Fault(f"{twice[0]} in {nodes[twice[0]]} of them", "each node in one")


def _circles(below: Mapping[str, list[str]]) -> Iterator[_Fault]:
    """Switches that no way down from a root reaches: they are below themselves."""
    children = {child for one in below.values() for child in one}
    reached, waiting = set[str](), [name for name in below if name not in children]
    while waiting:
        here = waiting.pop()
        reached.add(here)
        waiting += [child for child in below.get(here, ()) if child not in reached]
    lost = sorted(below.keys() - reached)
    if lost:
        yield _Fault(f"{lost[0]} below itself", "a tree")
