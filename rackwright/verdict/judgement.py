"""One criterion's word on one subject, and the sentences in which it is said."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from rackwright.verdict.model import Kind, Reason, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Artefact, Measurement

WORST = (Value.FAIL, Value.ERROR, Value.NOT_RUN, Value.PASS)
"""Of several verdicts the first of these is the verdict."""
MOST_EVIDENCE = 12
"""Artefacts that one reason names; the rest is in the run."""


class Who(NamedTuple):
    """A subject."""

    kind: Kind
    name: str


@dataclass(frozen=True)
class Judgement:
    """A reason for one subject, with the values it rests on."""

    subject: Who
    reason: Reason
    measurements: tuple[Measurement, ...] = ()

    def expecting(self, expected: str, provenance: str = "") -> Judgement:
        """The same, held against something for which there is no figure in a file."""
        update = {"expected": expected, "provenance": provenance}
        return replace(self, reason=self.reason.model_copy(update=update))

    def about(self, pools: Sequence[str]) -> Judgement:
        """The same, of some of the subject's pools alone."""
        cause = f"{self.reason.cause} ({'pool' if len(pools) == 1 else 'pools'} {', '.join(pools)})"
        return replace(self, reason=self.reason.model_copy(update={"cause": cause})) if pools else self


def worst(values: Iterable[Value]) -> Value:
    """Verdict of several; of none NOT_RUN: nothing is never good."""
    return min(values, key=WORST.index, default=Value.NOT_RUN)


def judged(  # noqa: PLR0913 (what a reason is made of)
    subject: Who,
    criterion: str,
    value: Value,
    cause: str,
    measurements: Iterable[Measurement] = (),
    *,
    shown: Measurement | None = None,
    expectation: Expectation | None = None,
    explained_by: str = "",
) -> Judgement:
    """A judgement that rests on measurements.

    Args:
        subject: who is judged.
        criterion: by what.
        value: the verdict.
        cause: one sentence.
        measurements: all that were looked at.
        shown: the one that decides.
        expectation: what it is held against.
        explained_by: subject whose fault is also the reason for this one.
    """
    rest = tuple(measurements)
    reason = Reason(
        criterion=criterion,
        value=value,
        cause=cause,
        measured=shown.value if shown else None,
        unit=shown.unit if shown else None,
        expected=bound_text(expectation) if expectation else "",
        provenance=f"{expectation.provenance}: {expectation.source}" if expectation else "",
        explained_by=explained_by,
        evidence=artefacts([shown] if shown and value is not Value.PASS else [], rest),
    )
    return Judgement(subject, reason, rest)


def unmeasured(  # noqa: PLR0913 (as judged)
    subject: Who,
    criterion: str,
    cause: str,
    evidence: Iterable[Artefact] = (),
    *,
    value: Value = Value.ERROR,
    explained_by: str = "",
) -> Judgement:
    """A judgement on something that was asked for and of which there is no value."""
    found = tuple(dict.fromkeys(evidence))[:MOST_EVIDENCE]
    reason = Reason(criterion=criterion, value=value, cause=cause, explained_by=explained_by, evidence=found)
    return Judgement(subject, reason)


def bound_text(expectation: Expectation) -> str:
    """``at least 75 mbit_s``, ``exactly 8 count``, ``efa``."""
    if expectation.one_of:
        return " or ".join(expectation.one_of)
    if expectation.at_least is not None and expectation.at_least == expectation.at_most:
        return f"exactly {expectation.at_least:g} {expectation.unit}"
    sides = (("at least", expectation.at_least), ("at most", expectation.at_most))
    return " and ".join(f"{word} {bound:g} {expectation.unit}" for word, bound in sides if bound is not None)


def artefacts(first: Iterable[Measurement], rest: Iterable[Measurement]) -> tuple[Artefact, ...]:
    """Files that hold these values, each once, the deciding one first."""
    found: dict[str, Artefact] = {}
    for measurement in chain(first, rest):
        found.setdefault(measurement.artefact.path, measurement.artefact)
        if len(found) == MOST_EVIDENCE:
            break
    return tuple(found.values())
