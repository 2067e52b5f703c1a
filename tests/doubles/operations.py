"""How many byte codes a call executes within some modules: the same on every machine, unlike its seconds."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType

T = TypeVar("T")


def operations(call: Callable[[], object], within: str) -> Counter[CodeType]:
    """Function, by its code → byte codes executed in it.

    Args:
        call: what to do.
        within: part of the path of those modules whose functions count.
    """
    found: Counter[CodeType] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> Any:  # noqa: ANN401 (as sys.settrace has it)
        if event == "opcode":
            found[frame.f_code] += 1
        return count

    def enter(frame: FrameType, *_: Any) -> Any:  # noqa: ANN401
        if within not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        return count

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


_FEWEST = 2_000
"""Byte codes below which a ratio says nothing."""


def growth(work: Callable[[T], object], few: T, many: T, within: str) -> float:
    """How many times the byte codes of a work on few are those of the same on many."""
    before, after = (operations(lambda of=of: work(of), within).total() for of in (few, many))  # type: ignore[misc] # (bound at once)
    assert before > _FEWEST, "what is counted is done at all"
    return after / before
