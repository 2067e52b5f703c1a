"""Twice the nodes are twice the work: counted in byte codes, so that no machine's mood plays a part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.cli.verdict_text import text
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Ended, Measurements
from rackwright.verdict.codes import Event, asked
from rackwright.verdict.compare import compare
from rackwright.verdict.folder import Judged
from rackwright.verdict.judge import judge
from rackwright.verdict.learn import learn
from rackwright.verdict.localise import Pair
from rackwright.verdict.report import html
from tests.doubles.operations import growth
from tests.doubles.reported import Reported, names, reported

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.validate.model import Measurement

FEW, MANY = 48, 96
"""Above the number up to which all pairs are measured."""
MOST = 2.2
"""Of the work for twice as many; what is quadratic makes it go to 4."""
JUDGED = "rackwright/verdict/"


def _good(count: int, **run: object) -> Reported:
    made = reported(count)
    values = tuple(
        one.model_copy(update={"name": "gflops"}) if one.name == "rate" else one
        for one in made.measurements.measurements
    )
    return replace(made, run=made.run.model_copy(update=run), measurements=Measurements(measurements=values))


def _with(count: int, change: Callable[[Measurement], object]) -> Reported:
    """Other values of what a change gives one for."""
    made = _good(count)
    values = tuple(
        one if (value := change(one)) is None else one.model_copy(update={"value": value})
        for one in made.measurements.measurements
    )
    return replace(made, measurements=Measurements(measurements=values))


def _slow(count: int, bad: frozenset[str]) -> Reported:
    def slower(one: Measurement) -> float | None:
        return 5.0 if one.context.peer and {one.context.peer, one.context.node} & bad else None

    return _with(count, slower)


def _open(count: int) -> Reported:
    made = _good(count)
    steps = tuple(
        step.model_copy(update={"ended": Ended.TIMED_OUT, "stdout": None}) for step in made.run.steps
    )
    run = made.run.model_copy(update={"steps": steps})
    return replace(made, run=run, measurements=Measurements(measurements=()))


def _racks(count: int) -> Reported:
    slots = names(count)
    racks = {f"r{first:03d}": slots[first : first + 8] for first in range(0, count, 8)}
    return _good(count, racks={"hall": racks}, lost=dict.fromkeys(slots[: count // 2], "went away"))


def _partitions(count: int) -> Reported:
    """Four of them, each with a job of its own."""
    return _good(count, partitions={f"p{first}": names(count)[first::4] for first in range(4)})


WORLDS: dict[str, Callable[[int], Reported]] = {
    "all good": _good,
    "no figure": lambda count: replace(_good(count), expectations=Expectations(expectations=())),
    "all held": lambda count: _good(count, held=dict.fromkeys(names(count), "in maintenance")),
    "half of the racks lost": _racks,
    "four partitions": _partitions,
    "no step ended": _open,
    "a quarter slow": lambda count: _slow(count, frozenset(names(count)[::4])),
    "all slow": lambda count: _slow(count, frozenset(names(count))),
    "all dark": lambda count: _with(count, lambda one: False if one.name == "carrier" else None),
    "each result another": lambda count: _with(
        count, lambda one: str(one.context.node) if one.name == "result_hash" else None
    ),
}


def _judged(made: Reported) -> Judged:
    verdict = judge(made.run, made.measurements, made.expectations)
    return Judged(Path("run"), made.run, made.measurements, made.expectations, verdict)


@pytest.mark.parametrize("world", WORLDS)
def test_judging_grows_with_the_fleet_and_no_faster(world: str) -> None:
    few, many = (WORLDS[world](count) for count in (FEW, MANY))
    assert growth(lambda one: judge(one.run, one.measurements, one.expectations), few, many, JUDGED) < MOST


def _page(one: Judged) -> str:
    return html(one.verdict, one.run, one.measurements, one.expectations)


TELLING: dict[str, Callable[[Judged], object]] = {
    "page": _page,
    "text": text,
    "compare": lambda one: compare(one, one),
    "learn": lambda one: learn([one]),
}


@pytest.mark.parametrize("told", TELLING)
@pytest.mark.parametrize("world", ["all slow", "half of the racks lost"])
def test_what_is_said_of_a_verdict_grows_with_the_fleet_and_no_faster(world: str, told: str) -> None:
    few, many = (_judged(WORLDS[world](count)) for count in (FEW, MANY))
    assert growth(TELLING[told], few, many, "rackwright/") < MOST


def test_without_a_figure_each_port_keeps_its_own_pairs_and_not_those_of_all() -> None:
    few, many = (
        sum(len(one.measurements) for one in _judged(WORLDS["no figure"](count)).verdict.subjects)
        for count in (FEW, MANY)
    )
    assert many < MOST * few


@pytest.mark.parametrize(("code", "unit"), [(79, ""), (13, "GPC {} TPC 1"), (119, "")])
@pytest.mark.parametrize("boots", [1, 50])
def test_a_storm_of_events_is_read_in_one_go(code: int, unit: str, boots: int) -> None:
    def storm(count: int) -> list[Event]:
        about = {"kind": "xid", "code": str(code), "device": "0000:1b:00"}
        return [
            Event(**about, at_s=9e9 * number, unit=unit.format(number), boot=number % boots)  # type: ignore[arg-type] # (of a test)
            for number in range(count)
        ]

    assert growth(asked, storm(200), storm(400), JUDGED) < MOST


def test_the_count_sees_what_is_quadratic() -> None:
    def product(some: tuple[str, ...]) -> int:
        return sum(len(Pair(a, b).ends) for a in some for b in some)

    assert growth(product, names(20), names(40), JUDGED) > 3.5
