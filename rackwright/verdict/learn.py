"""Runs of a fleet in, figures that its healthy machines reach out: by median and MAD, or not at all.

A figure is for what differs in nothing that changes it (`Key`). It is refused where fewer than
`FEWEST` subjects have one, where the fleet is of two kinds, and where it is spread so wide that a gate
would let half-broken machines pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectation, Key, Learned, Provenance
from rackwright.validate.model import Artefact
from rackwright.verdict.matching import Bounds, amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rackwright.validate.model import Measurement, Unit
    from rackwright.verdict.folder import Judged

FEWEST = 8
"""Subjects below which a median says nothing (docs/verdict.md)."""
_NORMAL = 1.4826
"""Standard deviation of a normal distribution by its MAD."""
FAR = 5
"""Standard deviations below the median that a gate stands; ours."""
CLOSE = 0.95
"""Of the median, above which no gate stands: of equal machines the next one is not just as equal; ours."""
LEAST = 0.7
"""Of the median, below which a gate would let half-broken machines pass (docs/verdict.md)."""
SECOND_KIND = 0.2
"""Share of subjects that make a second kind; fewer are broken ones, which a median does not see."""
GAP = 0.05
"""Of the median, between two kinds at least; healthy machines of one kind lie within 1 to 2 %."""
SPEEDS = frozenset(
    {
        (Check.MATRIX, "gflops"),
        (Check.MEMORY, "bogo_ops"),
        (Check.DISK, "read_bandwidth"),
        (Check.DISK, "write_bandwidth"),
        (Check.PAIRS, "bandwidth"),
        (Check.COLLECTIVES, "busbw"),
        (Check.NCCL_TESTS, "busbw"),
        (Check.NCCOM_TEST, "busbw"),
    }
)
"""Check and measurement of which more is better."""
_TELLING = frozenset({"kernel", "driver", "ofed", "cuda", "nccl", "neuron", "efa"})
"""Of an image, what changes a figure: another kernel alone has halved one (nccl-tests#362)."""
_VARYING = frozenset({"iterations", "started", "interfaces"})
"""Parameters that make no other figure."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A figure that was not learned."""

    key: Key
    reason: str
    kind: str
    """``few``, ``two-kinds`` or ``spread``."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What a fleet has taught."""

    learned: tuple[Expectation, ...]
    left_out: tuple[LeftOut, ...]


def learn(runs: Iterable[Judged], without: frozenset[str] = frozenset()) -> Lesson:
    """Figures of all that these runs have measured of a speed.

    Args:
        runs: verified, of one fleet.
        without: slots whose values do not count.
    """
    found = [_figure(key, unit, values, date) for key, unit, values, date in _series(runs, without)]
    return Lesson(
        learned=tuple(one for one in found if isinstance(one, Expectation)),
        left_out=tuple(one for one in found if isinstance(one, LeftOut)),
    )


def _series(
    runs: Iterable[Judged], without: frozenset[str]
) -> Iterator[tuple[Key, Unit, Mapping[str, list[tuple[Measurement, Artefact]]], str]]:
    """Values by what they are of and by subject, with the date of the youngest run."""
    series: dict[str, dict[str, list[tuple[Measurement, Artefact]]]] = {}
    about: dict[str, tuple[Key, Unit]] = {}
    dates: dict[str, str] = {}
    for one in runs:
        bounds = Bounds(one.run, ())
        for measurement in one.measurements.measurements:
            subject = _subject(measurement)
            if bounds.check(measurement) in one.run.together:
                continue  # nodes that were measured at once, and share anything, measured one another
            if (bounds.check(measurement), measurement.name) not in SPEEDS or without & set(
                _slots(measurement)
            ):
                continue
            key = key_of(measurement, bounds)
            name = f"{key.identity} {measurement.unit}"
            kept = Artefact(
                path=f"{one.folder.name}/{measurement.artefact.path}", sha256=measurement.artefact.sha256
            )
            series.setdefault(name, {}).setdefault(subject, []).append((measurement, kept))
            about[name] = key, measurement.unit
            dates[name] = max(dates.get(name, ""), one.run.started[:10])
    for name, values in sorted(series.items()):
        yield (*about[name], values, dates[name])


def key_of(measurement: Measurement, bounds: Bounds) -> Key:
    """All of a measurement that makes its figure another one."""
    context = measurement.context
    fixed = {name: value for name, value in context.parameters.items() if name not in _VARYING}
    return Key(
        name=measurement.name,
        check=bounds.check(measurement),
        platform=bounds.platform(measurement) or None,
        collective=context.collective,
        algorithm=context.algorithm,
        size_bytes=context.size_bytes,
        fabric=context.fabric,
        rails=bounds.rails(measurement) if context.fabric else None,
        ranks=context.ranks,
        pattern=context.pattern,
        parameters=fixed,
        versions={name: version for name, version in bounds.versions.items() if name in _TELLING},
    )


def _slots(measurement: Measurement) -> tuple[str, ...]:
    context = measurement.context
    return tuple(sorted({*context.nodes, *(one for one in (context.node, context.peer) if one)}))


def _subject(measurement: Measurement) -> str:
    """Whom a value is of: a node, a pair, or a group of nodes."""
    return "+".join(_slots(measurement)) or "all"


def _figure(
    key: Key, unit: Unit, values: Mapping[str, list[tuple[Measurement, Artefact]]], date: str
) -> Expectation | LeftOut:
    """The figure of one series, or why there is none."""
    own = {who: median(amount(one) for one, _ in found) for who, found in sorted(values.items())}
    slots = {slot for found in values.values() for one, _ in found for slot in _slots(one)}
    if min(len(own), len(slots)) < FEWEST:
        return LeftOut(key, f"{len(own)} subjects of {len(slots)} slots, and it takes {FEWEST}", "few")
    minority = second_kind(own)
    middle = median(own.values())
    if minority:
        shown = ", ".join(sorted(minority)[:10])
        return LeftOut(key, f"two kinds: {len(minority)} of {len(own)} stand apart: {shown}", "two-kinds")
    mad = median(abs(value - middle) for value in own.values())
    gate = min(CLOSE * middle, middle - FAR * _NORMAL * mad)
    if gate < LEAST * middle:
        spread = f"a gate would stand at {gate:.4g} where the median is {middle:.4g}"
        return LeftOut(key, f"spread too wide: {spread}", "spread")
    evidence = {kept.path: kept for found in values.values() for _, kept in found}
    return Expectation(
        key=key,
        unit=unit,
        at_least=float(f"{gate:.6g}"),
        nominal=float(f"{middle:.6g}"),
        provenance=Provenance.LEARNED,
        source=f"median {middle:.4g} and MAD {mad:.2g} of {len(own)} subjects",
        date=date,
        learned=Learned(
            subjects=len(own),
            median=middle,
            mad=mad,
            date=date,
            values=own,
            evidence=tuple(evidence[path] for path in sorted(evidence)),
        ),
    )


def second_kind(values: Mapping[str, float]) -> frozenset[str]:
    """Who stands apart from the rest, where that is no handful: empty for a fleet of one kind.

    Two kinds lie further apart than either is wide, and by a notable share of the median.
    """
    ordered = sorted(values, key=lambda who: values[who])
    steps = [values[above] - values[below] for below, above in pairwise(ordered)]
    if not steps:
        return frozenset()
    widest = max(range(len(steps)), key=steps.__getitem__)
    low, high = ordered[: widest + 1], ordered[widest + 1 :]
    fewer = min(low, high, key=len)
    apart = steps[widest] >= max(_width(low, values), _width(high, values), GAP * median(values.values()))
    return frozenset(fewer) if apart and len(fewer) >= max(2, SECOND_KIND * len(ordered)) else frozenset()


def _width(names: Sequence[str], values: Mapping[str, float]) -> float:
    return values[names[-1]] - values[names[0]]
