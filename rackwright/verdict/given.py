"""A file of expectations in, those of a run with it out; what means nothing for the run is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright import documents
from rackwright.errors import UsageError
from rackwright.validate.expectations import Expectations, Provenance
from rackwright.validate.expected import refuse_absurd
from rackwright.validate.model import Unit
from rackwright.verdict.matching import Bounds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rackwright.validate.expectations import Expectation, Key
    from rackwright.validate.model import Measurement, Measurements, Run

_FORM = "a file of expectations: docs/verdict.md"
_WORDS = frozenset({Unit.WORD, Unit.SHA256})


def read(path: Path) -> Expectations:
    """The expectations of a file.

    Raises:
        UsageError: it is none; one without a unit, or without a bound, among them, or one that no value
            meets; it is empty, or has two figures for the same.
    """
    found = documents.read(Expectations, path, "EXP002", _FORM)
    if not found.expectations:
        raise _useless(path, "no expectation", "one expectation at least")
    counts = Counter(one.key.identity for one in found.expectations)
    for one in found.expectations:
        if counts[one.key.identity] > 1:
            raise _useless(path, f"{counts[one.key.identity]} figures for {_named(one)}", "one for each key")
        problem = _unmeetable(one)
        if problem:
            raise _useless(path, f"{_named(one)}: {problem}", "a bound that a healthy value is within")
    return found


def _unmeetable(one: Expectation) -> str:
    """Why no value is ever within a bound; empty where some are."""
    least, most = one.at_least, one.at_most
    if bool(one.one_of) is not (one.unit in _WORDS):
        return (
            f"words for a value in {one.unit}" if one.one_of else f"a number for a value that is a {one.unit}"
        )
    if most is not None and most < 0:
        return f"at most {most:g}, where values count by their distance from nought"
    if least is not None and most is not None and least > most:
        return f"at least {least:g} and at most {most:g}"
    return ""


def _named(one: Expectation) -> str:
    return f"{one.key.name} of {one.key.check}"


def _useless(path: Path, got: str, expected: str) -> UsageError:
    return UsageError(
        "this file of expectations means nothing", code="EXP002", where=str(path), got=got, expected=expected
    )


def over(planned: Expectations, path: Path, run: Run, measurements: Measurements) -> Expectations:
    """The plan's expectations with those of a file, which win where both are about the same.

    Raises:
        UsageError: one of the file is for another unit, size or subject than any that was measured, or
            is a gate that no algorithm passes, or that half-broken machines do.
    """
    given = read(path).expectations
    ranks = max((one.context.ranks or 0 for one in measurements.measurements), default=0)
    for expectation in given:
        healthy = _published(planned.expectations, expectation)
        refuse_absurd(expectation, ranks, planned.expectations, healthy, planned.ceilings)
        _Selection(expectation, run, measurements, path).refuse_idle()
    own = {expectation.key.identity: expectation for expectation in given}
    kept = [one for one in planned.expectations if own.keys().isdisjoint(_identities(one.key))]
    both = (*kept, *map(_as_operators, own.values()))
    return Expectations(expectations=both, ceilings=planned.ceilings)


def _identities(key: Key) -> set[str]:
    """What a figure of a file may be about to stand in place of the plan's: the same, or the same of all."""
    wider = {"pool": None}, {"platform": None}, {"pool": None, "platform": None}
    return {key.identity, *(key.model_copy(update=one).identity for one in wider)}


@dataclass(frozen=True)
class _Selection:
    """What one expectation of a file selects of a run."""

    expectation: Expectation
    run: Run
    measurements: Measurements
    path: Path

    def refuse_idle(self) -> None:
        """Refuse it where it selects nothing, unless its check was asked for and brought nothing at all."""
        bounds, key = Bounds(self.run, ()), self.expectation.key
        brought = [one for one in self.measurements.measurements if bounds.check(one) == key.check]
        named = [one for one in brought if one.name == key.name]
        if not brought and key.check in self.run.checks:
            return
        if not named:
            checks = ", ".join(self.run.checks)
            raise self._idle(f"{key.name} of {key.check}", f"a measurement of {checks}")
        self._refuse_size(named)
        if not any(bounds.fits(key, one) for one in named):
            said = key.model_dump(mode="json", exclude_none=True, exclude={"name", "check"})
            shown = ", ".join(f"{name}={value}" for name, value in said.items() if value)
            raise self._idle(shown, f"a key that fits one of the {len(named)} values of this run")
        if not any(bounds.fits(key, one) and one.unit is self.expectation.unit for one in named):
            units = sorted({one.unit.value for one in named})
            raise self._idle(
                f"unit {self.expectation.unit}", f"unit {' or '.join(units)}: nothing is converted"
            )

    def _refuse_size(self, named: list[Measurement]) -> None:
        sizes = {one.context.size_bytes for one in named if one.context.size_bytes is not None}
        size = self.expectation.key.size_bytes
        if size is not None and sizes and not min(sizes) <= size <= max(sizes):
            raise UsageError(
                "an expectation is for a size outside of what was measured",
                code="EXP004",
                where=str(self.path),
                got=f"size_bytes={size}",
                expected=f"{min(sizes)} to {max(sizes)} bytes, as the sweep of this run has it",
                hint="a gate of large messages says nothing of small ones, nor the other way round",
            )

    def _idle(self, got: str, expected: str) -> UsageError:
        key = self.expectation.key
        return UsageError(
            f"an expectation for {key.name} of {key.check} selects no value",
            code="EXP003",
            where=str(self.path),
            got=got,
            expected=expected,
            hint="sizes, ranks and rails are those that were measured: `rackwright judge` lists them",
        )


def _published(planned: Iterable[Expectation], expectation: Expectation) -> dict[tuple[str, str], float]:
    """Published figures that an expectation is about, by fabric and collective; of several the highest."""
    key, found = expectation.key, dict[tuple[str, str], float]()
    for one in planned:
        alike = (one.key.name, one.key.check, one.unit) == ("busbw", key.check, expectation.unit)
        published = one.provenance is Provenance.PUBLISHED and key.size_bytes in (None, one.key.size_bytes)
        of_these = key.platform is None or one.key.platform in (None, key.platform)
        if alike and published and of_these:
            place = one.key.fabric or "", one.key.collective or ""
            found[place] = max(one.nominal, found.get(place, 0.0))
    return found


def _as_operators(expectation: Expectation) -> Expectation:
    """What comes in a file was not computed from the plan, nor is it a definition."""
    if expectation.provenance in (Provenance.PLAN, Provenance.DEFINED):
        return expectation.model_copy(update={"provenance": Provenance.OPERATOR})
    return expectation
