"""Time of a zone's stacks by the real engine against the lab's EC2: up, up again, refresh, destroy.

    python benchmarks/aws.py [NODES …]

Engine, plugins and the emulator share the machine's cores, and its machines are values: what is measured
is the product's part and EC2's records, each instance and its interfaces described. Two things grow apart:
the engine's part with resources, which are as many for one node as for a thousand, and the nodes' part.
"""

from __future__ import annotations

import itertools
import logging
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.doubles.ec2 import served
from tests.doubles.zone import PROJECTS, Zone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.doubles.ec2 import Cloud

SIZES = (10, 100, 1000)


def main() -> None:
    """Print seconds and milliseconds a node of each size, and how the nodes' part grows."""
    sizes = [int(word) for word in sys.argv[1:]] or list(SIZES)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    found = {nodes: _measure(nodes) for nodes in sizes}
    for what in found[sizes[0]]:
        for nodes in sizes:
            seconds = found[nodes][what]
            print(f"{what:<10} {nodes:5} nodes {seconds:7.1f} s {seconds / nodes * 1000:8.1f} ms a node")
        _growth(what, [(nodes, found[nodes][what]) for nodes in sizes])


def _growth(what: str, measured: Sequence[tuple[int, float]]) -> None:
    """What a further node costs from each size to the next; growth is linear where that stays the same."""
    costs = [
        (after - before) / (more - fewer) * 1000
        for (fewer, before), (more, after) in itertools.pairwise(measured)
    ]
    print(f"{what:<10} a further node: {', then '.join(f'{cost:.1f} ms' for cost in costs)}")


def _measure(nodes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        with served(folder) as cloud, Zone(folder, f"bench{nodes}", cloud, {"static": nodes}) as zone:
            seconds = {"up": _timed(lambda: zone.run("up", "--yes"))}
            _described(cloud, nodes)
            resources = sum(len(zone.resources(project)) for project in PROJECTS)
            print(f"{nodes} nodes, {zone.planned()['totals']['resources']} resources ({resources} in state)")
            seconds["up again"] = _timed(lambda: zone.run("up", "--yes"))
            seconds["refresh"] = _timed(lambda: zone.run("refresh"))
            seconds["destroy"] = _timed(lambda: zone.run("destroy", "--yes"))
    return seconds


def _described(cloud: Cloud, nodes: int) -> None:
    """Every instance has its record, with every planned interface in it."""
    pages = cloud.client().get_paginator("describe_instances").paginate()
    instances = [one for page in pages for found in page["Reservations"] for one in found["Instances"]]
    interfaces = sum(len(one["NetworkInterfaces"]) for one in instances)
    if len(instances) != nodes:
        raise SystemExit(f"{nodes} nodes wanted, {len(instances)} instances described")
    print(f"{len(instances)} instances described, {interfaces} interfaces")


def _timed(work: Callable[[], object]) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


if __name__ == "__main__":
    main()
