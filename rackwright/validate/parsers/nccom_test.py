"""Output of AWS Neuron's nccom-test: bus bandwidth of each size, converted from GiB/s to GB/s.

It prints ``GB/s`` and means 2³⁰ bytes (33,554,432 B in 768 µs are printed as 40.69). Ranks are not in its
table; bus bandwidth and algorithm bandwidth must have one and the same ratio in all rows.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, refuse_long, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS = ("size(B)", "count(elems)", "type", "time(us)", "algbw(GB/s)", "busbw(GB/s)")
_ALSO = frozenset({"algorithm", "time(us)p50", "time(us)p99"})
_AVERAGE = re.compile(r"Avg bus bandwidth:\s*(\d+(?:\.\d+)?)\s?GB/s")
_BYTES = {
    "int8": 1,
    "uint8": 1,
    "fp8": 1,
    "fp16": 2,
    "bf16": 2,
    "fp32": 4,
    "int32": 4,
    "uint32": 4,
    "fp64": 8,
}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_HEAD = re.compile(r"^[^\S\n]*size\(B\)", re.MULTILINE)
_GIB, _GB = 2**30, 1e9
_ROUNDED = 0.006


class _Row(NamedTuple):
    size: int
    type: str
    algbw: float
    busbw: float
    algorithm: str | None


@strict
def parse(text: str) -> Iterator[Reading]:
    """Bus bandwidth, GB/s."""
    if _HEAD.search(text) is None:
        raise incomplete("no table")
    lines = [line for line in text.splitlines() if line.strip()]
    refuse_long(lines)
    start = next((place for place, line in enumerate(lines) if line.split()[0] == _COLUMNS[0]), None)
    if start is None:
        raise incomplete("no table")
    names = tuple(lines[start].split())
    if names[: len(_COLUMNS)] != _COLUMNS or not set(names[len(_COLUMNS) :]) <= _ALSO:
        raise corrupt("the columns of the table are not known here")
    average = _AVERAGE.fullmatch(lines[-1].strip())
    if average is None:
        raise incomplete("no average at the end")
    rows = [_row(line, names) for line in lines[start + 1 : -1]]
    _check(rows, float(average[1]))
    for row in rows:
        context = Context(size_bytes=row.size, algorithm=row.algorithm, parameters={"type": row.type})
        yield Reading(name="busbw", value=row.busbw * _GIB / _GB, unit=Unit.GB_S, context=context)


def _row(line: str, names: tuple[str, ...]) -> _Row:
    words = line.split()
    if len(words) != len(names):
        raise corrupt(f"{line[:80]!r} is no row of the table")
    cells = dict(zip(names, words, strict=True))
    size, count, time, algbw, busbw = (_number(cells[name]) for name in _COLUMNS if name != "type")
    if cells["type"] not in _BYTES or size != count * _BYTES[cells["type"]] or not time:
        raise corrupt(f"{cells['size(B)']} bytes are not {cells['count(elems)']} of {cells['type']}")
    follows = size / time * 1e6 / _GIB
    if abs(algbw - follows) > _ROUNDED + 0.02 * follows + follows / time:
        raise corrupt(f"algbw of {size:g} bytes is {algbw:g}, but follows from its time as {follows:g} GiB/s")
    return _Row(int(size), cells["type"], algbw, busbw, cells.get("algorithm"))


def _number(word: str) -> float:
    if not _NUMBER.fullmatch(word):
        raise corrupt(f"{word[:40]!r} is no number of the table")
    return float(word)


def _check(rows: list[_Row], average: float) -> None:
    if not rows:
        raise incomplete("no row was measured")
    sizes = [row.size for row in rows]
    if sizes != sorted(set(sizes)):
        raise corrupt("sizes do not grow")
    steps = {later / earlier for earlier, later in pairwise(sizes)}
    if len(steps) > 1 and len({b - a for a, b in pairwise(sizes)}) > 1:
        raise incomplete("sizes grow neither by a factor nor by a step: a row is missing")
    widest = max(rows, key=lambda row: row.algbw)
    ratio = widest.busbw / (widest.algbw or 1)
    for row in rows:
        if abs(row.busbw - row.algbw * ratio) > _ROUNDED * (1 + ratio) + 0.001 * row.busbw:
            raise corrupt(f"busbw of {row.size} bytes is not to its algbw as that of the others is")
    agree(average, sum(row.busbw for row in rows) / len(rows), "average bus bandwidth", tolerance=0.01)
