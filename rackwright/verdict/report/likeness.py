"""Measurements that are no quantity in, who has which value out: hashes, carrier, counts of faults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rackwright.validate.model import Unit
from rackwright.verdict.matching import Bounds
from rackwright.verdict.report.alone import Alone
from rackwright.verdict.report.figures import Measured, figure, listed, number
from rackwright.verdict.report.levels import FAR, LEVELS, MISSED, UNBOUND, Level, level, worst

_HASH = 16
_MOST_GROUPS = 16
"""Of a measurement that are shown: of counters each port may have its own."""


@dataclass(frozen=True, slots=True)
class Group:
    """Subjects with the same value."""

    value: str
    subjects: str
    level: Level


@dataclass(frozen=True, slots=True)
class Likeness:
    """All subjects of a measurement: values outside their bound first, then the rarest."""

    title: str
    groups: tuple[Group, ...]
    rest: tuple[str, ...]
    """One sentence on the values that are not shown; none where all are."""
    level: Level


@dataclass(slots=True)
class _Holders:
    """Who has a value."""

    text: str
    subjects: list[str] = field(default_factory=list)
    level: Level = UNBOUND


def likenesses(measurements: Iterable[Alone], bounds: Bounds) -> tuple[Likeness, ...]:
    """One for each measurement that is no quantity, worst first."""
    found: defaultdict[str, dict[str, _Holders]] = defaultdict(dict)
    for one in measurements:
        value, unit = one.measurement.value, one.measurement.unit
        if isinstance(value, (bool, str)) or unit is Unit.COUNT:
            text = _text(value, unit)
            holders = found[one.title].setdefault(str(value), _Holders(text))
            holders.subjects.append(one.where)
            holders.level = worst((holders.level, level(value, bounds.of(one.measurement))))
    made = [_likeness(title, values) for title, values in found.items()]
    return tuple(sorted(made, key=lambda likeness: LEVELS.index(likeness.level)))


def _text(value: Measured, unit: Unit) -> str:
    """As it is shown; the start of a hash is enough to tell two apart."""
    return f"{value[:_HASH]}…" if unit is Unit.SHA256 and isinstance(value, str) else figure(value, unit)


def _likeness(title: str, values: Mapping[str, _Holders]) -> Likeness:
    ordered = sorted(values.values(), key=lambda one: (LEVELS.index(one.level), len(one.subjects), one.text))
    return Likeness(
        title=title,
        groups=tuple(
            Group(one.text, listed(sorted(one.subjects)), one.level) for one in ordered[:_MOST_GROUPS]
        ),
        rest=_rest(ordered[_MOST_GROUPS:]),
        level=worst(one.level for one in ordered),
    )


def _rest(left: Sequence[_Holders]) -> tuple[str, ...]:
    if not left:
        return ()
    bad = sum(one.level in {FAR, MISSED} for one in left)
    outside = f", {number(bad, 12)} of them outside their bound" if bad else ""
    return (f"And {number(len(left), 12)} more values{outside}: measurements.json has each of them.",)
