"""Criteria that hold those values of a check against a figure for which there is one, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.verdict.judgement import Judgement, Who, judged
from rackwright.verdict.matching import within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Measurement
    from rackwright.verdict.evidence import Evidence

UNSUPPORTED = "not supported"
"""What a device says of a value that it does not have."""


@dataclass(frozen=True)
class Limited:
    """No value of a check that has a figure is beyond it, and each figure finds its value.

    Args:
        name: of the criterion.
        check: whose values it looks at.
        measurements: names of the values.
        good: what is said of a node that passes.
        needs_all: whether a figure that selects no value of a node leaves it unjudged; else one must.
        unless: name of a measurement → names that are not judged of a place where that was measured.
    """

    name: str
    check: str
    measurements: tuple[str, ...]
    good: str
    needs_all: bool
    unless: Mapping[str, frozenset[str]] | None = None
    kind: Kind = Kind.NODE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """One judgement for each node of which there are values."""
        found: dict[Who, list[Measurement]] = {}
        for name in self.measurements:
            for who, values in evidence.by_subject(self.check, name, self.kind).items():
                found.setdefault(who, []).extend(values)
        for who, values in found.items():
            yield self._of(who, values, evidence)

    def _of(self, who: Who, found: list[Measurement], evidence: Evidence) -> Judgement:
        bounds = [
            (one, bound)
            for one in found
            if (bound := evidence.bound(one)) is not None and not self._made_up_for(one, found)
        ]
        failing = [(one, bound) for one, bound in bounds if not within(one, bound)]
        if failing:
            shown, bound = failing[0]
            more = f", and {len(failing) - 1} more" if len(failing) > 1 else ""
            cause = f"{called(shown)} is {_plain(shown)}{more}"
            return judged(who, self.name, Value.FAIL, cause, found, shown=shown, expectation=bound)
        lacking = self._lacking(found, evidence)
        if lacking or not bounds:
            cause = lacking or "there is no figure that any of its values could be held against"
            return judged(who, self.name, Value.NOT_RUN, cause, found)
        return judged(who, self.name, Value.PASS, f"{self.good} ({len(bounds)} values)", found)

    def _made_up_for(self, one: Measurement, found: list[Measurement]) -> bool:
        """Whether what counts more was measured at the same place."""
        said = one.context.parameters
        return any(
            said.get("counter") in names
            and any(other.name == better and _place(other) == _place(one) for other in found)
            for better, names in (self.unless or {}).items()
        )

    def _lacking(self, found: list[Measurement], evidence: Evidence) -> str:
        """Which figure selects no value of these; empty where each does, or where one is enough."""
        if not self.needs_all:
            return ""
        for one in evidence.expectations.expectations:
            if one.key.check == self.check and one.key.name in self.measurements:
                fits = any(
                    value.name == one.key.name
                    and evidence.bounds.fits(one.key, value)
                    and (value.unit is one.unit or value.value == UNSUPPORTED)
                    for value in found
                )
                if not fits and evidence.bounds.are_kind_of(one.key, found):
                    return f"the figure for {_named(one)} selects no value"
        return ""


def called(one: Measurement) -> str:
    """A value as a person would name it: ``symbol_error of mlx5_0 port 1, rate``."""
    said = one.context.parameters
    what = str(said.get("counter") or said.get("reason") or one.name)
    where = [f"{name} {said[name]}" for name in ("gpu", "device", "port") if name in said]
    form = f" ({one.name})" if "counter" in said else ""
    return f"{what}{form} of {' '.join(where)}" if where else f"{what}{form}"


def _plain(one: Measurement) -> str:
    value = one.value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g} {one.unit}" if isinstance(value, float) else f"{value}"


def _place(one: Measurement) -> tuple[object, object]:
    return one.context.parameters.get("device"), one.context.parameters.get("port")


def _named(one: Expectation) -> str:
    about = ", ".join(map(str, one.key.parameters.values()))
    return f"{one.key.name} of {about}" if about else one.key.name
