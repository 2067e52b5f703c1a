"""How cost grows: seconds by how many in; what one more costs, at first and at most, out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

STEEPER = 2.0
"""Linear: one more costs at most so many times at any size what it costs at first.

With sizes that double, n log n comes to 1.25 at 16,384, n to the power 1.5 to 2.6, n squared to 6. Of a sum
of a linear and a square part it is passed when, at the biggest size, the square part is the bigger one.
"""
FIRST = 4
"""What it costs at first is seen up to this part of the biggest size: less would drown in the start."""


class Growth(NamedTuple):
    """What one more costs, in µs."""

    first_us: float
    up_to: int
    most_us: float
    """Of what it costs from each bigger size to the next, the most."""
    reached: int
    """Size at which it does."""

    @property
    def steeper(self) -> float:
        """How many times more it costs there; without end where at first it was not seen to cost anything."""
        return self.most_us / self.first_us if self.first_us > 0 else float("inf")


def growth(start_s: float, took_s: Mapping[int, float]) -> Growth | None:
    """What one more costs.

    Args:
        start_s: of the same command with next to nothing to do, measured in the same run.
        took_s: how many → seconds, the start included.

    Returns:
        None without a size of a quarter of the biggest, or less, and one between the two.
    """
    sizes = sorted(took_s)
    early = [size for size in sizes if size * FIRST <= sizes[-1]]
    later = sizes[len(early) - 1 :]
    if not early or len(later) <= 2:  # noqa: PLR2004 (one between the two)
        return None
    steps = [((took_s[more] - took_s[less]) / (more - less) * 1e6, more) for less, more in pairwise(later)]
    return Growth((took_s[early[-1]] - start_s) / early[-1] * 1e6, early[-1], *max(steps))
