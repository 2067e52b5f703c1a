"""`rackwright check`: what all rules say of a spec."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from rackwright.catalogue.load import load as load_catalogue
from rackwright.checks.registry import PlanSubject, SpecSubject
from rackwright.checks.run import Report, check, none_run
from rackwright.cli import frame
from rackwright.cli.cluster import plan_of
from rackwright.cli.output import finding_text, findings_json
from rackwright.errors import BAD, GOOD, INCOMPLETE, SpecInvalid, worst
from rackwright.findings import Level
from rackwright.spec.load import load as load_spec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.output import Console

SCHEMA = "rackwright/check/1"
_NAMED = 20
"""So many rules that were not run are read by name; more than that are counted, and JSON has them all."""


@frame.command(example="rackwright check clusters/lab.yaml")
@click.argument("spec", type=frame.SPEC)
def command(console: Console, spec: Path) -> int:
    """Run all rules on SPEC, and on its plan; nothing is written.

    Exit code 1 where an error is found that the spec does not suppress.
    """
    report = _report(spec)
    console.result(_document(report), _text(report, spec))
    bad = any(finding.blocks for finding in report.findings)
    return worst([BAD if bad else GOOD, INCOMPLETE if report.not_run else GOOD])


def _report(spec: Path) -> Report:
    """All findings; where the spec breaks its schema, those, and no rule is run."""
    try:
        loaded = load_spec(spec)
    except SpecInvalid as error:
        return Report(error.findings, none_run("the spec breaks its schema"))
    catalogue, today = load_catalogue(), datetime.now(UTC).date()
    try:
        plan = plan_of(loaded, catalogue)
    except SpecInvalid as error:
        report = check(SpecSubject(loaded, catalogue), today)
        located = loaded.positions.locate([*error.findings, *report.findings])
        return Report(located, report.not_run)
    return check(PlanSubject(loaded, catalogue, plan), today)


def _counts(report: Report) -> dict[str, int]:
    weights = ["suppressed" if finding.waiver else finding.level.value for finding in report.findings]
    kinds = (Level.ERROR.value, Level.WARNING.value, Level.INFO.value, "suppressed")
    return {kind: weights.count(kind) for kind in kinds} | {"not_run": len(report.not_run)}


def _document(report: Report) -> Mapping[str, Json]:
    return {
        "schema": SCHEMA,
        "findings": findings_json(report.findings),
        "counts": _counts(report),
        "not_run": [{"code": one.code, "reason": one.reason} for one in report.not_run],
    }


def _text(report: Report, spec: Path) -> str:
    counted = ", ".join(f"{number} {what.replace('_', ' ')}" for what, number in _counts(report).items())
    return "\n".join([*map(finding_text, report.findings), *_not_run(report), f"{spec}: {counted}"])


def _not_run(report: Report) -> Iterator[str]:
    """Each reason, with its rules by name where they are few."""
    for reason in dict.fromkeys(one.reason for one in report.not_run):
        codes = [one.code for one in report.not_run if one.reason == reason]
        named = ", ".join(codes) if len(codes) <= _NAMED else f"{len(codes)} rules"
        yield f"not run: {reason}\n  {named}"
