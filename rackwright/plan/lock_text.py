"""The grammar that all parts of a lock share: spans that run along spans, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints

from rackwright.errors import LockCorrupt
from rackwright.findings import Place
from rackwright.plan.ranges import Span, pair_up

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

MOST_SLOTS = 1 << 20
"""In one span; more is no lock but an attempt on our memory."""
_RESERVED = frozenset({"on", "off", "yes", "no", "true", "false", "null"})
"""Names that YAML 1.1 reads as something else."""
_HINT = (
    "take the last version from version control (after a merge: one of both sides) "
    "and run `rackwright plan` again"
)

Spans = Mapping[int | str, int | str]
RackName = Annotated[str, StringConstraints(pattern=r"^r\d{2,4}p\d{2,4}$")]


def key_text(name: str) -> str:
    """A name as a key of YAML."""
    return f'"{name}"' if name in _RESERVED else name


def spans_text(values: Iterable[tuple[int, int]]) -> str:
    """``{1-4: 1-25/8, 6: 2}`` for rising numbers and their values."""
    return f"{{{', '.join(f'{keys}: {spans}' for keys, spans in pair_up(values))}}}"


def racks_lines(places: Iterable[tuple[str, int, int]]) -> Iterator[str]:
    """One line a rack for (rack, number, unit) in rising order."""
    for rack, in_rack in groupby(places, key=lambda place: place[0]):
        yield f"{rack}: {spans_text((number, unit) for _, number, unit in in_rack)}"


def pairs(path: Path, key: str, spans: Spans, first: int = 1) -> Iterator[tuple[int, int]]:
    """Numbers with their values.

    Args:
        path: the lock, for the error's place only.
        key: where the spans stand in it.
        spans: as read.
        first: the lowest number there is.

    Raises:
        LockCorrupt: no spans, or spans of different lengths.
    """
    for left, right in spans.items():
        try:
            numbers, values = Span.parse(str(left)), Span.parse(str(right))
        except ValueError as error:
            raise corrupt(path, key, got=str(error), expected="spans such as 1-96 or 1-25/8") from None
        if numbers.count != values.count or numbers.first < first or numbers.count > MOST_SLOTS:
            raise corrupt(
                path, key, got=f"{numbers}: {values}", expected=f"as many values as slots, from {first}"
            )
        yield from zip(numbers, values, strict=True)


def once(path: Path, key: str, found: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same pairs, of which no number comes twice."""
    seen: set[int] = set()
    for number, value in found:
        if number in seen:
            raise corrupt(path, key, got=f"slot {number} twice", expected="each slot once")
        seen.add(number)
        yield number, value


def corrupt(where: Place | Path, key: str, got: str = "", expected: str = "") -> LockCorrupt:
    """What is wrong with a lock, and where in it."""
    return LockCorrupt(
        f"the lock cannot be used: {key or 'it'} is not what `rackwright plan` wrote",
        where=where if isinstance(where, Place) else Place(where),
        got=got,
        expected=expected,
        hint=_HINT,
    )
