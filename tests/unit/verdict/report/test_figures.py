"""Figures as a reader has them, levels, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.validate.expectations import Expectation, Key, Provenance
from rackwright.validate.model import Unit
from rackwright.verdict.report.chart import Series, drawn
from rackwright.verdict.report.figures import Measured, counted, figure, listed, number, size, spelled
from rackwright.verdict.report.levels import FAR, MET, MISSED, UNBOUND, level, words

if TYPE_CHECKING:
    from rackwright.verdict.report.levels import Level


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (94.1234, "94.1"),
        (94.0, "94"),
        (999.6, "1 000"),
        (123456.7, "123 457"),
        (0.00012149, "0.000121"),
        (-0.000021, "-0.000021"),
        (1e-9, "0.000000001"),
        (1e15, "1 000 000 000 000 000"),
        (1e30, "1e+30"),
        (-1.7976e308, "-1.8e+308"),
        (5e-324, f"0.{'0' * 323}5"),
        (float("nan"), "nan"),
        (float("inf"), "inf"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number(value).replace("\N{NARROW NO-BREAK SPACE}", " ") == text


def test_what_is_just_below_its_bound_does_not_look_like_it() -> None:
    assert figure(74.96, Unit.MBIT_S, 4) == "74.96\N{NO-BREAK SPACE}Mbit/s"


@pytest.mark.parametrize(
    ("count", "text"),
    [(512, "512 B"), (1024, "1 KiB"), (65532, "64 KiB"), (1_048_572, "1 MiB"), (3 << 29, "1.5 GiB")],
)
def test_size(count: int, text: str) -> None:
    assert size(count).replace("\N{NO-BREAK SPACE}", " ") == text


def test_words_of_a_judge_have_units_of_a_reader() -> None:
    told = spelled("at least 75 mbit_s, 3 mib_s, 4 sites, r_count").replace("\N{NO-BREAK SPACE}", " ")
    assert told == "at least 75 Mbit/s, 3 MiB/s, 4 sites, r_count"
    assert spelled("at most 0 count") == "at most 0"
    assert spelled("at least 1 yes_no") == "yes"
    assert spelled("at most 0 yes_no") == "no"


def test_truth_is_no_number() -> None:
    assert figure(True, Unit.YES_NO) == "yes"  # noqa: FBT003 (a measured value)
    assert figure(0, Unit.COUNT) == "0"


def test_many_names_are_told_by_their_count_and_ends() -> None:
    assert listed([f"n{index}" for index in range(9)]) == "9 (n0, n1, n2, n3, n4, n5, … n8)"
    assert counted(1, "node") == "1 node"


def bound(*, at_least: float | None = None, at_most: float | None = None) -> Expectation:
    return Expectation(
        key=Key(name="x", check="x"),
        unit=Unit.MBIT_S,
        at_least=at_least,
        at_most=at_most,
        nominal=1,
        provenance=Provenance.PLAN,
        source="x",
    )


@pytest.mark.parametrize(
    ("value", "expectation", "found"),
    [
        (75, bound(at_least=75), MET),
        (74.99, bound(at_least=75), MISSED),
        (37.4, bound(at_least=75), FAR),
        (10, bound(at_most=10), MET),
        (-10.1, bound(at_most=10), MISSED),
        (-21, bound(at_most=10), FAR),
        (1, bound(at_most=0), FAR),
        (0, None, UNBOUND),
    ],
)
def test_level(value: float, expectation: Expectation | None, found: Level) -> None:
    assert level(value, expectation) is found


@pytest.mark.parametrize(
    ("value", "words_or_bound", "found"),
    [
        ("efa", {"one_of": ("efa",)}, MET),
        ("Socket", {"one_of": ("efa", "ib")}, MISSED),
        ("not supported", {"at_least": 1}, MISSED),
        (True, {"at_most": 0}, FAR),
        (False, {"at_most": 0}, MET),
        (True, {"at_least": 1}, MET),
        (3, {"one_of": ("efa",)}, MISSED),
    ],
)
def test_level_of_what_is_no_quantity(
    value: Measured, words_or_bound: dict[str, object], found: Level
) -> None:
    blank = {"at_least": None, "at_most": None, "one_of": ()}
    assert level(value, bound(at_least=1).model_copy(update={**blank, **words_or_bound})) is found


def test_bounds_in_words() -> None:
    assert words(bound(at_least=75)) == "at least 75\N{NO-BREAK SPACE}Mbit/s"
    assert words(None) == "no expectation"


def test_a_chart_keeps_its_points_within_its_frame_and_in_their_order() -> None:
    chart = drawn([Series("one", {1024: 1.0, 4096: 50.0, 1 << 30: 94.0}, {1 << 30: 75.0})])
    points = [tuple(map(float, point.split(","))) for point in chart.lines[0].points.split()]
    assert points == sorted(points)
    assert [y for _, y in points] == sorted((y for _, y in points), reverse=True)
    assert all(chart.left <= x <= chart.right and chart.top <= y <= chart.bottom for x, y in points)
    assert [tick.label for tick in chart.values] == ["0", "25", "50", "75", "100"]
    (start, end) = chart.lines[0].bound.split()
    assert start.split(",")[1] == end.split(",")[1] == str(chart.values[3].at)


def test_a_chart_of_one_point_or_of_nothing_but_noughts_is_still_one() -> None:
    assert drawn([Series("one", {1024: 0.0}, {})]).lines[0].points


def test_no_two_of_eight_lines_look_alike() -> None:
    chart = drawn([Series(str(index), {1024: 1.0 + index}, {}) for index in range(8)])
    assert len({(line.css, line.symbol) for line in chart.lines}) == 8
