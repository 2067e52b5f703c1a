"""A run over two sites: a job for each partition, one folder, one verdict's worth of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.inventory.model import SCHEMA, Inventory
from rackwright.validate import suite as suites
from rackwright.validate.asked import asked
from rackwright.validate.evidence import load
from rackwright.validate.expectations import Expectations
from rackwright.validate.run import Order, validate
from tests.doubles.fake_slurm import FakeSlurm

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.doubles.fake_slurm import Outcome

HALL = ("node-001", "node-002", "node-003")
CLOUD = ("cnode-001", "cnode-002")


@pytest.fixture
def order(tmp_path: Path) -> Order:
    cluster = open_cluster(paths.repository() / "clusters" / "lab-hybrid.yaml")
    nobody = {"schema": SCHEMA, "cluster": "x", "domain": "x", "hosts": {}, "absent": {}}
    whom = asked(cluster.plan, cluster.catalogue, Inventory.model_validate(nobody), (*HALL, *CLOUD))
    return Order(
        plan=cluster.plan,
        plan_sha256="0" * 64,
        asked=whom,
        suite=suites.load("acceptance"),
        expectations=Expectations(expectations=()),
        folder=tmp_path / "run",
        runs=tmp_path,
    )


def silent(_name: str, _nodes: Sequence[str]) -> Outcome:
    return 0, "", ""


def test_each_partition_has_a_job_of_its_own(order: Order) -> None:
    slurm = FakeSlurm(dict.fromkeys((*HALL, *CLOUD), ("IDLE",)))
    slurm.step = silent
    run = load(validate(order, slurm, lambda _: None).folder)
    assert run.partitions == {"cloud": CLOUD, "hall": HALL}
    assert len(run.job_ids) == 2
    assert {
        frozenset(step.nodes) <= set(HALL) or frozenset(step.nodes) <= set(CLOUD) for step in run.steps
    } == {True}
    assert {name for step in run.steps for name in step.nodes} == {*HALL, *CLOUD}
    assert run.finished is not None


def test_a_partition_that_is_gone_stops_no_other(order: Order) -> None:
    slurm = FakeSlurm({**dict.fromkeys(HALL, ("IDLE",)), **dict.fromkeys(CLOUD, ("DOWN",))})
    slurm.step = silent
    run = load(validate(order, slurm, lambda _: None).folder)
    assert set(run.lost) == set(CLOUD)
    assert {name for step in run.steps for name in step.nodes} == set(HALL)
