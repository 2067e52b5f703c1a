"""The shape of bandwidth over size: between accelerators more bytes are never far slower than fewer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import amount
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence

DIP = 0.7
"""Share of what any smaller size reached that a size must reach; ours: the one curve published of a fleet
(729 A100 nodes, microsoft/superbench-results v0.4) only rises."""
FEWEST = 3
"""Sizes below which there is no shape."""


def dips(curve: Mapping[int, float]) -> tuple[int, ...]:
    """Sizes at which a curve is far below what it had reached before.

    Args:
        curve: size in bytes → bus bandwidth.
    """
    best, found = 0.0, []
    for size in sorted(curve):
        if curve[size] < DIP * best:
            found.append(size)
        best = max(best, curve[size])
    return tuple(found)


def jumps(curve: Mapping[int, float]) -> tuple[int, ...]:
    """Sizes that take far longer than a greater one: a knee where latency ends too early.

    Args:
        curve: size in bytes → bus bandwidth, by which size/bandwidth is as a time, but for a factor.
    """
    least, found = float("inf"), []
    for size in sorted(curve, reverse=True):
        time = size / curve[size] if curve[size] > 0 else float("inf")
        if DIP * time > least:
            found.append(size)
        least = min(least, time)
    return tuple(sorted(found))


@dataclass(frozen=True)
class BandwidthCurve:
    """Between accelerators no size is far slower than a smaller one, or far later than a greater one."""

    check: str = Check.NCCL_TESTS
    name: str = "accelerator-curve"
    kind: Kind = Kind.SITE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each site of which there are values."""
        for subject, found in evidence.by_subject(self.check, "busbw", self.kind).items():
            yield self._of(subject, found)

    def _of(self, subject: Who, found: list[Measurement]) -> Judgement:
        """The deepest dip of all curves; of collectives with too few sizes nothing is said."""
        curves = [curve for curve in _curves(found).values() if len(curve) >= FEWEST]
        fallen = [one for curve in curves for one in _fallen(curve)]
        if fallen:
            shown = min(fallen, key=amount)
            context = shown.context
            cause = f"{context.collective} of {context.size_bytes} bytes is far slower than a smaller size"
            return self._failed(
                subject, cause, shown, found, f"at least {DIP:.0%} of what a smaller size reached"
            )
        late = [one for curve in curves for one in _late(curve)]
        if late:
            shown = min(late, key=amount)
            context = shown.context
            cause = f"{context.collective} of {context.size_bytes} bytes takes far longer than a greater size"
            return self._failed(
                subject, cause, shown, found, f"at most {1 / DIP:.0%} of the time of a greater size"
            )
        if not curves:
            cause = f"no collective was measured at {FEWEST} sizes or more: there is no curve to look at"
            return judged(subject, self.name, Value.NOT_RUN, cause, found)
        cause = f"{len(curves)} curves without a dip or a jump"
        return judged(subject, self.name, Value.PASS, cause, found)

    def _failed(
        self, subject: Who, cause: str, shown: Measurement, found: list[Measurement], expected: str
    ) -> Judgement:
        return judged(subject, self.name, Value.FAIL, cause, found, shown=shown).expecting(expected)


def _fallen(curve: list[Measurement]) -> list[Measurement]:
    sizes = dips(_by_size(curve))
    return [one for one in curve if one.context.size_bytes in sizes]


def _late(curve: list[Measurement]) -> list[Measurement]:
    sizes = jumps(_by_size(curve))
    return [one for one in curve if one.context.size_bytes in sizes]


def _by_size(curve: list[Measurement]) -> dict[int, float]:
    return {one.context.size_bytes or 0: amount(one) for one in curve}


def _curves(found: list[Measurement]) -> dict[str, list[Measurement]]:
    """Values that differ in nothing but size."""
    curves: dict[str, list[Measurement]] = {}
    for one in found:
        alike = one.context.model_copy(update={"size_bytes": None})
        curves.setdefault(f"{one.step} {alike.model_dump_json()}", []).append(one)
    return curves
