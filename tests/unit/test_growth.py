"""What benchmarks say of growth: linear and n log n are within it, and what is steeper is not."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

import pytest

from benchmarks.growth import STEEPER, Growth, growth

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (32, 128, 512, 1024, 2048, 4096, 8192, 16_384)
MOST, START_S = SIZES[-1], 0.4


def grown(seconds: Callable[[int], float]) -> Growth:
    found = growth(START_S, {size: START_S + seconds(size) for size in SIZES})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("seconds", "times", "over"),
    [
        (lambda n: 80e-6 * n, 1.0, False),
        (lambda n: 6e-6 * n * log2(n), 1.25, False),
        (lambda n: 1e-6 * n**1.5, 2.59, True),
        (lambda n: 5e-9 * n**2, 6.0, True),
        (lambda n: 80e-6 * n * (1 + 1.1 * n / MOST), 2.06, True),
        (lambda n: 80e-6 * n if n < MOST else 160e-6 * n, 3.0, True),
    ],
    ids=["linear", "n log n", "n ** 1.5", "square", "a square part as big as the linear one", "a cliff"],
)
def test_what_is_steeper_than_n_log_n_is_over(
    seconds: Callable[[int], float], times: float, *, over: bool
) -> None:
    found = grown(seconds)
    assert found.steeper == pytest.approx(times, rel=0.02)
    assert (found.up_to, found.reached) == (4096, MOST)
    assert (found.steeper > STEEPER) is over


def test_what_was_not_seen_to_cost_anything_at_first_is_over() -> None:
    assert grown(lambda n: 0.0 if n <= 4096 else 80e-6 * n).steeper > STEEPER


def test_too_few_sizes_say_nothing() -> None:
    assert growth(START_S, {4096: 1.0, 16_384: 2.0}) is None
    assert growth(START_S, {8192: 1.0, 9000: 1.1, 16_384: 2.0}) is None
    assert growth(START_S, {}) is None
