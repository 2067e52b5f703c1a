"""What keeps a spec from being planned: every finding is whole, and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import SpecInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.findings import Finding
    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]


def findings(plan_of: PlanOf, values: Values, lock: Lock | None = None) -> tuple[Finding, ...]:
    with pytest.raises(SpecInvalid) as error:
        plan_of(values, lock)
    assert all(
        finding.got and finding.expected and str(finding.path) and finding.blocks
        for finding in error.value.findings
    )
    return error.value.findings


def the_finding(plan_of: PlanOf, values: Values, lock: Lock | None = None) -> Finding:
    (finding,) = findings(plan_of, values, lock)
    return finding
