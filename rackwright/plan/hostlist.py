"""Slot names of a pool, folded as Slurm and ClusterShell write them."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from rackwright.plan.ranges import pair_up
from rackwright.spec.slots import slot_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def hostlist(pool: str, numbers: Iterable[int]) -> str:
    """Rising slot numbers as ``node-[001-004,006,1000-1002]``; one is ``node-001``.

    A range never spans two widths: not every reader knows what ``[998-1001]`` leaves unpadded.
    """
    names = list(_spans(numbers))
    if len(names) == 1 and "-" not in names[0]:
        return f"{pool}-{names[0]}"
    return f"{pool}-[{','.join(names)}]" if names else ""


def _spans(numbers: Iterable[int]) -> Iterator[str]:
    for _, same_width in groupby(numbers, key=lambda number: len(_padded(number))):
        for span, _ in pair_up((number, number) for number in same_width):
            first, last = _padded(span.first), _padded(span.last)
            yield first if span.count == 1 else f"{first}-{last}"


def _padded(number: int) -> str:
    return slot_name("", number).removeprefix("-")
