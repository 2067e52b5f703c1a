"""How a reader of this folder says that it did not understand."""

from __future__ import annotations

import json
import sys
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["corrupt", "incomplete", "not_run"]
Fields: TypeAlias = dict[str, object]


class Unreadable(Exception):
    """An output of which no part is used.

    Args:
        kind: corrupt is not what the tool writes, incomplete is cut off or lacks a part, not_run is
            the tool's own word that it did not measure.
        problem: why, with the line or key concerned.
    """

    def __init__(self, kind: Kind, problem: str) -> None:
        super().__init__(problem)
        self.kind: Kind = kind
        self.problem = problem


def corrupt(problem: str) -> Unreadable:
    """Not what the tool writes."""
    return Unreadable("corrupt", problem)


def incomplete(problem: str) -> Unreadable:
    """Cut off, or a part of it is missing."""
    return Unreadable("incomplete", problem)


def not_run(problem: str) -> Unreadable:
    """The tool says that it did not measure."""
    return Unreadable("not_run", problem)


def object_of(text: str, what: str = "document") -> Fields:
    """One JSON object whose keys stand once and whose numbers are numbers.

    Raises:
        Unreadable: incomplete where the text ends within the object, else corrupt.
    """
    if len(text) > CRUMBS and _memory(text) > _MOST_TIMES * len(text):
        raise corrupt(f"{what}: made of smaller pieces than that of any tool")
    try:
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        where = f"line {error.lineno}, column {error.colno}"
        raise (incomplete if cut else corrupt)(f"{what}: {error.msg} at {where}") from None
    except (ValueError, RecursionError) as error:
        raise corrupt(f"{what}: {error}") from None
    return an_object(value, what)


def _memory(text: str) -> int:
    """About what its texts, lists, objects and numbers take at most, bytes."""
    return 30 * text.count('"') + 160 * (text.count("{") + text.count("[")) + 40 * text.count(",")


def _once(pairs: list[tuple[str, object]]) -> Fields:
    found: Fields = {}
    for key, value in pairs:
        if key in found:
            raise corrupt(f"the key {key} stands twice")
        found[sys.intern(key)] = value  # one text for the same key of many lines
    return found


def _no_number(constant: str) -> float:
    raise corrupt(f"{constant} is no number")


def an_object(value: object, what: str) -> Fields:
    """A JSON object."""
    if not isinstance(value, dict):
        raise corrupt(f"{what}: no JSON object")
    return value


def a_list(value: object, what: str) -> list[object]:
    """A JSON list."""
    if not isinstance(value, list):
        raise corrupt(f"{what}: no JSON list")
    return value


def a_text(value: object, what: str) -> str:
    """A JSON text."""
    if not isinstance(value, str):
        raise corrupt(f"{what}: no text")
    return value


def a_count(value: object, what: str, least: int = 0) -> int:
    """A JSON integer from `least` on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise corrupt(f"{what}: no integer from {least} on")
    return value


def an_amount(value: object, what: str) -> float:
    """A JSON number from 0 on, of a size that can be."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < _MOST:
        raise corrupt(f"{what}: no number from 0 on")
    return float(value)


_MOST = 1e18
_MOST_TIMES = 9
"""Long documents of tools are at 8 or less."""
CRUMBS = 2**15
"""Characters of an output that is looked at before it is read, lest its pieces take many times its memory."""
