"""Criteria that hold each value of a name against its bound, subject by subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import beyond, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence


@dataclass(frozen=True)
class Bounded:
    """Every value of one name that one check brings is within its bound.

    Args:
        name: of the criterion.
        check: whose values it looks at.
        kind: of the subjects it judges.
        measurement: name of the values.
        good: what is said of a subject that passes.
        bad: what is said of one that fails; ``{value}`` is the value, ``{count}`` how many fail.
        nothing: what is said where a value of nought means that nothing was measured; empty where it counts.
    """

    name: str
    check: str
    kind: Kind
    measurement: str
    good: str
    bad: str
    nothing: str = ""

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """One judgement for each subject of which there are values."""
        for subject, found in evidence.by_subject(self.check, self.measurement, self.kind).items():
            yield self._of(subject, found, evidence)

    def _of(self, subject: Who, found: list[Measurement], evidence: Evidence) -> Judgement:
        absent = [one for one in found if self.nothing and one.value == 0]
        if absent:
            known = evidence.bound(absent[0])
            return judged(
                subject, self.name, Value.ERROR, self.nothing, found, shown=absent[0], expectation=known
            )
        bounds = [(one, bound) for one in found if (bound := evidence.bound(one)) is not None]
        if len(bounds) < len(found):
            cause = f"there is no figure that {self.measurement} could be held against"
            return judged(subject, self.name, Value.NOT_RUN, cause, found, shown=found[0])
        failing = [(one, bound) for one, bound in bounds if not within(one, bound)]
        shown, bound = max(failing or bounds, key=lambda pair: beyond(*pair))
        value = Value.FAIL if failing else Value.PASS
        cause = self.bad.format(value=shown.value, count=len(failing)) if failing else self.good
        return judged(subject, self.name, value, cause, found, shown=shown, expectation=bound)
