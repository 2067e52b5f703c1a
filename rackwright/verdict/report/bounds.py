"""Which expectation a measurement has, and how far it is from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rackwright.validate.expectations import Expectation, Key
from rackwright.validate.model import Measurement, Run
from rackwright.verdict.report.figures import figure

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


def level(value: float, expectation: Expectation | None) -> Level:
    """Level of a value of the expectation's unit; an offset counts by its distance from nought."""
    if expectation is None:
        return UNBOUND
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
    """``at least 75 Mbit/s``."""
    if expectation is None:
        return "no expectation"
    bounds = (("at least", expectation.at_least), ("at most", expectation.at_most))
    return " and ".join(
        f"{side} {figure(bound, expectation.unit)}" for side, bound in bounds if bound is not None
    )


class Bounds:
    """Expectations of a run, by what they are for."""

    def __init__(self, run: Run, expectations: Iterable[Expectation]) -> None:
        self._checks: Mapping[str, str] = {step.name: step.check for step in run.steps}
        ports = {(rail.fabric, rail.rail) for rail in run.rails}
        self._rails = {fabric: sum(1 for other, _ in ports if other == fabric) for fabric, _ in ports}
        self._by_name: dict[tuple[str, str], list[Expectation]] = {}
        for expectation in expectations:
            self._by_name.setdefault((expectation.key.check, expectation.key.name), []).append(expectation)

    def check(self, measurement: Measurement) -> str:
        """Check of the suite that it was made for."""
        return self._checks.get(measurement.step, "")

    def of(self, measurement: Measurement) -> Expectation | None:
        """The expectation that says most about it, if there is one in its unit."""
        known = self._by_name.get((self.check(measurement), measurement.name), [])
        fitting = [one for one in known if one.unit is measurement.unit and self._fits(one.key, measurement)]
        return max(fitting, key=lambda one: _said(one.key), default=None)

    def _fits(self, key: Key, measurement: Measurement) -> bool:
        context = measurement.context
        over = self._rails.get(context.fabric or "") if context.rail is None else 1
        asked = (
            (key.collective, context.collective or ""),
            (key.size_bytes, context.size_bytes),
            (key.fabric, context.fabric or ""),
            (key.rails, over),
        )
        return all(wanted is None or wanted == got for wanted, got in asked)


def _said(key: Key) -> int:
    return sum(part is not None for part in (key.collective, key.size_bytes, key.fabric, key.rails))
