"""Figures learned from a fleet: robust, with evidence, and refused where the fleet is of two kinds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical
from rackwright.validate.expectations import Expectations, Provenance
from rackwright.verdict import folder
from rackwright.verdict.learn import FEWEST, LEAST, key_of, learn, second_kind
from rackwright.verdict.matching import Bounds
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.validate.expectations import Expectation, Key
    from rackwright.verdict.folder import Judged
    from rackwright.verdict.learn import Lesson

NODES = 9


def _lesson(
    tmp_path: Path,
    count: int = NODES,
    without: frozenset[str] = frozenset(),
    gflops: dict[str, float] | None = None,
) -> Lesson:
    speeds = {name.replace("n", "node-00"): value for name, value in (gflops or {}).items()}
    world = replace(runs.fleet(count), rails=1, gflops=speeds)
    return learn([folder.load(runs.build(tmp_path / "run", world))], without)


def _gflops(lesson: Lesson) -> Expectation:
    return next(one for one in lesson.learned if one.key.name == "gflops")


def _why_not(lesson: Lesson, name: str) -> tuple[str, str]:
    return next((one.kind, one.reason) for one in lesson.left_out if one.key.name == name)


def test_a_figure_is_below_the_median_and_names_its_evidence(tmp_path: Path) -> None:
    found = _gflops(_lesson(tmp_path))
    assert (found.nominal, found.provenance, found.date) == (10.84, Provenance.LEARNED, "2026-11-28")
    assert found.at_least == pytest.approx(0.95 * 10.84)
    assert found.key.parameters == {"order": 768, "threads": 1}
    assert found.learned is not None
    assert set(found.learned.values) == set(runs.fleet(NODES).nodes)
    for kept in found.learned.evidence:
        assert canonical.sha256((tmp_path / kept.path).read_bytes()) == kept.sha256


def test_a_broken_node_moves_nothing(tmp_path: Path) -> None:
    assert _gflops(_lesson(tmp_path, gflops={"n3": 1.0})).at_least == pytest.approx(10.3, rel=0.01)


def test_fewer_than_eight_teach_nothing(tmp_path: Path) -> None:
    assert _why_not(_lesson(tmp_path, count=FEWEST - 1), "gflops")[0] == "few"
    assert _gflops(_lesson(tmp_path / "more", count=FEWEST)).learned is not None


def test_many_pairs_of_few_nodes_are_few(tmp_path: Path) -> None:
    kind, reason = _why_not(_lesson(tmp_path, count=5), "bandwidth")
    assert (kind, reason) == ("few", "10 subjects of 5 slots, and it takes 8")


def test_nodes_that_measured_one_another_teach_nothing(tmp_path: Path) -> None:
    judged = folder.load(runs.build(tmp_path / "run", replace(runs.fleet(NODES), rails=1)))
    shared = replace(judged, run=judged.run.model_copy(update={"together": ("matrix", "memory", "disk")}))
    assert {one.key.name for one in learn([shared]).learned} == {"bandwidth"}


def test_a_fleet_of_two_kinds_is_refused_and_the_fewer_are_named(tmp_path: Path) -> None:
    kind, reason = _why_not(_lesson(tmp_path, gflops={"n2": 8.0, "n4": 8.1, "n6": 8.05}), "gflops")
    assert (kind, reason) == ("two-kinds", "two kinds: 3 of 9 stand apart: node-002, node-004, node-006")


def test_without_those_that_stand_apart_there_is_a_figure(tmp_path: Path) -> None:
    lesson = _lesson(tmp_path, count=NODES, without=frozenset({"node-002"}), gflops={"n2": 1.0})
    assert "node-002" not in _gflops(lesson).learned.values  # type: ignore[union-attr] # (it has evidence)


def test_a_fleet_that_is_spread_wide_is_refused(tmp_path: Path) -> None:
    wide = {f"n{number}": 10.0 + number for number in range(1, NODES + 1)}
    kind, reason = _why_not(_lesson(tmp_path, gflops=wide), "gflops")
    assert kind == "spread"
    assert "median is 15" in reason


@pytest.mark.parametrize("spread", [0.0, 0.1, 0.2])
def test_no_gate_is_under_seven_tenths_of_the_median(tmp_path: Path, spread: float) -> None:
    values = {f"n{number}": 10.0 + spread * number for number in range(1, NODES + 1)}
    found = _gflops(_lesson(tmp_path, gflops=values))
    assert LEAST * found.nominal <= (found.at_least or 0) <= 0.95 * found.nominal


@pytest.mark.parametrize(
    ("values", "apart"),
    [
        ([10.0] * 8, 0),
        ([10.0 + number / 100 for number in range(12)], 0),
        ([10.0] * 9 + [5.0], 0),
        ([10.0] * 8 + [5.0] * 2, 2),
        ([480.0, 481, 479, 482, 367, 366, 368, 365], 4),
        ([10.0] * 6 + [9.8] * 6, 0),
        ([], 0),
        ([1.0], 0),
    ],
)
def test_two_kinds_are_told_from_one(values: list[float], apart: int) -> None:
    assert len(second_kind({f"n{number}": value for number, value in enumerate(values)})) == apart


def test_what_was_learned_judges_the_next_run(tmp_path: Path) -> None:
    lesson = _lesson(tmp_path)
    file = tmp_path / "figures.json"
    gflops = Expectations(expectations=(_gflops(lesson),))
    file.write_text(canonical.dumps(gflops), encoding="utf-8")
    slow = replace(runs.fleet(NODES), rails=1, gflops={"node-005": 9.0})
    judged = folder.load(runs.build(tmp_path / "next", slow), file)
    node = next(one for one in judged.verdict.subjects if one.name == "node-005")
    reason = next(one for one in node.reasons if one.criterion == "speed")
    assert reason.provenance.startswith("learned: median 10.84 and MAD")


TOLD = {
    "collective": "all_gather",
    "algorithm": "tree",
    "size_bytes": 1 << 20,
    "fabric": "store",
    "ranks": 16,
    "pattern": "float",
    "parameters": {"order": 1024, "threads": 1},
}


def _key(judged: Judged, **context: object) -> Key:
    one = next(one for one in judged.measurements.measurements if one.name == "gflops")
    changed = one.model_copy(update={"context": one.context.model_copy(update=context)})
    return key_of(changed, Bounds(judged.run, ()))


def test_all_that_changes_a_figure_makes_it_another_one(tmp_path: Path) -> None:
    """The context, the platform, and what of the image changes figures: a kernel alone has halved one."""
    judged = folder.load(runs.build(tmp_path / "run", replace(runs.fleet(NODES), rails=1)))
    nodes = runs.fleet(NODES).nodes
    keys = [_key(judged), *(_key(judged, **{name: value}) for name, value in TOLD.items())]
    images = ("kernel", "driver", "ofed", "cuda", "nccl", "neuron", "efa")
    runs_: list[dict[str, object]] = [{"images": {"debian": {name: "1"}}} for name in images]
    runs_.append({"platforms": {"dgx-h100": nodes}})
    keys += [_key(replace(judged, run=judged.run.model_copy(update=changed))) for changed in runs_]
    assert len({key.identity for key in keys}) == len(keys)


def test_what_changes_no_figure_makes_no_other_one(tmp_path: Path) -> None:
    judged = folder.load(runs.build(tmp_path / "run", replace(runs.fleet(NODES), rails=1)))
    other = judged.run.model_copy(update={"images": {"debian": {"os": "debian-13"}}})
    same = (
        _key(judged, node="node-002"),
        _key(judged, parameters={"order": 768, "threads": 1, "iterations": 7}),
        _key(replace(judged, run=other)),
    )
    assert {key.identity for key in same} == {_key(judged).identity}


def _again(judged: Judged, started: str, *speeds: float) -> Judged:
    """The same run at another time, in which node-003 was also measured at these speeds."""
    measured = judged.measurements.measurements
    one = next(one for one in measured if one.name == "gflops" and one.context.node == "node-003")
    more = tuple(one.model_copy(update={"value": speed}) for speed in speeds)
    values = judged.measurements.model_copy(update={"measurements": (*measured, *more)})
    return replace(judged, run=judged.run.model_copy(update={"started": started}), measurements=values)


def test_of_several_values_the_median_counts_and_the_youngest_run_dates_it(
    tmp_path: Path,
) -> None:
    judged = folder.load(runs.build(tmp_path / "run", replace(runs.fleet(NODES), rails=1)))
    times = ("2026-11-29T08:00:00Z", "2026-12-03T08:00:00Z", "2026-11-30T08:00:00Z")
    found = _gflops(learn([_again(judged, time, 50.0, 1.0) for time in times]))
    assert found.learned is not None
    assert found.learned.values["node-003"] == pytest.approx(10.82)
    assert (found.learned.subjects, found.date) == (NODES, "2026-12-03")
