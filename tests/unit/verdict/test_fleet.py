"""A fleet against itself: from eight on, one-sided, and silent where all are slow together."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.model import Unit
from rackwright.verdict import fleet
from rackwright.verdict.model import Kind, Value
from tests.doubles import runs
from tests.doubles.judging import named, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.judging import Case

SPEEDS = st.floats(9.5, 10.5)


def _by_name(values: list[float]) -> dict[str, float]:
    return {f"n{number}": value for number, value in enumerate(values)}


@given(values=st.lists(st.floats(0, 1e6), max_size=fleet.FEWEST - 1))
def test_fewer_than_eight_blame_nobody(values: list[float]) -> None:
    assert fleet.outliers(_by_name(values)) == frozenset()


@given(values=st.lists(SPEEDS, min_size=fleet.FEWEST, max_size=40))
def test_who_is_near_the_median_is_never_blamed(values: list[float]) -> None:
    assert fleet.outliers(_by_name(values)) == frozenset()


@given(values=st.lists(SPEEDS, min_size=fleet.FEWEST, max_size=40), slow=st.floats(0, 5))
def test_one_far_below_is_found_and_one_far_above_is_not(values: list[float], slow: float) -> None:
    found = fleet.outliers({**_by_name(values), "slow": slow, "fast": 1000.0})
    assert found == {"slow"}


@given(values=st.lists(st.floats(1, 1e6), min_size=fleet.FEWEST, max_size=40), power=st.integers(-9, 9))
def test_the_unit_makes_no_difference(values: list[float], power: int) -> None:
    scaled = [value * 2.0**power for value in values]
    assert fleet.outliers(_by_name(scaled)) == fleet.outliers(_by_name(values))


def test_who_lies_within_a_wide_scatter_is_no_outlier() -> None:
    """Under nine tenths of the median, and not further from it than half of the others."""
    scattered = _by_name([6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0])
    assert fleet.outliers(scattered) == frozenset()
    assert fleet.outliers({**scattered, "broken": 0.1, "fast": 20.0}) == frozenset()
    assert fleet.outliers({**_by_name([10.0 + number / 100 for number in range(9)]), "broken": 0.1}) == {
        "broken"
    }


def test_few_nodes_below_the_figure_are_no_common_mode(case_of: Callable[[runs.World | str], Case]) -> None:
    found = _figure(case_of("pass"), 20.0).verdict()
    nodes = [one for one in found.subjects if one.kind is Kind.NODE]
    assert {reason(one, "speed").value for one in nodes} == {Value.FAIL}
    assert not any(one.criterion == "fleet-common" for subject in found.subjects for one in subject.reasons)


def test_a_rail_far_below_the_nodes_best_is_found() -> None:
    assert fleet.below_best({"r0": 100.0, "r1": 95.0, "r2": 70.0}) == {"r2"}
    assert fleet.below_best({}) == frozenset()


@pytest.fixture
def eight(case_of: Callable[[runs.World | str], Case]) -> Case:
    slow = {"node-003": 5.0}
    return case_of(replace(runs.fleet(8), gflops=slow, rails=1))


def test_slow_node_of_eight_fails_without_any_figure(eight: Case) -> None:
    found = eight.verdict()
    assert reason(named(found, "node-003"), "fleet-outlier").value is Value.FAIL
    failed = {one.name for one in found.subjects if one.verdict is Value.FAIL}
    assert failed == {"node-003", "hall"}
    assert "fleet-outlier" not in found.not_applicable


def _changed(case: Case, **update: object) -> Case:
    return replace(case, run=case.run.model_copy(update=update))


def test_what_was_measured_together_is_not_held_against_the_fleet(eight: Case) -> None:
    found = _changed(eight, together=("links", "matrix")).verdict()
    assert found.verdict is Value.PASS
    assert "measured one another" in found.not_applicable["fleet-outlier: matrix"]
    assert "fleet-outlier: links" not in found.not_applicable, "it has no speed"


def test_a_fleet_is_of_one_platform(eight: Case) -> None:
    names = tuple(f"node-{number:03}" for number in range(1, 9))
    found = _changed(eight, platforms={"one": names[:4], "two": names[4:]}).verdict()
    assert found.verdict is Value.PASS
    said = "4 nodes of one, 4 nodes of two were measured; against a fleet one is judged from 8 on"
    assert found.not_applicable["fleet-outlier"] == said


def _figure(case: Case, at_least: float | None, at_most: float | None = None) -> Case:
    more = Expectation(
        key=Key(name="gflops", check="matrix"),
        unit=Unit.GFLOPS,
        at_least=at_least,
        at_most=at_most,
        nominal=at_least or 0,
        provenance=Provenance.OPERATOR,
        source="a test",
    )
    known = case.expectations.expectations
    return replace(case, expectations=Expectations(expectations=(*known, more)))


def test_where_the_whole_fleet_is_below_the_figure_no_node_is_blamed(eight: Case) -> None:
    found = _figure(eight, 20.0).verdict()
    assert reason(named(found, "hall"), "fleet-common").value is Value.FAIL
    assert {one.verdict for one in found.subjects if one.kind is Kind.NODE} == {Value.NOT_RUN}


def test_figure_blames_the_node_that_misses_it(eight: Case) -> None:
    found = _figure(eight, 8.0).verdict()
    assert reason(named(found, "node-003"), "speed").value is Value.FAIL
    assert reason(named(found, "node-001"), "speed").value is Value.PASS
    assert "matrix: gflops" not in found.not_judged


def test_a_figure_that_is_a_most_is_held_to(eight: Case) -> None:
    found = _figure(eight, None, at_most=8.0).verdict()
    over, under = (reason(named(found, name), "speed") for name in ("node-001", "node-003"))
    assert (over.value, over.cause) == (Value.FAIL, "gflops is above its figure")
    assert under.value is Value.PASS


RACKS = {f"r01p0{rack}": tuple(f"node-00{3 * rack + node - 3}" for node in (1, 2, 3)) for rack in (1, 2, 3)}


@pytest.mark.parametrize(
    ("slow", "said"),
    [
        ((4, 5, 6), "3 nodes: node-004, node-005, node-006, which are all of rack r01p02"),
        ((4, 5, 6, 9), "4 nodes: node-004, node-005, node-006, node-009, among them all of rack r01p02"),
        ((3, 5), "2 nodes: node-003, node-005"),
    ],
)
def test_a_slow_rack_is_named_as_the_rack(
    case_of: Callable[[runs.World | str], Case], slow: tuple[int, ...], said: str
) -> None:
    gflops = {f"node-00{number}": 5.0 for number in slow}
    found = case_of(replace(runs.fleet(9), gflops=gflops, rails=1, racks=RACKS)).verdict()
    assert {one.name for one in found.subjects if one.verdict is Value.FAIL} == {*gflops, "hall"}
    assert reason(named(found, "hall"), "members").cause == said


def test_all_racks_alike_are_no_rack_in_particular(case_of: Callable[[runs.World | str], Case]) -> None:
    world = replace(runs.fleet(9), rails=1, racks=RACKS, lost_at="links", lost="node-001")
    found = _figure(case_of(world), 200.0).verdict()
    assert "rack" not in "".join(one.cause for one in named(found, "hall").reasons)
