"""Measurements between two nodes in, a table from sender to receiver for each rail out.

Beyond 32 nodes a square table is read by nobody: then the worst pairs are listed, and the rest is
told in three figures.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from rackwright.validate.expectations import Expectation
from rackwright.validate.model import Measurement, Unit
from rackwright.verdict.matching import Bounds
from rackwright.verdict.report.alone import rail_name
from rackwright.verdict.report.figures import UNITS, counted, figure, number
from rackwright.verdict.report.levels import LEVELS, UNBOUND, Level, level, words, worst
from rackwright.verdict.units import THROUGHPUT

MOST_NODES = 32
_NARROW = 5
_WORST_PAIRS = 32


@dataclass(frozen=True, slots=True)
class Cell:
    """One direction of one pair."""

    text: str
    level: Level
    css: str


@dataclass(frozen=True, slots=True)
class Row:
    """All of one sender."""

    sender: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """One direction of a pair, in the list that stands for a table too big."""

    sender: str
    receiver: str
    text: str
    level: Level


@dataclass(frozen=True, slots=True)
class Square:
    """All pairs."""

    nodes: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One rail: as a square, or as a list of its worst pairs."""

    title: str
    about: str
    unit: str
    css: str
    """``broad`` where it needs the page's whole width."""
    squares: tuple[Square, ...]
    """One, or none where there are too many nodes."""
    lists: tuple[tuple[Listed, ...], ...]
    """One where there is no square."""
    level: Level


@dataclass(frozen=True, slots=True)
class Way:
    """One direction of a pair: the lowest value that was measured."""

    value: float
    expectation: Expectation | None
    measurement: Measurement

    @property
    def level(self) -> Level:
        """How it stands to its bound."""
        return level(self.value, self.expectation)


_Ways = dict[tuple[str, str], Way]
RailKey = tuple[str, int, Unit]


def ways(measurements: Iterable[Measurement], bounds: Bounds) -> Mapping[RailKey, _Ways]:
    """Rail → (sender, receiver) → what went that way."""
    found: defaultdict[RailKey, _Ways] = defaultdict(dict)
    for ends, value, measurement in _between_two(measurements):
        context = measurement.context
        rail = -1 if context.rail is None else context.rail
        rows = found[context.fabric or "", rail, measurement.unit]
        for way in ends:
            if way not in rows or value < rows[way].value:
                rows[way] = Way(value, bounds.of(measurement), measurement)
    return found


def _between_two(
    measurements: Iterable[Measurement],
) -> Iterator[tuple[list[tuple[str, str]], float, Measurement]]:
    for measurement in measurements:
        context, value = measurement.context, measurement.value
        if isinstance(value, (bool, str)) or measurement.unit not in THROUGHPUT:
            continue
        if context.node is not None and context.peer is not None:
            there, back = (context.node, context.peer), (context.peer, context.node)
            directions = {"forward": [there], "reverse": [back]}
            yield directions.get(context.direction or "", [there, back]), value, measurement


def matrices(rails: Mapping[RailKey, _Ways]) -> tuple[Matrix, ...]:
    """A matrix for each rail, worst first."""
    made = [_matrix(key, rows) for key, rows in sorted(rails.items())]
    return tuple(sorted(made, key=lambda matrix: LEVELS.index(matrix.level)))


def _matrix(key: RailKey, rows: _Ways) -> Matrix:
    fabric, rail, unit = key
    nodes = tuple(sorted({node for way in rows for node in way}))
    small = len(nodes) <= MOST_NODES
    return Matrix(
        title=rail_name(fabric, None if rail < 0 else rail),
        about=_about(nodes, rows, unit),
        unit=UNITS[unit],
        css="broad" if _NARROW < len(nodes) <= MOST_NODES else "narrow",
        squares=(_square(nodes, rows),) if small else (),
        lists=() if small else (_listed(rows),),
        level=worst(way.level for way in rows.values()),
    )


def _square(nodes: tuple[str, ...], rows: _Ways) -> Square:
    return Square(
        nodes, tuple(Row(sender, tuple(_cell(sender, node, rows) for node in nodes)) for sender in nodes)
    )


def _cell(sender: str, receiver: str, rows: _Ways) -> Cell:
    way = rows.get((sender, receiver))
    if way is not None:
        return Cell(number(way.value), way.level, way.level.css)
    return (
        Cell("\N{EN DASH}", UNBOUND, "self")
        if sender == receiver
        else Cell("not measured", UNBOUND, "absent")
    )


def _listed(rows: _Ways) -> tuple[Listed, ...]:
    ordered = sorted(rows.items(), key=lambda item: (item[1].value, item[0]))
    return tuple(
        Listed(sender, receiver, number(way.value), way.level)
        for (sender, receiver), way in ordered[:_WORST_PAIRS]
    )


def _about(nodes: tuple[str, ...], rows: _Ways, unit: Unit) -> str:
    """Expectation, how many miss it, and the spread of all."""
    values = [way.value for way in rows.values()]
    expected = sorted({words(way.expectation) for way in rows.values()})
    missed = sum(way.level.css in {"far", "missed"} for way in rows.values())
    spread = (
        f"lowest {figure(min(values), unit)}, median {figure(median(values), unit)},"
        f" highest {figure(max(values), unit)}"
    )
    asked = len(nodes) * (len(nodes) - 1)
    return (
        f"Expected {' or '.join(expected[:3])}. {missed or 'None'} of {counted(len(rows), 'direction')}"
        f" below; {spread}. {number(len(rows), 12)} of {number(asked, 12)} possible directions measured."
    )
