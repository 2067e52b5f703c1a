"""The same thing measured again and again: a figure that comes and goes is a fault of its own."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, ClassVar

from rackwright.catalogue.model import Check
from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import amount
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence

FEWEST = 3
"""Repeats below which nothing is said."""
MOST_CV = 0.05
"""Deviation by the mean, from where on NVIDIA's own analysis calls a process a straggler (nccl-tests,
tools/analyze_perf_json.py: cv > 5 %)."""
SPEEDS: tuple[tuple[str, str, Kind], ...] = (
    (Check.MATRIX, "gflops", Kind.NODE),
    (Check.NCCL_TESTS, "busbw", Kind.SITE),
    (Check.NCCOM_TEST, "busbw", Kind.SITE),
)


@dataclass(frozen=True)
class Stability:
    """What was measured three times or more is nearly the same each time."""

    name: ClassVar[str] = "repeat-stability"

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each subject of which something was repeated."""
        for check, name, kind in SPEEDS:
            if check in evidence.run.checks:
                for who, found in evidence.by_subject(check, name, kind).items():
                    yield from self._of(who, found)

    def _of(self, who: Who, found: list[Measurement]) -> Iterator[Judgement]:
        series = [values for values in _series(found).values() if len(values) >= FEWEST]
        if not series:
            return
        worst = max(series, key=lambda values: spread(list(map(amount, values))))
        cv = spread(list(map(amount, worst)))
        shown = min(worst, key=amount)
        what = f"{shown.name} of {len(worst)} repeats"
        cause = f"{what} differs by {cv:.1%} of its mean" if cv > MOST_CV else f"{what} is stable, {cv:.1%}"
        value = Value.FAIL if cv > MOST_CV else Value.PASS
        yield judged(who, self.name, value, cause, worst, shown=shown).expecting(
            f"a standard deviation of at most {MOST_CV:.0%} of the mean",
            "published: nccl-tests, tools/analyze_perf_json.py",
        )


def spread(values: Sequence[float]) -> float:
    """Standard deviation by the mean."""
    mean = fmean(values)
    return stdev(values) / mean if mean else float("inf")


def _series(found: list[Measurement]) -> dict[str, list[Measurement]]:
    """Values of different steps that differ in nothing else; of a step that was tried again, all tries."""
    series: dict[str, list[Measurement]] = {}
    for one in found:
        fixed = {
            key: value
            for key, value in one.context.parameters.items()
            if key not in {"iterations", "started"}
        }
        alike = one.context.model_copy(update={"parameters": fixed})
        series.setdefault(alike.model_dump_json(), []).append(one)
    return {key: values for key, values in series.items() if len({one.step for one in values}) == len(values)}
