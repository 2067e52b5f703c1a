"""Series of points in, the geometry of an SVG chart out: sizes across by their power of two, values up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, log10

from rackwright.verdict.report.figures import number, size

WIDTH, HEIGHT = 440, 250
LEFT, RIGHT, TOP, BOTTOM = 52, 24, 12, 30
_STYLES = 8
_SHAPES = (
    "m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "m-3-3h6v6h-6z",
    "m0-4.2l4 7.2h-8z",
    "m0-4.2l4.2 4.2-4.2 4.2-4.2-4.2z",
)
"""Markers about a point: circle, square, triangle, diamond; who sees no colours tells lines apart by them."""
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_VALUE_TICKS = 4
_MOST_SIZE_TICKS = 7
_STUB = 12.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its values by size, and the bound of each size that has one."""

    label: str
    values: Mapping[int, float]
    bounds: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """One series as it is drawn."""

    label: str
    css: str
    points: str
    markers: str
    symbol: str
    """Marker of the legend, about the point 8, 8."""
    bound: str
    """Points of the bound; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Chart:
    """What the template draws, in units of its view box."""

    lines: tuple[Line, ...]
    sizes: tuple[Tick, ...]
    values: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    top: float

    def x(self, count: int) -> float:
        span = self.high - self.low
        share = (log2(count) - self.low) / span if span else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        return round(HEIGHT - BOTTOM - value / self.top * (HEIGHT - TOP - BOTTOM), 1)


def drawn(series: Sequence[Series]) -> Chart:
    """Lay out a chart of at least one series with at least one point."""
    sizes = sorted({count for one in series for count in one.values})
    most = max(value for one in series for value in (*one.values.values(), *one.bounds.values()))
    step = _step(most)
    scale = _Scale(log2(sizes[0]), log2(sizes[-1]), step * max(ceil(most / step), 1))
    steps = range(round(scale.top / step) + 1)
    return Chart(
        lines=tuple(_line(index, one, scale) for index, one in enumerate(series)),
        sizes=tuple(Tick(scale.x(count), size(count)) for count in _thinned(sizes)),
        values=tuple(Tick(scale.y(turn * step), number(turn * step)) for turn in steps),
    )


def _line(index: int, series: Series, scale: _Scale) -> Line:
    at = [(scale.x(count), scale.y(value)) for count, value in sorted(series.values.items())]
    shape = _SHAPES[index % len(_SHAPES)]
    return Line(
        label=series.label,
        css=f"line-{index % _STYLES}",
        points=_points(at),
        markers="".join(f"M{x} {y}{shape}" for x, y in at),
        symbol=f"M8 8{shape}",
        bound=_points(_bound(series.bounds, scale)),
    )


def _bound(bounds: Mapping[int, float], scale: _Scale) -> list[tuple[float, float]]:
    """Corners of the bound; at a single size, a short stroke over it."""
    at = [(scale.x(count), scale.y(value)) for count, value in sorted(bounds.items())]
    if len(at) != 1:
        return at
    (x, y) = at[0]
    return [(round(max(x - _STUB, LEFT), 1), y), (round(min(x + _STUB, WIDTH - RIGHT), 1), y)]


def _points(at: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in at)


def _step(most: float) -> float:
    """A round step that takes a few of to reach `most`."""
    rough = max(most, 1e-9) / _VALUE_TICKS
    power = 10.0 ** floor(log10(rough))
    return next(nice for nice in _NICE if nice * power >= rough * (1 - 1e-9)) * power


def _thinned(sizes: Sequence[int]) -> Sequence[int]:
    """Those of rising sizes that have room for a label: the last one always does."""
    every = ceil(len(sizes) / _MOST_SIZE_TICKS)
    return sizes[(len(sizes) - 1) % every :: every]
