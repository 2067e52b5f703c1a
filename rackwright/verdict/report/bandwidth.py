"""Measurements by collective and size in, a chart with its table for each collective out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectation
from rackwright.validate.model import Context, Measurement, Unit
from rackwright.verdict.matching import Bounds
from rackwright.verdict.report.alone import rail_name
from rackwright.verdict.report.chart import Chart, Series, drawn
from rackwright.verdict.report.figures import UNITS, counted, listed, number, size
from rackwright.verdict.report.levels import FAR, LEVELS, MISSED, UNBOUND, Level, level, words, worst
from rackwright.verdict.report.plots import Plot, Spread, plot
from rackwright.verdict.units import THROUGHPUT

_SeriesKey = tuple[str, int]
_ALL_RAILS = 1 << 30
_WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of the table under a chart."""

    text: str
    level: Level


@dataclass(frozen=True, slots=True)
class Row:
    """All values at one size."""

    size: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One collective."""

    title: str
    unit: str
    about: str
    """Who took part, and what the chart says, in one sentence."""
    charts: tuple[Chart, ...]
    """One, or none of a single size."""
    plots: tuple[Plot, ...]
    """One of a single size, which has a bar for each series."""
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    level: Level


@dataclass(frozen=True, slots=True)
class _Point:
    """The lowest value of a series at a size."""

    value: float
    expectation: Expectation | None
    context: Context

    @property
    def level(self) -> Level:
        """How it stands to its bound."""
        return level(self.value, self.expectation)


_Lines = dict[_SeriesKey, dict[int, _Point]]
_Of = tuple[str, str]
"""Check and collective: programs of one name, over other ways, are not held against each other."""


def panels(measurements: Iterable[Measurement], bounds: Bounds) -> tuple[Panel, ...]:
    """A panel for each collective and unit, worst first."""
    values = tuple(measurements)
    checked = _checked(values, bounds)
    made = [
        _panel(_title(*of), unit, lines, checked.get(of, ""))
        for (of, unit), lines in _collected(values, bounds).items()
    ]
    return tuple(sorted(made, key=lambda panel: LEVELS.index(panel.level)))


def _title(check: str, collective: str) -> str:
    """``all-reduce``; ``all-reduce, nccl-tests``."""
    name = collective.replace("_", "-")
    return name if check in ("", Check.COLLECTIVES) else f"{name}, {check}"


def _collected(measurements: Iterable[Measurement], bounds: Bounds) -> Mapping[tuple[_Of, Unit], _Lines]:
    """Lowest value of each collective, series and size."""
    found: defaultdict[tuple[_Of, Unit], _Lines] = defaultdict(lambda: defaultdict(dict))
    for collective, count, value, measurement in _by_size(measurements):
        context = measurement.context
        key = (context.fabric or "", _ALL_RAILS if context.rail is None else context.rail)
        line = found[(bounds.check(measurement), collective), measurement.unit][key]
        if count not in line or value < line[count].value:
            line[count] = _Point(value, bounds.of(measurement), context)
    return found


def _checked(measurements: Iterable[Measurement], bounds: Bounds) -> Mapping[_Of, str]:
    """Collective → how many elements were wrong, where the tool looked at them."""
    counts: defaultdict[_Of, int] = defaultdict(int)
    for measurement in measurements:
        collective, value = measurement.context.collective, measurement.value
        if collective is not None and measurement.name == _WRONG and isinstance(value, int):
            counts[bounds.check(measurement), collective] += value
    return {name: f"{counted(count, 'wrong element')}." for name, count in counts.items()}


def _by_size(measurements: Iterable[Measurement]) -> Iterator[tuple[str, int, float, Measurement]]:
    for measurement in measurements:
        context, value = measurement.context, measurement.value
        if isinstance(value, (bool, str)) or measurement.unit not in THROUGHPUT:
            continue
        if context.collective is not None and context.size_bytes:
            yield context.collective, context.size_bytes, value, measurement


def _panel(title: str, unit: Unit, lines: _Lines, checked: str) -> Panel:
    named = [(_label(key), line) for key, line in sorted(lines.items())]
    sizes = {count for _, line in named for count in line}
    found = worst(point.level for line in lines.values() for point in line.values())
    return Panel(
        title=title,
        unit=UNITS[unit],
        about=f"{_took_part(lines)} {_compared(lines)} {checked}".rstrip(),
        charts=(drawn([_series(label, line) for label, line in named]),) if len(sizes) > 1 else (),
        plots=() if len(sizes) > 1 else (_single(sizes.pop(), unit, named),),
        columns=tuple(label for label, _ in named),
        rows=tuple(_rows(dict(named))),
        level=found,
    )


def _label(key: _SeriesKey) -> str:
    fabric, rail = key
    if not fabric and rail == _ALL_RAILS:
        return "all ranks"
    return rail_name(fabric, None if rail == _ALL_RAILS else rail)


def _series(label: str, line: Mapping[int, _Point]) -> Series:
    at_least = {
        count: point.expectation.at_least
        for count, point in line.items()
        if point.expectation is not None and point.expectation.at_least is not None
    }
    return Series(label, {count: point.value for count, point in line.items()}, at_least)


def _single(count: int, unit: Unit, named: Sequence[tuple[str, Mapping[int, _Point]]]) -> Plot:
    spreads = {
        label: Spread.of((point.value, point.expectation) for point in line.values()) for label, line in named
    }
    return plot(f"At {size(count)}", unit, spreads, "")


def _rows(lines: Mapping[str, Mapping[int, _Point]]) -> Iterator[Row]:
    for count in sorted({count for line in lines.values() for count in line}, reverse=True):
        yield Row(size(count), tuple(_cell(line.get(count)) for line in lines.values()))


def _cell(point: _Point | None) -> Cell:
    return Cell("not measured", UNBOUND) if point is None else Cell(number(point.value), point.level)


def _took_part(lines: _Lines) -> str:
    """Who was in it, where that was the same for all points."""
    nodes = {point.context.nodes for line in lines.values() for point in line.values()}
    ranks = {point.context.ranks for line in lines.values() for point in line.values()}
    if len(nodes) != 1 or not (names := nodes.pop()):
        return "Lowest value of each size over the groups of nodes that were measured."
    count = ranks.pop() if len(ranks) == 1 else None
    return f"{listed(names)}{f' ({count} ranks)' if count else ''}."


def _compared(lines: _Lines) -> str:
    """What is expected, and how many points miss it."""
    judged = [point for line in lines.values() for point in line.values() if point.expectation]
    if not judged:
        return "No expectation of these."
    missed = sum(point.level in {FAR, MISSED} for point in judged)
    expected = listed(sorted({words(point.expectation) for point in judged}))
    return f"Expected: {expected}; {missed or 'none'} of {counted(len(judged), 'point')} below."
