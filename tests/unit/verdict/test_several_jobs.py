"""A run of several jobs: each is judged by what its nodes exchanged, and by what their platforms declare."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.measure import measure
from rackwright.verdict.collective import CollectiveBandwidth
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Value
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.model import Artefact, Run, Step
    from rackwright.verdict.model import Verdict

ONE, OTHER = ("node-001", "node-002", "node-003"), ("node-004", "node-005", "node-006")
HEALTHY = runs.World()
NAME = CollectiveBandwidth.name
OVER_RAILS = ("links", "pairs", "collectives")


def _below(name: str, output: Artefact | None) -> Artefact | None:
    return output and output.model_copy(update={"path": f"{name}/{output.path}"})


def _steps(name: str, run: Run, without: tuple[str, ...]) -> list[Step]:
    """The steps of a job, by names and paths of its own."""
    return [
        step.model_copy(update={"name": f"{step.name}/again-{name}", "stdout": _below(name, step.stdout)})
        for step in run.steps
        if step.check not in without
    ]


def _run(folder: Path, other: runs.World, without: tuple[str, ...] = ()) -> Run:
    """A job of healthy nodes, and one of others on the same fabric of the same site, not asked for all."""
    one = runs.load(runs.build(folder / "one", replace(HEALTHY, nodes=ONE)))
    two = runs.load(runs.build(folder / "other", replace(other, nodes=OTHER)))
    return one.model_copy(
        update={
            "sites": {runs.SITE: (*ONE, *OTHER)},
            "platforms": {"one-kind": ONE, "other-kind": OTHER},
            "partitions": {"one": ONE, "other": OTHER},
            "pools": {"one-pool": ONE, "other-pool": OTHER},
            "rails": (*one.rails, *two.rails),
            "steps": (*_steps("one", one, ()), *_steps("other", two, without)),
            "not_declared": dict.fromkeys(without, OTHER),
        }
    )


def _verdict(folder: Path, run: Run) -> Verdict:
    measured = measure(run, lambda artefact: (folder / artefact.path).read_text(encoding="utf-8"))
    return judge(run, measured, runs.expectations(HEALTHY))


def _bad(verdict: Verdict) -> dict[str, Value]:
    return {one.name: one.verdict for one in verdict.subjects if one.verdict is not Value.PASS}


def test_nodes_of_two_jobs_owe_each_other_nothing(tmp_path: Path) -> None:
    run = _run(tmp_path, HEALTHY)
    assert _bad(_verdict(tmp_path, run)) == {}
    of_one_job = _verdict(tmp_path, run.model_copy(update={"partitions": {}}))
    assert _bad(of_one_job).keys() >= {"hall", *ONE, *OTHER}, "of one job they owe each other pairs"


def test_a_fault_in_one_job_is_told_of_it_and_not_of_the_other(tmp_path: Path) -> None:
    slow = replace(HEALTHY, rate={("node-005", 1): 20.0})
    verdict = _verdict(tmp_path, _run(tmp_path, slow))
    found = _bad(verdict)
    assert found == dict.fromkeys(("hall", "other", "node-005", "node-005/r1"), Value.FAIL)
    hall = next(one for one in verdict.subjects if one.name == "hall")
    of_jobs = {(one.value, one.cause.rpartition("(")[2]) for one in hall.reasons if one.criterion == NAME}
    good_rail, pools = Value.PASS, ("pool one-pool)", "pool other-pool)")
    assert of_jobs == {(good_rail, pools[0]), (good_rail, pools[1]), (Value.FAIL, pools[1])}


def test_what_a_platform_does_not_declare_is_not_missed_of_its_nodes(tmp_path: Path) -> None:
    run = _run(tmp_path, HEALTHY, OVER_RAILS)
    verdict = _verdict(tmp_path, run)
    assert _bad(verdict) == {}
    told = "this platform does not declare it"
    said = {name: why for name, why in verdict.not_applicable.items() if why == told}
    assert said == {f"{check}: other-kind": told for check in OVER_RAILS}


def test_nodes_whose_platform_declares_nothing_do_not_pass(tmp_path: Path) -> None:
    found = _bad(_verdict(tmp_path, _run(tmp_path, HEALTHY, runs.CHECKS)))
    assert found == dict.fromkeys(("hall", "other", *OTHER), Value.NOT_RUN)


def test_nodes_that_no_partition_names_owe_each_other_what_a_job_does(tmp_path: Path) -> None:
    run = _run(tmp_path, HEALTHY)
    kept = tuple(step for step in run.steps if step.check != "pairs" or not set(step.nodes) <= set(OTHER))
    found = _bad(_verdict(tmp_path, run.model_copy(update={"partitions": {"one": ONE}, "steps": kept})))
    assert found.keys() >= set(OTHER)
    assert not found.keys() & set(ONE)


@pytest.mark.parametrize("check", ["matrix", "collectives"])
def test_what_a_platform_declares_is_missed_of_each_job(tmp_path: Path, check: str) -> None:
    run = _run(tmp_path, HEALTHY)
    kept = [step for step in run.steps if step.check != check or not set(step.nodes) <= set(OTHER)]
    found = _bad(_verdict(tmp_path, run.model_copy(update={"steps": tuple(kept)})))
    assert found["hall"] is Value.ERROR
    assert not found.keys() & set(ONE)
