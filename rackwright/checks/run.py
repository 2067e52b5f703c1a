"""A spec, and its plan where there is one, in; what all rules say, and which were not run, out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.checks import (
    efa,
    fabrics,
    local_nvme,
    networks,
    nvmeof,
    operation,
    pools,
    rdma,
    references,
    schedulers,
    storage,
    tuning,
)
from rackwright.checks.registry import PLAN_RULES, SPEC_RULES, PlanSubject, SpecSubject, rules
from rackwright.checks.suppression import suppress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from rackwright.findings import Finding

RULE_MODULES = (
    references,
    networks,
    pools,
    fabrics,
    efa,
    storage,
    nvmeof,
    rdma,
    local_nvme,
    schedulers,
    operation,
    tuning,
)
"""Importing a module registers its rules."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """A rule that was asked for and has no answer."""

    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the rules say; findings are located and in the order of the file."""

    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...] = ()


def check(subject: SpecSubject, today: date) -> Report:
    """Run every rule that the subject allows.

    Args:
        subject: a spec; with its plan (`PlanSubject`) the rules on plans are run too.
        today: the day on which suppressions must still hold.
    """
    found = list(_findings(subject))
    planned = isinstance(subject, PlanSubject)
    ran = frozenset(rule.code for rule in rules() if planned or not rule.needs_plan)
    outcome = suppress(found, subject.spec.suppress, today, ran)
    located = subject.loaded.positions.locate([*outcome.findings, *outcome.own])
    reason = "there is no plan to look at: the spec cannot be planned as it stands"
    return Report(located, () if planned else tuple(NotRun(code, reason) for code in PLAN_RULES))


def none_run(reason: str) -> tuple[NotRun, ...]:
    """Every rule, not run for one reason."""
    return tuple(NotRun(rule.code, reason) for rule in rules())


def _findings(subject: SpecSubject) -> Iterator[Finding]:
    for described, function in SPEC_RULES.values():
        yield from map(described.finding, function(subject))
    if isinstance(subject, PlanSubject):
        for planned, over_plan in PLAN_RULES.values():
            yield from map(planned.finding, over_plan(subject))
