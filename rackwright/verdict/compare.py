"""Two judged runs of the same machines in, what became worse or better out, beyond what is noise.

The band of noise of a figure is what the same figure differs by between the runs over all subjects, sizes
and partners (MAD of the ratios), where there are `FEWEST` values or more, and `UNKNOWN` where there are
fewer; never under `LEAST`, and never over `MOST`: half a fleet that became slow must not pass for noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import median
from typing import TYPE_CHECKING

from rackwright.errors import UsageError
from rackwright.validate.expectations import Provenance
from rackwright.validate.model import Unit
from rackwright.verdict.coverage import KINDS
from rackwright.verdict.evidence import Evidence
from rackwright.verdict.judgement import Who
from rackwright.verdict.matching import amount
from rackwright.verdict.model import Kind, Value
from rackwright.verdict.units import LESS_IS_BETTER, MORE_IS_BETTER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from rackwright.validate.model import Measurement, Run
    from rackwright.verdict.folder import Judged

FEWEST = 8
LEAST, UNKNOWN, MOST = 0.05, 0.1, 0.15
"""Bands of noise, as shares; ours. Healthy machines of one kind repeat themselves within 1 to 2 %."""
_DEVIATIONS = 3 * 1.4826
"""Three standard deviations of a normal distribution, by its MAD."""
_NOT_COMPARED = frozenset({"offset", "rate", "down"})
"""Of the moment, or of how long it was looked: they have figures, and no before and after."""
_VARYING = frozenset({"iterations", "started", "uncertainty_s", "reference"})


class Change(StrEnum):
    """What became of something."""

    WORSE = "worse"
    MISSING = "missing"
    """Of a figure: measured before, and not after. Of a verdict: after is neither PASS nor FAIL."""
    BETTER = "better"
    SAME = "within-noise"


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a subject, before and after."""

    check: str
    name: str
    about: str
    """What of the subject: collective, size, partner."""
    unit: Unit
    before: float
    after: float | None
    band: float
    change: Change

    @property
    def ratio(self) -> float | None:
        """After by before; None where one is missing or nought."""
        return self.after / self.before if self.after is not None and self.before else None

    @property
    def harm(self) -> float:
        """How much worse it became, by the logarithm of the ratio: below nought where it became better."""
        if self.after is None or self.after == self.before:
            return 0.0
        if min(self.after, self.before) <= 0:
            grown = math.copysign(math.inf, self.after - self.before)
        else:
            grown = math.log(self.after / self.before)
        return -grown if self.unit in MORE_IS_BETTER else grown


@dataclass(frozen=True, slots=True)
class Compared:
    """One subject, before and after."""

    name: str
    kind: Kind
    before: Value | None
    after: Value | None
    change: Change
    figures: tuple[Figure, ...]
    """Those that changed; the worst first."""
    same: int
    """How many did not."""

    @property
    def harm(self) -> float:
        """Of the figure that became worst; a verdict that changed so weighs more than any."""
        return max((one.harm for one in self.figures if one.change is self.change), default=math.inf)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs."""

    subjects: tuple[Compared, ...]
    """The worst first; of equals by kind and name."""
    images: tuple[str, ...]
    """What the specs of the runs say is different."""


def compare(before: Judged, after: Judged) -> Comparison:
    """What became of each subject.

    Raises:
        UsageError: the runs are not of the same machines, plan and suite.
    """
    refuse_unlike(before, after)
    figures = _figures(before, after)
    verdicts = [
        {Who(one.kind, one.name): one.verdict for one in run.verdict.subjects} for run in (before, after)
    ]
    whos = sorted(
        {*figures, *verdicts[0], *verdicts[1]}, key=lambda who: (list(Kind).index(who.kind), who.name)
    )
    subjects = [
        _subject(who, figures.get(who, []), verdicts[0].get(who), verdicts[1].get(who)) for who in whos
    ]
    order = list(Change)
    subjects.sort(key=lambda one: (order.index(one.change), -one.harm))
    return Comparison(tuple(subjects), tuple(_images(before.run, after.run)))


def refuse_unlike(before: Judged, after: Judged) -> None:
    """Refuse runs that tell nothing about each other, with what is different."""
    for what, ours, theirs in _contexts(before, after):
        if ours != theirs:
            raise UsageError(
                f"these runs are not of the same {what}",
                code="CMP001",
                where=f"{before.folder} and {after.folder}",
                got=f"{_short(ours)} and {_short(theirs)}",
                expected=f"the same {what} in both",
                hint="compare runs of the same nodes by the same suite, before and after a change",
            )


def _contexts(before: Judged, after: Judged) -> Iterator[tuple[str, object, object]]:
    one, other = before.run, after.run
    yield "cluster", one.cluster, other.cluster
    yield "suite", one.suite, other.suite
    if one.suite_sha256 and other.suite_sha256:
        yield "suite, in its sizes and times", one.suite_sha256, other.suite_sha256
    yield "slots", _slots(one), _slots(other)
    yield "platforms", one.platforms, other.platforms
    yield "rails", sorted(map(str, one.rails)), sorted(map(str, other.rails))
    yield "checks", sorted(one.checks), sorted(other.checks)
    yield "planned rates", _planned(before), _planned(after)


def _slots(run: Run) -> list[str]:
    return sorted(slot for slots in run.sites.values() for slot in slots)


def _planned(judged: Judged) -> list[str]:
    """What the plan of a run promises, whatever anybody asks of it."""
    return sorted(
        f"{one.key.identity} {one.nominal:g} {one.unit}"
        for one in judged.expectations.expectations
        if one.provenance is Provenance.PLAN
    )


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"  # noqa: PLR2004 (a line)


def _images(before: Run, after: Run) -> Iterator[str]:
    """What changed in the images: ``debian: kernel 6.8 -> 6.11``."""
    for image in sorted({*before.images, *after.images}):
        old, new = before.images.get(image), after.images.get(image)
        if old is None or new is None:
            yield f"{image}: {'added' if old is None else 'removed'}"
            continue
        for part in sorted({*old, *new}):
            if old.get(part) != new.get(part):
                yield f"{image}: {part} {old.get(part, 'none')} -> {new.get(part, 'none')}"


def _figures(before: Judged, after: Judged) -> dict[Who, list[Figure]]:
    shared = {*before.run.together, *after.run.together}
    old, new = _values(before, shared), _values(after, shared)
    bands = _bands(old, new)
    found: dict[Who, list[Figure]] = {}
    for (who, check, name, about, unit), value in old.items():
        later = new.get((who, check, name, about, unit))
        band = bands[check, name, unit]
        figure = Figure(check, name, about, unit, value, later, band, change_of(unit, value, later, band))
        found.setdefault(who, []).append(figure)
    return found


_Key = tuple[Who, str, str, str, Unit]


def _values(judged: Judged, shared: Collection[str]) -> Mapping[_Key, float]:
    """Subject and what of it → its value; of several the median.

    Args:
        judged: the run.
        shared: checks by which several nodes were measured at once, and so measured one another.
    """
    evidence = Evidence(judged.run, judged.measurements, judged.expectations)
    found: dict[_Key, list[float]] = {}
    for one in judged.measurements.measurements:
        check = evidence.bounds.check(one)
        numeric = one.unit in MORE_IS_BETTER | LESS_IS_BETTER
        if numeric and one.name not in _NOT_COMPARED and check in KINDS.keys() - shared:
            for who in evidence.about(one, KINDS[check]):
                found.setdefault((who, check, one.name, _about(one), one.unit), []).append(amount(one))
    return {key: median(values) for key, values in found.items()}


def _about(one: Measurement) -> str:
    """What of its subject a value is of; an upgrade may change the algorithm, which is no other figure."""
    context = one.context
    said = {
        name: value
        for name, value in context.parameters.items()
        if name not in _VARYING and name != "interface"
    }
    parts = (
        context.collective,
        f"{context.size_bytes} bytes" if context.size_bytes else None,
        f"to {context.peer}" if context.peer else None,
        context.direction,
        f"{context.fabric} rail {context.rail}"
        if context.fabric and context.rail is not None
        else context.fabric,
        *(f"{name} {value}" for name, value in sorted(said.items())),
    )
    return ", ".join(part for part in parts if part)


def _bands(old: Mapping[_Key, float], new: Mapping[_Key, float]) -> dict[tuple[str, str, Unit], float]:
    """Check, name and unit → its band."""
    ratios: dict[tuple[str, str, Unit], list[float]] = {}
    for key, value in old.items():
        later = new.get(key)
        found = ratios.setdefault((key[1], key[2], key[4]), [])
        if later is not None and later > 0 and value > 0:
            found.append(math.log(later / value))
    return {kind: band(found) for kind, found in ratios.items()}


def band(ratios: Iterable[float]) -> float:
    """Band of noise by the logarithms of after by before of all subjects."""
    found = list(ratios)
    if len(found) < FEWEST:
        return UNKNOWN
    middle = median(found)
    mad = median(abs(one - middle) for one in found)
    return min(MOST, max(LEAST, _DEVIATIONS * mad))


def change_of(unit: Unit, before: float, after: float | None, band: float) -> Change:
    """What became of a figure."""
    if after is None:
        return Change.MISSING
    more, less = after > before * (1 + band), after < before * (1 - band)
    if not more and not less:
        return Change.SAME
    return Change.BETTER if more is (unit in MORE_IS_BETTER) else Change.WORSE


def _subject(who: Who, figures: list[Figure], before: Value | None, after: Value | None) -> Compared:
    order = list(Change)
    changed = sorted(
        (one for one in figures if one.change is not Change.SAME),
        key=lambda one: (order.index(one.change), -one.harm),
    )
    changes = [one.change for one in changed]
    changes.append(_of_verdicts(before, after))
    return Compared(
        name=who.name,
        kind=who.kind,
        before=before,
        after=after,
        change=min(changes, key=order.index),
        figures=tuple(changed),
        same=len(figures) - len(changed),
    )


def _of_verdicts(before: Value | None, after: Value | None) -> Change:
    """A fault is worse, also of what was not there before; what could not be measured is never better."""
    if after is before or (before is None and after is Value.PASS):
        return Change.SAME
    if after in (Value.PASS, Value.FAIL):
        return Change.BETTER if after is Value.PASS else Change.WORSE
    return Change.SAME if (before, after) == (Value.ERROR, Value.NOT_RUN) else Change.MISSING
