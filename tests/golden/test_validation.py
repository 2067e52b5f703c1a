"""What acceptance runs on the platforms of the examples: every command line, as the controller gets it.

Those of nccl-tests and nccom-test are built and compared here; no accelerator was at hand to run them.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.inventory.model import SCHEMA, Inventory
from rackwright.validate import commands, suite
from rackwright.validate.asked import asked
from rackwright.validate.steps import Ground, batches, in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.cli.cluster import Cluster

CLUSTERS = paths.repository() / "clusters"
JOB, NODES = 1234, 3
"""Of as many nodes as show how ranks and hosts are counted."""


def _lines(cluster: Cluster, pool: str) -> Iterator[str]:
    inventory = Inventory.model_validate(
        {
            "schema": SCHEMA,
            "cluster": cluster.plan.cluster.name,
            "domain": "x.example",
            "hosts": {},
            "absent": {},
        }
    )
    names = list(cluster.plan.pools[pool].slots)[:NODES]
    whom = asked(cluster.plan, cluster.catalogue, inventory, names)
    acceptance = suite.load("acceptance")
    ground = Ground(list(whom.nodes.values()), mpi=acceptance.mpi, run="2026-11-28T08:00:00Z")
    for check in in_order(acceptance.checks):
        if check.check not in whom.checks:
            yield f"# {check.check}: not declared"
            continue
        for batch in batches(check, ground):
            yield f"# {check.check}: {len(batch)} at once"
            for step in batch:
                assert step.task is not None
                yield shlex.join(commands.srun(step.task, step.name, step.nodes, JOB, check.limit_s))


@pytest.mark.parametrize(
    ("name", "pool"),
    [
        ("lab", "node"),
        ("onprem-dgx-h100", "h100"),
        ("aws-p5", "p5"),
        ("aws-p5en", "p5en"),
        ("aws-p6-b300", "b300"),
        ("aws-trn2", "trn2"),
    ],
)
def test_the_commands(name: str, pool: str, golden: Callable[[str, str], None]) -> None:
    cluster = open_cluster(CLUSTERS / f"{name}.yaml")
    golden(f"{name}/acceptance.txt", "\n".join(_lines(cluster, pool)) + "\n")
