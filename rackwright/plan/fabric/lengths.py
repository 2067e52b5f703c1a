"""Two places in a hall in, the cable between them out: its length in stock, and its kind.

A cable within a rack runs straight; any other goes up to the tray above the racks, along rows and
across them, and down again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

RACK_MM, ROW_MM = 600, 3000
"""Width of a rack, and from one row to the next with its aisle (planning assumptions, EIA-310 racks)."""
UNIT_MM, TRAY_MM, SLACK_MM = 45, 300, 1000
"""A rack unit, rounded up (44.45 mm, EIA-310); from a rack's top to the tray. Spare for both ends."""
STOCK_M = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150)
"""Lengths that cables are sold in, m (planning assumption)."""
KINDS = ((3, "copper"), (50, "multimode"), (100, "singlemode"), (500, "singlemode-500m"))
"""Longest of each kind, m. Multimode 50 m and single mode 100 m: NDR transceivers MMA4Z00-NS and
MMS4X00-NS, QM97XX Systems User Manual, Interfaces (vendor); passive copper 3 m: assumed."""

BREAKOUT = "-1x"
"""Between what a breakout cable is made of and how many tails it has."""


class Spot(NamedTuple):
    """Where the end of a cable is."""

    row: int
    place: int
    unit: int


def apart_mm(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Way along and across rows between two racks, given as (row, place)."""
    return abs(one[0] - other[0]) * ROW_MM + abs(one[1] - other[1]) * RACK_MM


@lru_cache(maxsize=1 << 16)
def length_m(one: Spot, other: Spot, rack_units: int) -> int:
    """The shortest length in stock that reaches; what is longer is rounded up to 10 m.

    Args:
        one: an end.
        other: the other end.
        rack_units: of all racks of the hall.
    """
    if one[:2] == other[:2]:
        way = abs(one.unit - other.unit) * UNIT_MM
    else:
        up = sum((rack_units - spot.unit) * UNIT_MM + TRAY_MM for spot in (one, other))
        way = up + apart_mm(one[:2], other[:2])
    way += SLACK_MM
    return next((stock for stock in STOCK_M if stock * 1000 >= way), -(-way // 10_000) * 10)


def kind(metres: int, tails: int = 1) -> str:
    """The plainest kind of cable that is made this long; ``too-long`` beyond all of them.

    A breakout cable is a kind of its own, told by its tails: ``multimode-1x2``.
    """
    name = medium(metres)
    return name if tails == 1 else f"{name}{BREAKOUT}{tails}"


def medium(metres: int) -> str:
    """What a cable of this length is made of, whatever its ends."""
    return next((name for most, name in KINDS if metres <= most), "too-long")
