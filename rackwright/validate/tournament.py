"""Who meets whom and when: nodes in, rounds of pairs out, in which no node stands twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Pair = tuple[str, str]


def rounds(names: Sequence[str], most: int | None = None) -> list[list[Pair]]:
    """A round-robin tournament by the circle method: every pair once, in as few rounds as there can be.

    Args:
        names: each once; the pairs of a round are in their order, and so are the two of a pair.
        most: partners of each name, where not all are to meet. An odd one out of a round has one
            partner less, unless a further round gives it one.

    Returns:
        n - 1 rounds of n / 2 pairs for an even number n of names; n rounds of (n - 1) / 2 for an odd one.
    """
    seats: list[str | None] = list(names)
    if len(seats) % 2:
        seats.append(None)
    played = []
    for _ in range(len(seats) - 1):
        played.append(_round(seats, names))
        seats.insert(1, seats.pop())
    # With an odd one out in each round it takes one round more until all have met so many.
    needed = len(played) if most is None else most + len(names) % 2
    return [pairs for pairs in played[:needed] if pairs]


def _round(seats: list[str | None], names: Sequence[str]) -> list[Pair]:
    order = {name: place for place, name in enumerate(names)}
    half = len(seats) // 2
    facing = zip(seats[:half], reversed(seats[half:]), strict=True)
    pairs = [(a, b) if order[a] < order[b] else (b, a) for a, b in facing if a is not None and b is not None]
    return sorted(pairs, key=lambda pair: order[pair[0]])
