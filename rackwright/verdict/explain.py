"""A judged run and a subject in, which figure applies to each of its values out, and why that one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.verdict.coverage import KINDS
from rackwright.verdict.evidence import Evidence
from rackwright.verdict.judgement import Who, bound_text
from rackwright.verdict.matching import amount, beyond, strictness
from rackwright.verdict.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Measurement
    from rackwright.verdict.folder import Judged


@dataclass(frozen=True, slots=True)
class Explained:
    """One value of a subject, or several alike, with the figure that applies to it."""

    check: str
    measurement: Measurement
    """Of those that are alike the worst by the figure; without one the least."""
    count: int
    figure: Expectation | None
    why: str
    others: tuple[Expectation, ...]
    """Figures that fit as well, and say less."""
    date: str


def explain(judged: Judged, subject: str) -> tuple[Explained, ...]:
    """All that is expected of a subject: empty where nothing of it was measured."""
    evidence = Evidence(judged.run, judged.measurements, judged.expectations)
    groups: dict[str, list[Measurement]] = {}
    for one in _of(evidence, subject):
        groups.setdefault(_alike(evidence, one), []).append(one)
    return tuple(_explained(evidence, found) for _, found in sorted(groups.items()))


def _of(evidence: Evidence, subject: str) -> Iterator[Measurement]:
    """Values that are about a subject, whatever its kind."""
    for one in evidence.measurements.measurements:
        kinds = {KINDS.get(evidence.bounds.check(one), Kind.SITE), Kind.NODE}
        if any(Who(kind, subject) in evidence.about(one, kind) for kind in kinds):
            yield one


def _alike(evidence: Evidence, one: Measurement) -> str:
    """What values have in common that one figure is for."""
    context = one.context
    figure = evidence.bound(one)
    about = (context.collective, context.size_bytes, context.fabric, context.rail)
    key = figure.key.model_dump_json() if figure else ""
    return f"{evidence.bounds.check(one)} {one.name} {one.unit} {about} {key}"


def _explained(evidence: Evidence, found: list[Measurement]) -> Explained:
    figure = evidence.bound(found[0])
    shown = max(found, key=lambda one: beyond(one, figure)) if figure else min(found, key=_from_least)
    fitting = evidence.bounds.fitting(shown)
    others = tuple(one for one in fitting if one is not figure)
    date = (figure.date or evidence.run.started[:10]) if figure else ""
    return Explained(
        check=evidence.bounds.check(shown),
        measurement=shown,
        count=len(found),
        figure=figure,
        why=_why(figure, others),
        others=others,
        date=date,
    )


def _from_least(one: Measurement) -> tuple[float, str]:
    """By what it amounts to; words by their letters."""
    return amount(one), str(one.value)


def _why(figure: Expectation | None, others: tuple[Expectation, ...]) -> str:
    if figure is None:
        return "no figure: nobody published, measured or learned one for it, and it is not judged by one"
    key = figure.key
    said = key.model_dump(
        mode="json", exclude_defaults=True, exclude={"name", "check", "parameters", "versions"}
    )
    every = {**said, **key.parameters, **key.versions}
    about = ", ".join(f"{name} {value}" for name, value in every.items()) or "any value of this name"
    if not others:
        return f"the only one that fits; it is for {about}"
    strictest = max(others, key=strictness)
    return f"of {len(others) + 1} that fit it says the most: {about}; not {bound_text(strictest)}"
