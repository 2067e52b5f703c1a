"""Outputs of all cases, edited anywhere and mixed with one another: every parser answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rackwright.validate.model import Completeness, Tool
from rackwright.validate.parsers.table import PARSERS, parse

if TYPE_CHECKING:
    from collections.abc import Callable

CASES = Path(__file__).parents[2] / "cases"
TEXTS = [
    (case / "input.txt").read_text(encoding="utf-8")
    for tool in PARSERS
    for case in sorted((CASES / tool).iterdir())
]
PIECES = (
    "",
    "\n",
    "0",
    "-1",
    "1e309",
    "nan",
    "N/A",
    "\x00",
    '"',
    "{",
    "]",
    ",",
    "# ",
    "PASS",
    "OK",
    "é",
    " " * 40,
)
QUICK, LONG = 15, 1500


@st.composite
def edited(draw: st.DrawFn, tool: Tool) -> str:
    """A case of a tool with some places overwritten, and perhaps a part of any other case within it."""
    folder = draw(st.sampled_from(sorted((CASES / tool).iterdir())))
    text = (folder / "input.txt").read_text(encoding="utf-8")
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(start + draw(st.integers(0, 12)), len(text))
        text = text[:start] + draw(st.sampled_from(PIECES)) + text[end:]
    if draw(st.booleans()):
        other, place = draw(st.sampled_from(TEXTS)), draw(st.integers(0, len(text)))
        text = text[:place] + other[: draw(st.integers(0, 400))] + text[place:]
    return text


def _answers(tool: Tool) -> Callable[[st.DataObject], None]:
    def check(data: st.DataObject) -> None:
        parsed = parse(tool, data.draw(edited(tool)))
        complete = parsed.status is Completeness.COMPLETE
        assert bool(parsed.readings) is complete
        assert bool(parsed.problem) is not complete

    return check


@pytest.mark.parametrize("tool", PARSERS)
def test_an_edited_output_is_answered(tool: Tool) -> None:
    check = settings(
        max_examples=QUICK, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
    )(given(data=st.data())(_answers(tool)))
    check()


@pytest.mark.slow
@pytest.mark.parametrize("tool", PARSERS)
def test_an_output_edited_in_many_ways_is_answered(tool: Tool) -> None:
    check = settings(max_examples=LONG, deadline=None, suppress_health_check=list(HealthCheck))(
        given(data=st.data())(_answers(tool))
    )
    check()
