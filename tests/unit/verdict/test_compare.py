"""Two runs: what is worse, better or noise, subject by subject; and runs that cannot be compared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.errors import UsageError
from rackwright.validate.model import Unit
from rackwright.verdict import folder
from rackwright.verdict.compare import LEAST, MOST, UNKNOWN, Change, Figure, band, change_of, compare
from rackwright.verdict.model import Value
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.verdict.compare import Compared, Comparison
    from rackwright.verdict.folder import Judged

NINE = replace(runs.fleet(9), rails=1)
SHA = "2" * 64


def _judged(where: Path, world: runs.World) -> Judged:
    return folder.load(runs.build(where, world))


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return _judged(tmp_path_factory.mktemp("a") / "run", NINE)


def _to(before: Judged, tmp_path: Path, **changed: object) -> Comparison:
    return compare(before, _judged(tmp_path / "run", replace(NINE, **changed)))  # type: ignore[arg-type] # (of a test)


def _named(found: Comparison, name: str) -> Compared:
    return next(one for one in found.subjects if one.name == name)


def test_a_run_and_itself_are_within_noise(before: Judged) -> None:
    found = compare(before, before)
    assert {one.change for one in found.subjects} == {Change.SAME}
    assert _named(found, "node-001").same > 0


def test_a_slower_node_is_worse_by_its_figure_and_alone(before: Judged, tmp_path: Path) -> None:
    found = _to(before, tmp_path, gflops={"node-004": 10.0})
    worse = [one.name for one in found.subjects if one.change is Change.WORSE]
    assert worse == ["node-004"]
    (figure,) = _named(found, "node-004").figures
    assert (figure.name, figure.after, figure.band) == ("gflops", 10.0, LEAST)
    assert _named(found, "node-003").change is Change.SAME


def test_a_faster_node_is_better(before: Judged, tmp_path: Path) -> None:
    assert _named(_to(before, tmp_path, gflops={"node-004": 13.0}), "node-004").change is Change.BETTER


def test_a_fleet_that_became_slow_together_is_worse_and_no_noise(before: Judged, tmp_path: Path) -> None:
    slow = dict.fromkeys(NINE.nodes, 8.0)
    found = _to(before, tmp_path, gflops=slow)
    assert {_named(found, name).change for name in NINE.nodes} == {Change.WORSE}


def test_half_a_fleet_that_became_slow_does_not_pass_for_noise(before: Judged, tmp_path: Path) -> None:
    slow = dict.fromkeys(NINE.nodes[:4], 7.0)
    found = _to(before, tmp_path, gflops=slow)
    assert {name for name in NINE.nodes if _named(found, name).change is Change.WORSE} == set(slow)


def test_a_fleet_that_scatters_does_not_widen_the_band_until_all_is_noise(
    before: Judged, tmp_path: Path
) -> None:
    speeds = (10.8, 10.8, 10.8, 10.0, 9.0, 8.5, 8.0, 7.5, 7.0)
    found = _to(before, tmp_path, gflops=dict(zip(NINE.nodes, speeds, strict=True)))
    worse = [name for name in NINE.nodes if _named(found, name).change is Change.WORSE]
    assert worse == list(NINE.nodes[4:])


def test_a_new_fault_is_worse_whatever_the_figures(before: Judged, tmp_path: Path) -> None:
    found = _named(_to(before, tmp_path, result={"node-004": "another"}), "node-004")
    assert (found.change, found.before, found.after) == (Change.WORSE, "PASS", "FAIL")


def test_what_was_not_measured_again_is_missing(before: Judged, tmp_path: Path) -> None:
    found = _to(before, tmp_path, lost="node-004", lost_at="matrix")
    assert _named(found, "node-004").change is Change.MISSING


def test_what_was_measured_of_several_nodes_at_once_is_not_compared(before: Judged, tmp_path: Path) -> None:
    after = _judged(tmp_path / "run", replace(NINE, gflops={"node-004": 10.0}))
    assert compare(before, after).subjects[0].change is Change.WORSE
    shared = replace(after, run=after.run.model_copy(update={"together": ("matrix",)}))
    assert {one.change for one in compare(before, shared).subjects} == {Change.SAME}


VERDICTS = (Value.PASS, Value.FAIL, Value.ERROR, Value.NOT_RUN, None)


def _with_verdict(judged: Judged, value: Value | None) -> Judged:
    """The same run with another verdict on node-004; None: there is no such subject."""
    kept = tuple(one for one in judged.verdict.subjects if one.name != "node-004")
    mine = next(one for one in judged.verdict.subjects if one.name == "node-004")
    more = () if value is None else (mine.model_copy(update={"verdict": value}),)
    return replace(judged, verdict=judged.verdict.model_copy(update={"subjects": (*kept, *more)}))


@pytest.mark.parametrize("was", VERDICTS)
@pytest.mark.parametrize("now", VERDICTS)
def test_what_could_not_be_measured_is_never_better(
    before: Judged, was: Value | None, now: Value | None
) -> None:
    worse, missing, better = Change.WORSE, Change.MISSING, Change.BETTER
    expected = {Value.FAIL: worse, Value.PASS: better}.get(now, missing)  # type: ignore[arg-type] # (None is neither)
    if was is now or (was, now) in {(Value.ERROR, Value.NOT_RUN), (None, Value.PASS)}:
        expected = Change.SAME
    found = compare(_with_verdict(before, was), _with_verdict(before, now))
    assert _named(found, "node-004").change is expected


def _latencies(judged: Judged, **seconds: float) -> Judged:
    """The same run in which each node has also told of a time, and node-009 of its speed."""
    matrix = next(one for one in judged.measurements.measurements if one.name == "gflops")
    made = tuple(
        matrix.model_copy(
            update={
                "name": "latency",
                "unit": Unit.MICROSECONDS,
                "value": value,
                "context": matrix.context.model_copy(
                    update={
                        "node": name.partition("_")[0].replace("n", "node-00"),
                        "parameters": {"kind": name},
                    }
                ),
            }
        )
        for name, value in seconds.items()
    )
    both = (*judged.measurements.measurements, *made)
    return replace(judged, measurements=judged.measurements.model_copy(update={"measurements": both}))


def test_the_worst_comes_first_also_where_less_is_better(before: Judged) -> None:
    old = _latencies(before, n3_a=100.0, n3_b=100.0, n3_c=100.0, n5_a=100.0, n7_a=100.0)
    new = _latencies(before, n3_a=130.0, n3_b=500.0, n3_c=160.0, n5_a=900.0, n7_a=120.0)
    found = compare(old, new)
    worse = [one.name for one in found.subjects if one.change is Change.WORSE]
    assert worse == ["node-005", "node-003", "node-007"]
    assert [one.after for one in _named(found, "node-003").figures] == [500.0, 160.0, 130.0]


def test_a_new_fault_comes_before_any_figure(before: Judged) -> None:
    slow = _latencies(_with_verdict(before, Value.FAIL), n3_a=900.0)
    found = compare(_latencies(before, n3_a=100.0), slow)
    assert [one.name for one in found.subjects][:2] == ["node-004", "node-003"]


@pytest.mark.parametrize(
    ("unit", "after", "harm"),
    [
        (Unit.GFLOPS, 50.0, 1),
        (Unit.GFLOPS, 200.0, -1),
        (Unit.MICROSECONDS, 200.0, 1),
        (Unit.MICROSECONDS, 50.0, -1),
        (Unit.GFLOPS, 0.0, math.inf),
        (Unit.MICROSECONDS, 0.0, -math.inf),
        (Unit.GFLOPS, None, 0),
        (Unit.GFLOPS, 100.0, 0),
    ],
)
def test_harm_of_a_figure_goes_the_way_of_its_unit(unit: Unit, after: float | None, harm: float) -> None:
    figure = Figure("matrix", "x", "", unit, 100.0, after, 0.1, Change.WORSE)
    assert figure.harm == pytest.approx(harm * math.log(2) if abs(harm) == 1 else harm)


def test_what_changed_in_the_images_is_told(before: Judged) -> None:
    def having(judged: Judged, kernel: str) -> Judged:
        images = {"debian": {"os": "debian-13", "kernel": kernel}}
        return replace(judged, run=judged.run.model_copy(update={"images": images}))

    found = compare(having(before, "6.8"), having(before, "6.11"))
    assert found.images == ("debian: kernel 6.8 -> 6.11",)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"cluster": "other"}, "cluster"),
        ({"suite": "quick"}, "suite"),
        ({"sites": {"hall": NINE.nodes[:8]}}, "slots"),
        ({"platforms": {"dgx-h100": NINE.nodes}}, "platforms"),
        ({"rails": ()}, "rails"),
        ({"checks": ("links",)}, "checks"),
    ],
)
def test_runs_of_other_machines_or_suites_are_refused(
    before: Judged, changed: dict[str, object], what: str
) -> None:
    other = replace(before, run=before.run.model_copy(update=changed))
    with pytest.raises(UsageError, match=f"not of the same {what}") as caught:
        compare(before, other)
    assert caught.value.code == "CMP001"


def test_suites_of_one_name_and_other_sizes_are_refused(before: Judged) -> None:
    one, other = (
        replace(before, run=before.run.model_copy(update={"suite_sha256": digit * 64})) for digit in "12"
    )
    with pytest.raises(UsageError, match="in its sizes and times"):
        compare(one, other)


def test_plans_that_promise_other_rates_are_refused(before: Judged) -> None:
    faster = tuple(
        one.model_copy(update={"nominal": one.nominal * 2}) if one.provenance == "plan" else one
        for one in before.expectations.expectations
    )
    other = replace(before, expectations=before.expectations.model_copy(update={"expectations": faster}))
    with pytest.raises(UsageError, match="planned rates"):
        compare(before, other)


@pytest.mark.parametrize(
    ("unit", "after", "change"),
    [
        (Unit.GFLOPS, 94.9, Change.WORSE),
        (Unit.GFLOPS, 95.1, Change.SAME),
        (Unit.GFLOPS, 105.1, Change.BETTER),
        (Unit.MICROSECONDS, 105.1, Change.WORSE),
        (Unit.MICROSECONDS, 94.9, Change.BETTER),
        (Unit.MICROSECONDS, None, Change.MISSING),
    ],
)
def test_more_is_better_or_worse_by_its_unit(unit: Unit, after: float | None, change: Change) -> None:
    assert change_of(unit, 100.0, after, 0.05) is change


@given(ratios=st.lists(st.floats(-3, 3), max_size=40))
def test_a_band_is_never_wider_than_its_most(ratios: list[float]) -> None:
    assert LEAST <= band(ratios) <= MOST


def test_few_subjects_have_a_band_of_their_own() -> None:
    assert band([0.0] * 7) == UNKNOWN
    assert band([0.0] * 8) == LEAST
    assert band([0.03, -0.03] * 8) == pytest.approx(3 * 1.4826 * 0.03)
