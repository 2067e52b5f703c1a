"""A run over two sites: a job for each partition, one folder, one verdict's worth of evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.errors import Interrupted
from rackwright.inventory.model import SCHEMA, Inventory
from rackwright.validate import suite as suites
from rackwright.validate.asked import asked
from rackwright.validate.evidence import load
from rackwright.validate.expectations import Expectations
from rackwright.validate.history import Earlier, History
from rackwright.validate.model import Ended
from rackwright.validate.run import Order, validate
from tests.doubles.fake_slurm import FakeSlurm

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tests.doubles.fake_slurm import Outcome

HALL = ("node-001", "node-002", "node-003")
CLOUD = ("cnode-001", "cnode-002")


def _order(spec: str, names: Iterable[str], tmp_path: Path) -> Order:
    cluster = open_cluster(paths.repository() / "clusters" / f"{spec}.yaml")
    nobody = {"schema": SCHEMA, "cluster": "x", "domain": "x", "hosts": {}, "absent": {}}
    whom = asked(cluster.plan, cluster.catalogue, Inventory.model_validate(nobody), names)
    return Order(
        plan=cluster.plan,
        plan_sha256="0" * 64,
        asked=whom,
        suite=suites.load("acceptance"),
        expectations=Expectations(expectations=()),
        folder=tmp_path / "run",
        runs=tmp_path,
    )


@pytest.fixture
def order(tmp_path: Path) -> Order:
    return _order("lab-hybrid", (*HALL, *CLOUD), tmp_path)


def silent(_name: str, _nodes: Sequence[str]) -> Outcome:
    return 0, "", ""


def test_each_partition_has_a_job_of_its_own(order: Order) -> None:
    slurm = FakeSlurm(dict.fromkeys((*HALL, *CLOUD), ("IDLE",)))
    slurm.step = silent
    run = load(validate(order, slurm, lambda _: None).folder)
    assert run.partitions == {"cloud": CLOUD, "hall": HALL}
    assert run.racks == {"hall": {"r01p01": HALL[:2], "r01p02": HALL[2:]}}
    assert len(run.job_ids) == 2
    assert {
        frozenset(step.nodes) <= set(HALL) or frozenset(step.nodes) <= set(CLOUD) for step in run.steps
    } == {True}
    assert {name for step in run.steps for name in step.nodes} == {*HALL, *CLOUD}
    assert run.finished is not None


def test_a_hybrid_of_gpus_and_trainium_is_one_run_in_which_each_is_asked_what_it_declares(
    tmp_path: Path,
) -> None:
    gpus, chips = ("h100-001", "h100-002"), ("trn2-001", "trn2-002")
    hybrid = _order("hybrid", (*gpus, *chips), tmp_path)
    resting = [check.model_copy(update={"settle_s": 0}) for check in hybrid.suite.checks]
    hybrid = replace(hybrid, suite=hybrid.suite.model_copy(update={"checks": tuple(resting)}))
    slurm = FakeSlurm(dict.fromkeys((*gpus, *chips), ("IDLE",)))
    slurm.step = silent
    run = load(validate(hybrid, slurm, lambda _: None).folder)
    nodes: dict[str, set[str]] = {}
    for step in run.steps:
        nodes.setdefault(step.check, set()).update(step.nodes)
    assert run.finished is not None
    assert len(run.job_ids) == len(run.partitions) == 2
    assert nodes["nccl-tests"] == nodes["dcgm-diag"] == nodes["links"] == set(gpus)
    assert nodes["nccom-test"] == set(chips)
    assert nodes["matrix"] == nodes["clock"] == {*gpus, *chips}
    assert nodes["link"] == {gpus[0], chips[0]}
    assert run.not_declared["nccl-tests"] == chips
    assert run.not_declared["nccom-test"] == gpus
    assert not {"clock", "link", "matrix"} & run.not_declared.keys()
    assert run.not_applicable.keys() == {"pairs", "collectives"}


def test_nodes_whose_platform_declares_no_check_have_no_job(order: Order) -> None:
    bare = {name: replace(order.asked.nodes[name], checks=frozenset()) for name in CLOUD}
    without = replace(order, asked=replace(order.asked, nodes={**order.asked.nodes, **bare}))
    slurm = FakeSlurm(dict.fromkeys((*HALL, *CLOUD), ("IDLE",)))
    slurm.step = silent
    run = load(validate(without, slurm, lambda _: None).folder)
    assert len(run.job_ids) == 1
    assert {name for step in run.steps for name in step.nodes} == set(HALL)
    assert run.not_declared["matrix"] == CLOUD


def test_a_partition_that_is_gone_stops_no_other(order: Order) -> None:
    slurm = FakeSlurm({**dict.fromkeys(HALL, ("IDLE",)), **dict.fromkeys(CLOUD, ("DOWN",))})
    slurm.step = silent
    run = load(validate(order, slurm, lambda _: None).folder)
    assert set(run.lost) == set(CLOUD)
    assert {name for step in run.steps for name in step.nodes} == set(HALL)
    (over,) = [step for step in run.steps if step.check == "link"]
    assert over.name == "link/wan/node-001+cnode-001", "its kernel answers: a black hole is told from a cut"


def test_over_a_link_a_node_that_answers_slurm_is_asked_before_one_that_does_not(order: Order) -> None:
    slurm = FakeSlurm({**dict.fromkeys((*HALL, *CLOUD), ("IDLE",)), "cnode-001": ("DOWN",)})
    slurm.step = silent
    run = load(validate(order, slurm, lambda _: None).folder)
    assert "link/wan/node-001+cnode-002" in {step.name for step in run.steps}


def test_a_link_is_asked_from_both_of_its_ends(order: Order) -> None:
    slurm = FakeSlurm(dict.fromkeys((*HALL, *CLOUD), ("IDLE",)))
    slurm.step = silent
    run = load(validate(order, slurm, lambda _: None).folder)
    ways = {step.name: step.command[-6:] for step in run.steps if step.check == "link"}
    assert ways == {
        "link/wan/cnode-001+node-001": ("--address", "10.78.0.17", "--mtu", "1400", "--probes", "3"),
        "link/wan/node-001+cnode-001": ("--address", "10.78.32.16", "--mtu", "1400", "--probes", "3"),
    }
    assert run.links == {"wan": ("hall", "cloud")}


def test_a_link_to_a_site_of_which_nobody_is_there_is_told(order: Order) -> None:
    gone = replace(order.asked, missing=dict.fromkeys(CLOUD, "no instance fills the slot"))
    slurm = FakeSlurm(dict.fromkeys(HALL, ("IDLE",)))
    slurm.step = silent
    run = load(validate(replace(order, asked=gone), slurm, lambda _: None).folder)
    (step,) = [step for step in run.steps if step.check == "link"]
    assert (step.ended, step.reason) == (Ended.NOT_RUN, "no node of cloud is there to answer")
    assert set(run.missing) == set(CLOUD)


def _stopped_in_a_step(_name: str, _nodes: Sequence[str]) -> Outcome:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("cancels", "said", "first"),
    [
        (True, "the job is cancelled", "the same command with"),
        (
            False,
            "job 7 could not be cancelled and may still run",
            "once Slurm answers, `scancel --me --name=",
        ),
    ],
)
def test_who_is_stopped_is_told_what_became_of_the_job(
    order: Order, *, cancels: bool, said: str, first: str
) -> None:
    slurm = FakeSlurm(dict.fromkeys((*HALL, *CLOUD), ("IDLE",)), cancels=cancels)
    slurm.step = _stopped_in_a_step
    with pytest.raises(Interrupted) as caught:
        validate(order, slurm, lambda _: None)
    assert caught.value.message == f"stopped: {said}, and what was measured until then is kept"
    assert caught.value.hint.startswith(first)
    assert f"`--resume {order.folder}`" in caught.value.hint
    assert ("cancels it first" in caught.value.hint) is not cancels


def test_a_run_keeps_which_machines_it_is_of_and_what_it_was_told_of_them(order: Order) -> None:
    known = History(runs=("before",), nodes={HALL[0]: (Earlier(run="before", started="x", failed=True),)})
    about = {HALL[0]: "serial-1", HALL[1]: "", "another": "serial-9"}
    slurm = FakeSlurm(dict.fromkeys((*HALL, *CLOUD), ("IDLE",)))
    slurm.step = silent
    folder = validate(replace(order, machines=about, history=known), slurm, lambda _: None).folder
    run = load(folder)
    assert run.machines == {HALL[0]: "serial-1"}
    assert run.history is not None
    assert History.model_validate_json((folder / run.history.path).read_bytes()) == known
