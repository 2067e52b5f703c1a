"""Racks of one hall while they fill: first fit by units and power, in the order of rows and places.

A slot that the lock has seated stays where it is; only new slots look for a place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from rackwright.plan.fabric.lengths import apart_mm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.spec.sites import RackGrid

WATTS = 1000
"""Per kW: sums of power are integers, so that no order of adding changes them."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """What one node of a pool takes."""

    pool: str
    units: int
    watts: int
    per_rack: int | None
    """Nodes of the pool in one rack at most; None is as many as fit."""


@dataclass(slots=True)
class Rack:
    """One rack and what it holds."""

    row: int
    place: int
    free: int
    """Bit n is set while unit n + 1 is free."""
    watts: int = 0
    nodes: dict[str, int] = field(default_factory=dict)
    """Pool → nodes."""


def rack_name(row: int, place: int) -> str:
    """``r01p02`` is the second rack of the first row."""
    return f"r{row:02d}p{place:02d}"


def rack_place(name: str) -> tuple[int, int]:
    """Row and place of ``r01p02``."""
    row, _, place = name[1:].partition("p")
    return int(row), int(place)


class Hall:
    """The racks of a site; they come into being when something stands in them."""

    def __init__(self, grid: RackGrid) -> None:
        self.grid = grid
        self.limit_watts = round(grid.power_kw * WATTS)
        self._empty = (1 << grid.units) - 1
        self._racks: dict[str, Rack] = {}
        self._next: dict[str, int] = {}
        self._around: dict[tuple[int, int], Around] = {}
        self._next_around: dict[tuple[tuple[int, int], Footprint], int] = {}

    def filled(self) -> Iterator[tuple[str, Rack]]:
        """Racks that hold something, in the order of rows and places."""
        return iter(sorted(self._racks.items(), key=lambda item: (item[1].row, item[1].place)))

    def why_not(self, name: str, unit: int, footprint: Footprint) -> str:
        """Why a node cannot stand at a given place, a sentence; empty if it can."""
        rack = self._named(name)
        if rack is None:
            return f"the site has no rack {name}"
        taken = _named_units(unit, footprint.units)
        if unit + footprint.units - 1 > self.grid.units:
            return f"{taken} of {name}, which has {self.grid.units}"
        if rack.free & _units(unit, footprint.units) != _units(unit, footprint.units):
            return f"something else stands in {taken} of {name}"
        if rack.watts + footprint.watts > self.limit_watts:
            drawn = (rack.watts + footprint.watts) / WATTS
            return f"{name} would draw {drawn:g} kW of {self.limit_watts / WATTS:g} kW"
        return ""

    def seat(self, name: str, unit: int, footprint: Footprint) -> None:
        """Put a node where `why_not` has nothing against it."""
        rack = self._named(name)
        if rack is None:
            raise KeyError(name)
        self._racks[name] = rack
        rack.free &= ~_units(unit, footprint.units)
        rack.watts += footprint.watts
        rack.nodes[footprint.pool] = rack.nodes.get(footprint.pool, 0) + 1

    def find(self, footprint: Footprint) -> tuple[str, int] | None:
        """First rack and lowest units where one more node of a pool fits; None if no rack takes it.

        Racks only fill up, so each pool goes through the rows once: cost is linear.
        """
        for ordinal in range(self._next.get(footprint.pool, 0), self.grid.rows * self.grid.per_row):
            row, place = ordinal // self.grid.per_row + 1, ordinal % self.grid.per_row + 1
            name = rack_name(row, place)
            rack = self._racks.get(name) or Rack(row, place, self._empty)
            unit = self._fits(rack, footprint)
            if unit:
                self._next[footprint.pool] = ordinal
                return name, unit
        self._next[footprint.pool] = self.grid.rows * self.grid.per_row
        return None

    def nearest(self, target: tuple[int, int], footprint: Footprint) -> tuple[str, int] | None:
        """The rack nearest to a row and place, and its lowest units, where one more fits; None if none.

        Racks only fill up, so each target is looked around from once, and no further than there is room.
        """
        if target not in self._around:
            self._around[target] = Around(self.grid, target)
        racks = self._around[target]
        first = self._next_around.get((target, footprint), 0)
        for turn in range(first, self.grid.rows * self.grid.per_row):
            rack = racks[turn]
            name = rack_name(*rack)
            unit = self._fits(self._racks.get(name) or Rack(*rack, self._empty), footprint)
            if unit:
                self._next_around[target, footprint] = turn
                return name, unit
        self._next_around[target, footprint] = self.grid.rows * self.grid.per_row
        return None

    def _fits(self, rack: Rack, footprint: Footprint) -> int:
        """Lowest unit of a free run, 0 for none."""
        if footprint.per_rack is not None and rack.nodes.get(footprint.pool, 0) >= footprint.per_rack:
            return 0
        if rack.watts + footprint.watts > self.limit_watts:
            return 0
        run = rack.free
        for shift in range(1, footprint.units):
            run &= rack.free >> shift
        return (run & -run).bit_length()

    def _named(self, name: str) -> Rack | None:
        if name in self._racks:
            return self._racks[name]
        row, place = rack_place(name)
        if not (1 <= row <= self.grid.rows and 1 <= place <= self.grid.per_row):
            return None
        return Rack(row, place, self._empty)


class Around:
    """All racks of a hall by their way from one of them, then by rows and places; found as far as asked for.

    Each rack but the first has one neighbour that leads to it, which is nearer: so racks come in order, and a
    hall that is big is not sorted for every rack that something stands near.
    """

    def __init__(self, grid: RackGrid, middle: tuple[int, int]) -> None:
        self._grid = grid
        self._middle = min(middle[0], grid.rows), min(middle[1], grid.per_row)
        self._found: list[tuple[int, int]] = []
        self._waiting = [(0, self._middle)]

    def __getitem__(self, turn: int) -> tuple[int, int]:
        while len(self._found) <= turn:
            _, rack = heappop(self._waiting)
            self._found.append(rack)
            for beyond in self._beyond(*rack):
                heappush(self._waiting, (apart_mm(beyond, self._middle), beyond))
        return self._found[turn]

    def _beyond(self, row: int, place: int) -> Iterator[tuple[int, int]]:
        """Along the row away from the middle, and from the middle's own place to the next row."""
        grid, (mid_row, mid_place) = self._grid, self._middle
        if 1 < place <= mid_place:
            yield row, place - 1
        if mid_place <= place < grid.per_row:
            yield row, place + 1
        if place == mid_place and 1 < row <= mid_row:
            yield row - 1, place
        if place == mid_place and mid_row <= row < grid.rows:
            yield row + 1, place


def _units(unit: int, count: int) -> int:
    return ((1 << count) - 1) << (unit - 1)


def _named_units(unit: int, count: int) -> str:
    return f"unit {unit}" if count == 1 else f"units {unit} to {unit + count - 1}"
