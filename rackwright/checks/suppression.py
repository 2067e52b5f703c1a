"""Findings and the spec's ``suppress:`` in; the same findings, some tolerated, and what is wrong with it out.

A suppression names a rule and a path and covers all below that path, until its last day. Only
rules can be suppressed: what breaks the schema or cannot be planned has no way around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.checks.registry import Breach, Rule, rules
from rackwright.findings import Finding, Level, SpecPath, Waiver, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

    from rackwright.spec.cluster import Suppression

_SOURCE = "docs/writing-a-spec.md: a rule is suppressed by code, path, reason and end date"
UNKNOWN = Rule(
    "SUP001",
    Level.ERROR,
    "A suppression names a rule.",
    "take it away, or name the rule as `rackwright check` shows it",
    _SOURCE,
    needs_plan=False,
)
EXPIRED = Rule(
    "SUP002",
    Level.WARNING,
    "A suppression holds until its last day, and not longer.",
    "put right what it hides, or give it a new day and a reason that still holds",
    _SOURCE,
    needs_plan=False,
)
IDLE = Rule(
    "SUP003",
    Level.INFO,
    "A suppression hides something.",
    "take it away: what it hid is put right",
    _SOURCE,
    needs_plan=False,
)
OWN_RULES = (UNKNOWN, EXPIRED, IDLE)
"""Rules on suppressions; they can be suppressed by nobody."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """What came of a spec's suppressions."""

    findings: tuple[Finding, ...]
    """All that came in, the tolerated ones with their waiver."""
    own: tuple[Finding, ...]
    """What is wrong with the suppressions themselves."""


def suppress(
    findings: Iterable[Finding], suppressions: Sequence[Suppression], today: date, ran: frozenset[str]
) -> Suppressed:
    """Apply a spec's suppressions.

    Args:
        findings: of rules.
        suppressions: in the order of the spec.
        today: the day on which they must still hold.
        ran: codes of the rules that were run; only of these it can be said that nothing is hidden.
    """
    found = list(findings)
    own: list[Finding] = []
    for index, suppression in enumerate(suppressions):
        at = SpecPath() / "suppress" / index
        covered = [number for number, finding in enumerate(found) if _covers(suppression, finding)]
        if suppression.rule not in {known.code for known in rules()}:
            own.append(_unknown(suppression, at))
        elif suppression.until < today:
            own.append(_expired(suppression, at, today))
        elif not covered and suppression.rule in ran:
            own.append(_idle(suppression, at))
        else:
            waiver = Waiver(suppression.reason, suppression.until)
            for number in covered:
                found[number] = found[number].waived(waiver)
    return Suppressed(tuple(found), tuple(own))


def _covers(suppression: Suppression, finding: Finding) -> bool:
    path = str(finding.path)
    below = path == suppression.path or path.startswith(f"{suppression.path}.")
    return finding.code == suppression.rule and below


def _unknown(suppression: Suppression, at: SpecPath) -> Finding:
    return UNKNOWN.finding(
        Breach(
            at / "rule",
            f"no rule has the code {suppression.rule}",
            got=suppression.rule,
            expected="the code of a rule; faults of the schema and of planning cannot be suppressed",
            hint=did_you_mean(suppression.rule, [rule.code for rule in rules()]),
        )
    )


def _expired(suppression: Suppression, at: SpecPath, today: date) -> Finding:
    return EXPIRED.finding(
        Breach(
            at / "until",
            f"the suppression of {suppression.rule} at {suppression.path} has expired, and hides nothing",
            got=f"until {suppression.until}",
            expected=f"{today} or later",
        )
    )


def _idle(suppression: Suppression, at: SpecPath) -> Finding:
    return IDLE.finding(
        Breach(
            at,
            f"{suppression.rule} finds nothing at {suppression.path}",
            got="a suppression without a finding",
            expected="a finding that it hides",
        )
    )
