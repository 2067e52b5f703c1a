"""Collectives between accelerators: bus bandwidth at the sizes for which somebody has a figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.verdict.judgement import Judgement, Who, judged, unmeasured
from rackwright.verdict.matching import amount, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.expectations import Expectation, Key
    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence


@dataclass(frozen=True)
class AcceleratorBandwidth:
    """Collectives over all accelerators of a site reach the figures that are known for them.

    An average over sizes is never looked at, and of a figure for another number of ranks nothing follows.
    """

    check: str
    name: str = "accelerator-bandwidth"
    kind: Kind = Kind.SITE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each site of which there are values."""
        for subject, found in evidence.by_subject(self.check, "busbw", self.kind).items():
            yield self._of(subject, found, evidence)

    def _of(self, subject: Who, found: list[Measurement], evidence: Evidence) -> Judgement:
        bounds = [(one, bound) for one in found if (bound := evidence.bound(one)) is not None]
        slow = [(one, bound) for one, bound in bounds if not within(one, bound)]
        if slow:
            shown, bound = min(slow, key=_share)
            cause = f"{shown.context.collective} of {shown.context.size_bytes} bytes is slow"
            return judged(subject, self.name, Value.FAIL, cause, found, shown=shown, expectation=bound)
        lacking = self._lacking(subject, found, evidence)
        if lacking:
            return unmeasured(subject, self.name, lacking)
        if not bounds:
            cause = "no expectation: nobody published or measured a figure for so many of these accelerators"
            return judged(subject, self.name, Value.NOT_RUN, cause, found, shown=max(found, key=amount))
        unselected = self._unselected(found, evidence)
        if unselected:
            return judged(subject, self.name, Value.NOT_RUN, unselected, found)
        shown, bound = min(bounds, key=_share)
        cause = f"{len(bounds)} figures are reached"
        return judged(subject, self.name, Value.PASS, cause, found, shown=shown, expectation=bound)

    def _lacking(self, subject: Who, found: list[Measurement], evidence: Evidence) -> str:
        """Which nodes of the site took no part in a measurement; empty where none."""
        mine = {node for node in evidence.nodes if evidence.site_of[node] == subject.name}
        absent = sorted({node for one in found for node in mine - set(one.context.nodes)})
        return f"{', '.join(absent)} took no part" if absent else ""

    def _unselected(self, found: list[Measurement], evidence: Evidence) -> str:
        """Which figure of this check selects no value; empty where each selects one."""
        for one in evidence.expectations.expectations:
            key = one.key
            if self._is_of(key, found, evidence) and not any(
                evidence.bounds.fits(key, value) and value.unit is one.unit for value in found
            ):
                size = f" of {key.size_bytes} bytes" if key.size_bytes else ""
                return f"the figure for {key.collective or 'any collective'}{size} selects no value"
        return ""

    def _is_of(self, key: Key, found: list[Measurement], evidence: Evidence) -> bool:
        """Whether a figure is for machines like these and so many of their accelerators."""
        bandwidth = (key.check, key.name) == (self.check, "busbw")
        so_many = key.ranks is None or any(one.context.ranks == key.ranks for one in found)
        return bandwidth and so_many and evidence.bounds.are_kind_of(key, found)


def _share(one: tuple[Measurement, Expectation]) -> float:
    measurement, bound = one
    return amount(measurement) / (bound.nominal or 1)
