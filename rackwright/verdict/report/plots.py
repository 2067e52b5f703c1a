"""Measurements in, horizontal bars out: one a port on a rail, one a node for all else, worst first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rackwright.validate.expectations import Expectation
from rackwright.validate.model import Unit
from rackwright.verdict.matching import Bounds
from rackwright.verdict.report.alone import Alone, rail_name
from rackwright.verdict.report.figures import (
    UNITS,
    clipped,
    figure,
    number,
)
from rackwright.verdict.report.levels import LEVELS, Level, level, words, worst
from rackwright.verdict.report.pairs import RailKey, Way
from rackwright.verdict.units import FEWER_IS_BETTER, LESS_IS_BETTER

_MOST_BARS = 32
_FULL = 100.0
_OF_SEVERAL = "From the lowest to the highest of each node's devices."


@dataclass(frozen=True, slots=True)
class Bar:
    """One subject: from its lowest value to its highest, in per cent of the axis."""

    subject: str
    low: float
    span: float
    bounds: tuple[float, ...]
    text: str
    level: Level


@dataclass(frozen=True, slots=True)
class Plot:
    """All subjects of one measurement."""

    title: str
    unit: str
    about: str
    bars: tuple[Bar, ...]
    rest: tuple[str, ...]
    """One sentence on the bars that were left out; none where all are shown."""
    level: Level


@dataclass(slots=True)
class Spread:
    """What was measured of one subject."""

    values: list[float]
    levels: list[Level]
    expectation: Expectation | None = None

    @classmethod
    def of(cls, found: Iterable[tuple[float, Expectation | None]]) -> Spread:
        """Of some values, each with its expectation."""
        spread = cls([], [])
        for value, expectation in found:
            spread.add(value, expectation)
        return spread

    def add(self, value: float, expectation: Expectation | None) -> None:
        """Take in one more."""
        self.values.append(value)
        self.levels.append(level(value, expectation))
        self.expectation = expectation or self.expectation


def rails(ways: Mapping[RailKey, Mapping[tuple[str, str], Way]]) -> tuple[Plot, ...]:
    """A plot for each rail: every port with the lowest and highest of its pairs.

    A port counts as outside its bound where it is that to all its partners in one direction: a
    partner's fault must not show on it.
    """
    return _worst_first([_rail(key, rows) for key, rows in sorted(ways.items())])


def _rail(key: RailKey, rows: Mapping[tuple[str, str], Way]) -> Plot:
    fabric, rail, unit = key
    sent, received = _by_end(rows, 0), _by_end(rows, 1)
    spreads: dict[str, Spread] = {}
    for node in sorted(sent.keys() | received.keys()):
        directions = [side for side in (sent.get(node, []), received.get(node, [])) if side]
        best = [min((way.level for way in side), key=_goodness) for side in directions]
        all_ways = [way for side in directions for way in side]
        spreads[node] = Spread([way.value for way in all_ways], [worst(best)], all_ways[0].expectation)
    about = "From the lowest to the highest of each port's pairs, both directions."
    return plot(rail_name(fabric, None if rail < 0 else rail), unit, spreads, about)


def _by_end(rows: Mapping[tuple[str, str], Way], end: int) -> Mapping[str, list[Way]]:
    found: defaultdict[str, list[Way]] = defaultdict(list)
    for ends, way in rows.items():
        found[ends[end]].append(way)
    return found


def _goodness(one: Level) -> int:
    return -LEVELS.index(one)


def nodes(measurements: Iterable[Alone], bounds: Bounds) -> tuple[Plot, ...]:
    """A plot for each quantity that was measured on nodes alone; counts are told by `likenesses`."""
    found: defaultdict[tuple[str, Unit], dict[str, Spread]] = defaultdict(dict)
    several: set[str] = set()
    for one in measurements:
        value, unit = one.measurement.value, one.measurement.unit
        if not isinstance(value, (bool, str)) and unit is not Unit.COUNT:
            spread = found[one.title, unit].setdefault(one.subject, Spread([], []))
            spread.add(value, bounds.of(one.measurement))
            several |= {one.title} if one.place else set()
    made = [
        plot(title, unit, spreads, _OF_SEVERAL if title in several else "")
        for (title, unit), spreads in found.items()
    ]
    return _worst_first(made)


def _worst_first(plots: Iterable[Plot]) -> tuple[Plot, ...]:
    return tuple(sorted(plots, key=lambda plot: LEVELS.index(plot.level)))


def plot(title: str, unit: Unit, spreads: Mapping[str, Spread], about: str) -> Plot:
    """Bars of some subjects, the worst of them where they are many."""
    expectation = next((one.expectation for one in spreads.values() if one.expectation), None)
    ordered = sorted(spreads.items(), key=lambda item: _rank(item, unit))
    shown, left = ordered[:_MOST_BARS], ordered[_MOST_BARS:]
    edge = _edge(spreads.values())
    return Plot(
        title=title,
        unit=UNITS[unit],
        about=f"Expected {words(expectation)}. {about}".strip()
        if expectation
        else f"No expectation. {about}",
        bars=tuple(_bar(name, spread, unit, edge) for name, spread in shown),
        rest=_rest([spread for _, spread in left], unit),
        level=worst(one for spread in spreads.values() for one in spread.levels),
    )


def _rank(item: tuple[str, Spread], unit: Unit) -> tuple[int, float, str]:
    name, spread = item
    bad = -max(map(abs, spread.values)) if _is_less_better(spread, unit) else min(spread.values)
    return LEVELS.index(worst(spread.levels)), bad, name


def _is_less_better(spread: Spread, unit: Unit) -> bool:
    """By the side of its bound; where it has none by its unit."""
    if spread.expectation is not None:
        return spread.expectation.at_least is None
    return unit in LESS_IS_BETTER | FEWER_IS_BETTER


def _edge(spreads: Iterable[Spread]) -> float:
    """Value at the right end of the axis."""
    ends = [abs(end) for spread in spreads for end in (*spread.values, *_bounds(spread))]
    return max(ends, default=0.0) or 1.0


def _bounds(spread: Spread) -> list[float]:
    one = spread.expectation
    return [] if one is None else [end for end in (one.at_least, one.at_most) if end is not None]


def _bar(name: str, spread: Spread, unit: Unit, edge: float) -> Bar:
    low, high = min(map(abs, spread.values)), max(map(abs, spread.values))
    return Bar(
        subject=clipped(name),
        low=_share(low, edge),
        span=round(_share(high, edge) - _share(low, edge), 1),
        bounds=tuple(_share(bound, edge) for bound in _bounds(spread)),
        text=_range(spread.values, unit),
        level=worst(spread.levels),
    )


def _share(value: float, edge: float) -> float:
    return round(value / edge * _FULL, 1)


def _range(values: Sequence[float], unit: Unit) -> str:
    low, high = number(min(values)), number(max(values))
    return figure(min(values), unit) if low == high else f"{low} \N{EN DASH} {figure(max(values), unit)}"


def _rest(left: Sequence[Spread], unit: Unit) -> tuple[str, ...]:
    if not left:
        return ()
    values = [value for spread in left for value in spread.values]
    spread = f"lowest {figure(min(values), unit)}, median {figure(median(values), unit)}"
    return (f"And {number(len(left), 12)} more: {spread}, highest {figure(max(values), unit)}.",)
