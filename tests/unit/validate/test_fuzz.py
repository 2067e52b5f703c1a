"""Outputs of all cases, edited anywhere and mixed with one another: every parser answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rackwright.validate.model import Completeness, Parsed, Reading, Tool, Unit
from rackwright.validate.parsers.table import PARSERS, parse
from tests.doubles import fuzzer

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
QUICK = 15
SECONDS = 300
CORPUS = Path(__file__).parents[2] / "cases" / "fuzzed"
"""Tool → short texts that brought a fuzzer an answer which was new, and the status they had."""


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


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*.json")), ids=lambda file: file.stem)
def test_what_a_fuzzer_found_is_answered_as_then(file: Path) -> None:
    answers = json.loads(file.read_text(encoding="utf-8"))
    assert answers
    for text, status in answers.items():
        assert parse(Tool(file.stem), text).status.value == status, text


@pytest.mark.slow
def test_a_fuzzer_finds_no_fault_in_five_minutes() -> None:
    found = fuzzer.fuzz(SECONDS, seed=20261128)
    assert found.faults == []
    assert min(found.parses.values()) > 100
    assert found.complete.total() > 0


def test_the_fuzzer_sees_what_it_looks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that raises, one that takes garbage, and one that hoards are each a fault."""
    spoiled = {"raises": _raises, "takes all": _takes_all, "hoards": _hoards}
    for name, parser in spoiled.items():
        monkeypatch.setattr(fuzzer, "parse", parser)
        monkeypatch.setattr(fuzzer, "MEASURED", 1)
        found = fuzzer.fuzz(0.5, seed=1, tools=(Tool.CLOCK,))
        assert found.faults, name


def _raises(_tool: Tool, _text: str) -> Parsed:
    raise ZeroDivisionError


def _takes_all(_tool: Tool, _text: str) -> Parsed:
    return Parsed(
        status=Completeness.COMPLETE, readings=(Reading(name="offset", value=0, unit=Unit.SECONDS),)
    )


def _hoards(_tool: Tool, text: str) -> Parsed:
    hoard = [text] + [bytearray(2**20) for _ in range(9)]
    return Parsed(status=Completeness.CORRUPT, problem=f"{len(hoard)} of them")
