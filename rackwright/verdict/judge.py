"""A run, its measurements and what may be expected in, one `Verdict` out; pure."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate.model import Event
from rackwright.verdict import coverage, fleet
from rackwright.verdict.asymmetry import Asymmetry
from rackwright.verdict.collective import CollectiveBandwidth
from rackwright.verdict.criteria import CRITERIA
from rackwright.verdict.evidence import Evidence, output_of, port_name
from rackwright.verdict.history import RepeatOffender
from rackwright.verdict.judgement import Judgement, Who, unmeasured, worst
from rackwright.verdict.model import Kind, Value, Verdict
from rackwright.verdict.rollup import subjects
from rackwright.verdict.stability import Stability
from rackwright.verdict.transport import SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rackwright.validate.expectations import Expectations
    from rackwright.validate.history import History
    from rackwright.validate.model import Artefact, Measurement, Measurements, Run
    from rackwright.verdict.criteria import Criterion


def judge(
    run: Run, measurements: Measurements, expectations: Expectations, history: History | None = None
) -> Verdict:
    """The verdict on everything that was asked for.

    Args:
        run: with its steps.
        measurements: that its output gave.
        expectations: what they are held against.
        history: what earlier runs said of its nodes; None where it was told of none.
    """
    evidence = Evidence(run, measurements, expectations)
    judgements = _judgements(evidence)
    if history is not None:
        judgements += RepeatOffender().judge(run, history, evidence.nodes, judgements)
    found = subjects(evidence, judgements)
    return Verdict(
        cluster=run.cluster,
        suite=run.suite,
        started=run.started,
        verdict=worst(subject.verdict for subject in found),
        subjects=found,
        not_applicable={
            **run.not_applicable,
            **_not_declared(run),
            **fleet.not_applicable(evidence),
            **_without(history),
        },
        not_judged=_not_judged(evidence),
        held=run.held,
    )


def _judgements(evidence: Evidence) -> list[Judgement]:
    """All of them; those on sites last, for they may be explained by others."""
    found = [*_absent(evidence), *_unfinished(evidence)]
    for criterion in CRITERIA:
        if criterion.check in evidence.run.checks:
            found += _apart(evidence, criterion.check, partial(_by, criterion))
    found += fleet.Speed().judge(evidence)
    found += fleet.BestOnNode().judge(evidence)
    found += Stability().judge(evidence)
    if Asymmetry.check in evidence.run.checks:
        found += _apart(evidence, Asymmetry.check, Asymmetry().judge)
    if CollectiveBandwidth.check in evidence.run.checks:
        known = list(found)
        found += _apart(
            evidence,
            CollectiveBandwidth.check,
            lambda view: CollectiveBandwidth().judge(view, _faulty(view, known)),
        )
    failed = [
        artefact.path for one in found if one.reason.value is Value.FAIL for artefact in one.reason.evidence
    ]
    return [*found, *coverage.judge(evidence, failed)]


def _apart(
    evidence: Evidence, check: str, judge_: Callable[[Evidence], Iterable[Judgement]]
) -> Iterator[Judgement]:
    """Judgements of each group that a check was made of; of a site that has several it is told of which."""
    views = evidence.views(check)
    for view in views:
        for one in judge_(view):
            several = one.subject.kind is Kind.SITE and sum(one.subject.name in of.sites for of in views) > 1
            yield one.about(view.pools) if several else one


def _by(criterion: Criterion, evidence: Evidence) -> Iterator[Judgement]:
    """Judgements of one criterion; whom it should have judged and did not is ERROR.

    Of a step that brought nothing `coverage`, or the criterion itself, tells.
    """
    found = list(criterion.judge(evidence))
    yield from found
    judged = {one.subject for one in found}
    told = {
        who
        for step in evidence.open_steps(criterion.check)
        for who in evidence.subjects_of(step, criterion.kind)
    }
    for who in evidence.subjects(criterion.kind):
        if who not in judged | told:
            by = "" if criterion.name == criterion.check else f"{criterion.name}: "
            cause = f"{by}{criterion.check} brought no value of it"
            yield unmeasured(who, coverage.NAME, cause)


def _absent(evidence: Evidence) -> Iterator[Judgement]:
    """Slots that were asked for and that nobody could, or would, measure."""
    run = evidence.run
    outputs: dict[str, list[Artefact]] = {}
    for step in run.steps:
        for node in step.lost:
            outputs.setdefault(node, []).extend(output_of(step))
    ports: dict[str, list[str]] = {}
    for port in run.rails:
        ports.setdefault(port.node, []).append(port_name(port))
    reasons = (
        ("held", Value.NOT_RUN, run.held),
        ("missing", Value.NOT_RUN, run.missing),
        ("lost", Value.ERROR, run.lost),
    )
    for criterion, value, slots in reasons:
        for node in (node for node in evidence.asked if node in slots):
            yield unmeasured(Who(Kind.NODE, node), criterion, slots[node], outputs.get(node, ()), value=value)
            for name in ports.get(node, ()):
                who = Who(Kind.RAIL, name)
                yield unmeasured(who, criterion, f"its node: {slots[node]}", value=value, explained_by=node)


def _unfinished(evidence: Evidence) -> Iterator[Judgement]:
    if evidence.run.finished is None:
        for site in evidence.run.sites:
            cause = "the run has not come to its end: it goes on, or was cut off"
            yield unmeasured(Who(Kind.SITE, site), "run", cause)


def _faulty(evidence: Evidence, found: list[Judgement]) -> dict[tuple[str, int], tuple[str, ...]]:
    """(fabric, rail) → its ports that failed."""
    bad = {one.subject for one in found if one.reason.value is Value.FAIL}
    rails: dict[tuple[str, int], list[str]] = {}
    for port in evidence.rails:
        if Who(Kind.RAIL, port_name(port)) in bad:
            rails.setdefault((port.fabric, port.rail), []).append(port_name(port))
    return {place: tuple(names) for place, names in rails.items()}


def _without(history: History | None) -> dict[str, str]:
    """What cannot be judged of nodes that nobody has known before."""
    if history is not None and history.runs:
        return {}
    if history is not None and history.unread:
        return {RepeatOffender.name: f"earlier runs say nothing: {', '.join(sorted(history.unread)[:5])}"}
    why = "it was told of no earlier run" if history is None else "there is no earlier run of these days"
    return {RepeatOffender.name: why}


def _not_declared(run: Run) -> dict[str, str]:
    """Check and platform that it is not asked of, where it is of others."""
    return {
        f"{check}: {platform}": "this platform does not declare it"
        for check, names in run.not_declared.items()
        for platform, slots in run.platforms.items()
        if not set(names).isdisjoint(slots)
    }


def _not_judged(evidence: Evidence) -> dict[str, str]:
    """Measurement → why nothing judges it."""
    bare, judged = set[str](), set[str]()
    for one in evidence.measurements.measurements:
        check = evidence.bounds.check(one)
        otherwise = (check, one.name) in _NOT_BY_FIGURES or _called(one) in SENT
        (judged if otherwise or evidence.bound(one) is not None else bare).add(f"{check}: {_called(one)}")
    return dict.fromkeys(sorted(bare - judged), "nobody published or measured a figure for it here")


def _called(one: Measurement) -> str:
    """A counter is judged by its growth or by its rate, and is one thing."""
    return str(one.context.parameters.get("counter") or one.name)


_NOT_BY_FIGURES = frozenset(
    {
        (Check.MATRIX, "result_hash"),
        (Check.DCGM_DIAG, "status"),
        *((Check.KERNEL_LOG, name) for name in (*Event, "events", "boots", "sealed")),
        *((check, "sealed") for check in (Check.TRANSPORT, Check.GPU_STATE)),
        (Check.TRANSPORT, "ranks"),
        (Check.COUNTERS, "ports"),
    }
)
"""Judged by comparison, or by a table of codes; or said of an output itself."""
