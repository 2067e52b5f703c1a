"""Links and partitions are subjects of their own: a black hole is named, and nobody at its ends is blamed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.validate.expected import expectations
from rackwright.validate.measure import measure
from rackwright.validate.model import Artefact, Context, Ended, Run, Step, Tool
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Kind, Subject, Value, Verdict

CASES = Path(__file__).parents[2] / "cases" / "link"
HALL, CLOUD = ("node-001", "node-002"), ("cnode-001",)


def run_of(ended: Ended = Ended.DONE) -> Run:
    output = Artefact(path="raw/link.out", sha256="0" * 64)
    step = Step(
        name="link/wan/node-001+cnode-001",
        check="link",
        tool=Tool.LINK,
        context=Context(node="node-001", peer="cnode-001", link="wan"),
        nodes=("node-001",),
        command=("link.py",),
        ended=ended,
        stdout=output if ended is Ended.DONE else None,
    )
    return Run(
        cluster="lab-hybrid",
        suite="acceptance",
        plan_sha256="0" * 64,
        started="2026-11-28T09:00:00Z",
        finished="2026-11-28T09:01:00Z",
        sites={"cloud": CLOUD, "hall": HALL},
        links={"wan": ("hall", "cloud")},
        partitions={"cloud": CLOUD, "hall": HALL},
        rails=(),
        checks=("link",),
        expectations=Artefact(path="expectations.json", sha256="0" * 64),
        steps=(step,),
    )


def verdict(case: str, run: Run | None = None) -> Verdict:
    cluster = open_cluster(paths.repository() / "clusters" / "lab-hybrid.yaml")
    wanted = expectations(cluster.plan, cluster.catalogue, (*HALL, *CLOUD))
    found = run or run_of()
    text = (CASES / case / "input.txt").read_text(encoding="utf-8")
    return judge(found, measure(found, lambda _: text), wanted)


def wan(found: Verdict) -> Subject:
    (link,) = [one for one in found.subjects if one.kind is Kind.LINK]
    return link


@pytest.mark.parametrize(
    ("case", "failing"),
    [
        ("good", []),
        ("untold", ["link-black-hole"]),
        ("black-hole", ["link-black-hole", "link-path-mtu"]),
    ],
)
def test_what_a_link_does_not_carry_is_named(case: str, failing: list[str]) -> None:
    link = wan(verdict(case))
    assert sorted(one.criterion for one in link.reasons if one.value is Value.FAIL) == failing
    assert link.verdict is (Value.FAIL if failing else Value.PASS)
    assert link.name == "wan"


def test_a_link_that_carries_nothing_could_not_be_measured() -> None:
    link = wan(verdict("down"))
    assert link.verdict is Value.ERROR
    assert link.reasons[0].cause == "nothing came over it: it is cut, or the host that was asked is off"


def test_a_black_hole_says_so_and_what_to_do() -> None:
    (reason,) = [one for one in wan(verdict("untold")).reasons if one.value is Value.FAIL]
    assert "MTU black hole" in reason.cause
    assert "fragmentation needed" in reason.action


def test_the_expected_size_is_the_planned_one() -> None:
    reason = next(one for one in wan(verdict("black-hole")).reasons if one.criterion == "link-path-mtu")
    assert (reason.measured, reason.expected) == (1280, "at least 1400 bytes")
    assert reason.provenance == "plan: the planned MTU of link wan"


def test_a_link_that_was_not_measured_never_passes() -> None:
    for ended, value in ((Ended.NOT_RUN, Value.NOT_RUN), (Ended.TIMED_OUT, Value.ERROR)):
        assert wan(verdict("good", run_of(ended))).verdict is value
    nothing = run_of().model_copy(update={"steps": ()})
    assert wan(verdict("good", nothing)).verdict is Value.ERROR


@pytest.mark.parametrize("case", ["empty", "twice", "half", "cut"])
def test_output_that_is_not_understood_is_an_error_of_the_link(case: str) -> None:
    assert wan(verdict(case)).verdict is Value.ERROR


def test_partitions_are_subjects_where_there_are_several() -> None:
    found = verdict("good")
    assert {one.name for one in found.subjects if one.kind is Kind.PARTITION} <= {"cloud", "hall"}
    lost = run_of().model_copy(update={"lost": {"cnode-001": "DOWN: link wan"}})
    parts = {one.name: one.verdict for one in verdict("good", lost).subjects if one.kind is Kind.PARTITION}
    assert parts["cloud"] is Value.ERROR
    alone = run_of().model_copy(update={"partitions": {"all": (*HALL, *CLOUD)}})
    assert not [one for one in verdict("good", alone).subjects if one.kind is Kind.PARTITION]
