"""Output of roles/collectives' program: one line a collective and size, between a start and an end.

``start``: ranks, hosts (that of each rank), rows (how many follow), interfaces, pattern.
``row``: collective, algorithm, size_bytes, ranks, hosts (sorted, each once), iterations,
seconds (median over the iterations of the slowest rank's time), seconds_min, seconds_max,
busbw_mbit_s, wrong (elements that were not what they should be, over all ranks).
``end``: rows.

``size_bytes`` is what nccl-tests calls size: the buffer of a rank for all_reduce and broadcast,
the buffer over all ranks for the others; bus bandwidth is size/time by a factor of the ranks n:
2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and all_to_all, 1 for broadcast
(nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.busbw import factor
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.lines import fitting, sealed
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "rackwright/collectives/1"
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, lt=3600)]
_MBIT = 1e6
_BITS = 8


class Start(Model):
    """What is about to be measured."""

    kind: Literal["start"]
    ranks: Annotated[int, Field(ge=2)]
    hosts: tuple[str, ...]
    """Of each rank, in their order."""
    rows: Positive
    interfaces: tuple[str, ...]
    pattern: str


class Row(Model):
    """One collective at one size."""

    kind: Literal["row"]
    collective: Literal["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"]
    algorithm: str
    size_bytes: Positive
    ranks: Positive
    hosts: tuple[str, ...]
    iterations: Positive
    seconds: Seconds
    seconds_min: Seconds
    seconds_max: Seconds
    busbw_mbit_s: Annotated[float, Field(gt=0)]
    wrong: Count


class End(Model):
    """The program came to its end."""

    kind: Literal["end"]
    rows: Positive


@strict
def parse(text: str) -> Iterator[Reading]:
    """Bus bandwidth and wrong elements of each row."""
    first, *rest = sealed(text, SCHEMA)
    start = fitting(Start, first, "line 1")
    _check_start(start)
    if not rest or rest[-1].get("kind") != "end":
        raise incomplete(f"no line of kind end: the program did not finish its {start.rows} rows")
    rows = [fitting(Row, fields, f"line {number}") for number, fields in enumerate(rest[:-1], 2)]
    end = fitting(End, rest[-1], "last line")
    if not len(rows) == start.rows == end.rows:
        raise incomplete(f"{len(rows)} rows, {start.rows} were announced and {end.rows} finished")
    _refuse_twice(rows)
    for row in rows:
        _check_row(row, start)
        yield from _readings(row, start)


def _check_start(start: Start) -> None:
    if len(start.hosts) != start.ranks:
        raise incomplete(f"{len(start.hosts)} hosts for {start.ranks} ranks")


def _refuse_twice(rows: list[Row]) -> None:
    seen = {(row.collective, row.size_bytes) for row in rows}
    if len(seen) != len(rows):
        raise corrupt("a collective and size stands twice")


def _check_row(row: Row, start: Start) -> None:
    what = f"{row.collective} of {row.size_bytes} bytes"
    if row.ranks != start.ranks or row.hosts != tuple(sorted(set(start.hosts))):
        raise incomplete(f"{what} has {row.ranks} ranks on {len(row.hosts)} hosts, not those of the start")
    if not row.seconds_min <= row.seconds <= row.seconds_max:
        raise corrupt(f"{what}: the median is not between least and most")
    bits = row.size_bytes * _BITS / row.seconds * factor(row.collective, row.ranks)
    agree(row.busbw_mbit_s, bits / _MBIT, f"bus bandwidth of {what}")


def _readings(row: Row, start: Start) -> Iterator[Reading]:
    context = Context(
        collective=row.collective,
        algorithm=row.algorithm,
        size_bytes=row.size_bytes,
        ranks=row.ranks,
        nodes=row.hosts,
        pattern=start.pattern,
        parameters={"iterations": row.iterations, "interfaces": " ".join(start.interfaces)},
    )
    yield Reading(name="busbw", value=row.busbw_mbit_s, unit=Unit.MBIT_S, context=context)
    yield Reading(name="wrong", value=row.wrong, unit=Unit.COUNT, context=context)
