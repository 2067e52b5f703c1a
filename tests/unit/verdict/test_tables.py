"""Each table over an enum has all of its members, or says which it leaves out: a new one is not forgotten."""

# ruff: noqa: SLF001 (it is the tables within modules that are looked at)
from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Check
from rackwright.cli import compare as cli_compare
from rackwright.cli import verdict_text
from rackwright.validate.model import Ended, Tool, Unit
from rackwright.verdict import coverage, criteria, junit, units
from rackwright.verdict.codes import Action, rank
from rackwright.verdict.compare import Change
from rackwright.verdict.facts import ACTIONS
from rackwright.verdict.judgement import WORST
from rackwright.verdict.model import Kind, Value
from rackwright.verdict.report import evidence, figures, levels, subjects
from tests.doubles.one_check import CASES, run_of, verdict
from tests.unit.verdict.test_each_criterion import APART

if TYPE_CHECKING:
    from collections.abc import Container
    from enum import StrEnum

NOT_PASSED = set(Value) - {Value.PASS}
OTHERS = {"lost", "missing", "held", "run", coverage.NAME, "members"}
"""Reasons that no criterion gives."""


@pytest.mark.parametrize(
    ("table", "members"),
    [
        (figures.UNITS, set(Unit)),
        (WORST, set(Value)),
        (subjects.BADGES, set(Value)),
        (subjects._UNSAID, set(Value)),
        (verdict_text._COLOURS, set(Value)),
        (verdict_text._CODES, NOT_PASSED),
        (junit._ELEMENTS, NOT_PASSED),
        (set(junit._COUNTS.values()), NOT_PASSED),
        (evidence._WELL, set(Ended)),
        (evidence._ORDER, set(Ended)),
        (coverage.KINDS, set(Check)),
        (cli_compare._COLOURS, set(Change) - {Change.SAME}),
        (cli_compare._CODES, set(Change) - {Change.SAME, Change.BETTER}),
        (ACTIONS, {one.name for one in criteria.CRITERIA} | set(APART) | OTHERS),
    ],
)
def test_a_table_has_every_member_and_no_other(table: object, members: set[StrEnum | str]) -> None:
    assert set(table) == members  # type: ignore[call-overload] # (each can be walked)


def test_each_unit_goes_one_way() -> None:
    ways = (units.MORE_IS_BETTER, units.LESS_IS_BETTER, units.FEWER_IS_BETTER, units.NO_ORDER)
    assert sorted(unit for way in ways for unit in way) == sorted(Unit)
    assert units.THROUGHPUT <= units.MORE_IS_BETTER


def test_each_level_has_its_place() -> None:
    known = [one for one in vars(levels).values() if isinstance(one, levels.Level)]
    assert sorted(levels.LEVELS, key=known.index) == known
    assert (
        levels.LEVELS.index(levels.FAR) < levels.LEVELS.index(levels.MISSED) < levels.LEVELS.index(levels.MET)
    )


def test_each_action_ranks_where_it_stands() -> None:
    assert [rank(one) for one in Action] == list(range(len(Action)))


@pytest.mark.parametrize("kinds", [{one.kind for one in criteria.CRITERIA} | set(coverage.KINDS.values())])
def test_every_kind_that_is_judged_by_measurements_has_subjects(kinds: Container[Kind]) -> None:
    assert Kind.PARTITION not in kinds, "a partition is judged by its nodes alone"


def _complete(tool: Tool) -> str:
    """An output of the tool that is understood."""
    cases = sorted((CASES / tool).iterdir())
    good = next(
        one for one in cases if json.loads((one / "expected.json").read_bytes())["status"] == "complete"
    )
    return (good / "input.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("tool", Tool)
def test_a_step_of_any_tool_is_judged_and_one_that_was_not_asked_never_passes(tool: Tool) -> None:
    """Also of one that no suite runs: run.json may come from anywhere."""
    asked = Check.MEMORY
    found = verdict(run_of(asked, tool, ("node-001",)), {"node-001": _complete(tool)})
    assert found.verdict is not Value.PASS
