"""No output makes a parser take more than ten times its memory, of whatever small pieces it is made."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.parsers.table import PARSERS, parse

if TYPE_CHECKING:
    from rackwright.validate.model import Tool

CASES = Path(__file__).parents[2] / "cases"
TIMES, LEAST = 10, 2**20
"""Of the text and what is read of it, as the fuzzer has it (`tests/doubles/fuzzer.py`)."""
SIZE = 300_000
PIECES = {
    "empty lines": "\n",
    "short lines": "ab\n",
    "words": "ab ",
    "cells": "1,",
    "lists": "[],",
    "objects": '{"a":0},',
    "texts": '"ab",',
    "numbers": "1.5,",
    "keys": "a: 1\n",
    "items": "- a: 1\n",
    "comments": "#\n",
    "instances": "a (1) ",
}


def _peak(tool: Tool, text: str) -> tuple[int, int]:
    """Most memory that was taken, and what was read, bytes."""
    tracemalloc.start()
    try:
        parsed = parse(tool, text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return peak, len(parsed.model_dump_json())


def _swollen(text: str, piece: str) -> list[str]:
    """A case with much of a piece at its end, after its first line, within a line, in its first list."""
    swell = piece * (SIZE // len(piece))
    lines = text.splitlines(keepends=True)
    middle = len(lines) // 2
    half = len(lines[middle]) // 2
    places = (
        text + swell,
        lines[0] + swell + "".join(lines[1:]),
        "".join(lines[:middle])
        + lines[middle][:half]
        + swell
        + lines[middle][half:]
        + "".join(lines[middle + 1 :]),
    )
    return [*places, *([text.replace("[", "[" + swell, 1)] if "[" in text else []), swell]


@pytest.mark.parametrize("tool", PARSERS)
@pytest.mark.parametrize("name", PIECES)
def test_no_piece_makes_a_parser_hoard(tool: Tool, name: str) -> None:
    case = max((CASES / tool).iterdir(), key=lambda path: (path.name.startswith("good"), path.name))
    text = (case / "input.txt").read_text(encoding="utf-8")
    for number, swollen in enumerate(_swollen(text, PIECES[name])):
        peak, read = _peak(tool, swollen)
        assert peak <= LEAST + TIMES * (len(swollen) + read), (number, peak / len(swollen))
