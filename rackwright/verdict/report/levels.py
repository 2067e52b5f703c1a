"""A value and its expectation in, how the one stands to the other out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rackwright.validate.expectations import Expectation
from rackwright.validate.model import Unit
from rackwright.verdict.report.figures import Measured, clipped, figure

_HALF = 0.5


@dataclass(frozen=True, slots=True)
class Level:
    """How a value stands to its bound; told by word and mark, the colour only repeats it."""

    css: str
    mark: str
    word: str

    @property
    def sign(self) -> str:
        """For a legend."""
        return self.mark or "no mark"

    @property
    def said(self) -> tuple[str, ...]:
        """What the mark says, for who does not see it; nothing where there is no mark."""
        return (self.word,) if self.mark else ()


MET = Level("met", "", "within its bound")
MISSED = Level("missed", "▼", "outside its bound")
FAR = Level("far", "▼▼", "outside its bound by a factor of two or more")
UNBOUND = Level("unbound", "", "nothing to judge it by")
LEVELS = (FAR, MISSED, MET, UNBOUND)
"""Worst first."""


def level(value: Measured, expectation: Expectation | None) -> Level:
    """Level of a value of the expectation's unit; an offset counts by its distance from nought."""
    if expectation is None:
        return UNBOUND
    if isinstance(value, str) or expectation.one_of:
        return MET if value in expectation.one_of else MISSED
    least, most = expectation.at_least, expectation.at_most
    if least is not None and value < least:
        return FAR if value < least * _HALF else MISSED
    if most is not None and abs(value) > most:
        return FAR if abs(value) * _HALF > most else MISSED
    return MET


def worst(levels: Iterable[Level]) -> Level:
    """The worst of some levels."""
    return min(levels, key=LEVELS.index, default=UNBOUND)


def words(expectation: Expectation | None) -> str:
    """``at least 75 Mbit/s``, ``efa or tcp``, ``yes``."""
    if expectation is None:
        return "no expectation"
    if expectation.one_of:
        return " or ".join(map(clipped, expectation.one_of))
    if expectation.unit is Unit.YES_NO:
        return "yes" if expectation.at_least else "no"
    if expectation.at_least is not None and expectation.at_least == expectation.at_most:
        return f"exactly {figure(expectation.at_least, expectation.unit)}"
    bounds = (("at least", expectation.at_least), ("at most", expectation.at_most))
    return " and ".join(
        f"{side} {figure(bound, expectation.unit)}" for side, bound in bounds if bound is not None
    )
