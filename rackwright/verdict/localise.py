"""Pairs that are good or bad in, the ends that are to blame out.

An end that is slow is slow to all its partners. So an end of a good pair is good; and where one end
of a bad pair is good, the other is to blame. What that leaves open is said to be open: with two
ends, or with only bad pairs, nobody can tell which end it is, and a pair that is bad although both
its ends do well elsewhere is about the way between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ends, in order of their names."""

    a: str
    b: str

    @property
    def ends(self) -> frozenset[str]:
        """Both."""
        return frozenset((self.a, self.b))

    def key(self) -> tuple[str, str]:
        """By which pairs are sorted."""
        return self.a, self.b


@dataclass(frozen=True, slots=True)
class Located:
    """Who is to blame."""

    blamed: frozenset[str]
    """Ends that are bad: each has a good end as partner in a bad pair, and no good pair."""
    suspects: tuple[Pair, ...]
    """Bad pairs of which neither end could be singled out."""
    good: frozenset[str]
    """Ends of good pairs."""


def pair(one: str, other: str) -> Pair:
    """A pair of two ends, whatever their order."""
    return Pair(*sorted((one, other)))


def locate(good: Iterable[Pair], bad: Iterable[Pair]) -> Located:
    """Find the ends that explain the bad pairs; the result does not depend on any order."""
    slow = set(bad)
    certified = frozenset().union(*(one.ends for one in good))
    blamed = frozenset(end for one in slow for end in one.ends - certified if one.ends - {end} <= certified)
    suspects = [one for one in slow if not one.ends & blamed]
    return Located(blamed, tuple(sorted(suspects, key=Pair.key)), certified)
