"""One result on all nodes: who differs from the majority computes wrongly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from rackwright.catalogue.model import Check
from rackwright.verdict.judgement import MOST_EVIDENCE, Judgement, Who, judged
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.model import Context, Measurement
    from rackwright.verdict.evidence import Evidence


@dataclass(frozen=True)
class ResultHash:
    """Equal inputs give equal results on all nodes."""

    name: ClassVar[str] = "result-hash"
    check: ClassVar[str] = Check.MATRIX
    kind: ClassVar[Kind] = Kind.NODE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each node against those that computed the same."""
        groups: dict[str, list[Measurement]] = {}
        for measurement in evidence.select(self.check, "result_hash"):
            if measurement.context.node in evidence.judged:
                groups.setdefault(_same_work(measurement.context), []).append(measurement)
        for group in groups.values():
            yield from _group(group, alone_asked=len(evidence.asked) == 1)


def _same_work(context: Context) -> str:
    """What must be equal for results to be comparable: inputs, not how often or how fast."""
    return f"{context.pattern} order {context.parameters.get('order')}"


def _group(group: list[Measurement], *, alone_asked: bool) -> Iterator[Judgement]:
    hashes = Counter(str(measurement.value) for measurement in group)
    (common, count), *_ = hashes.most_common(1)
    for measurement in group:
        value, cause = _verdict(measurement, common, count, len(group), alone_asked=alone_asked)
        subject = Who(Kind.NODE, measurement.context.node or "")
        found = judged(subject, ResultHash.name, value, cause, group[:MOST_EVIDENCE], shown=measurement)
        expected = common if count * 2 > len(group) else "the same on all nodes"
        told = found.expecting(expected, "measured: the result of most nodes")
        yield replace(told, measurements=(measurement,))


def _verdict(
    measurement: Measurement, common: str, count: int, total: int, *, alone_asked: bool
) -> tuple[Value, str]:
    if total == 1:
        alone = "no other node has computed the same, so there is nothing to compare with"
        return (Value.PASS if alone_asked else Value.NOT_RUN), alone
    if count * 2 <= total:
        return (
            Value.ERROR,
            f"the results of {total} nodes differ and no majority has one: it is not known whose is right",
        )
    if measurement.value == common:
        return Value.PASS, f"the same result as {count - 1} other nodes"
    return Value.FAIL, f"another result than {count} of {total} nodes from the same numbers"
