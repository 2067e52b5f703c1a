"""A rule on plans fires on a plan that is spoiled in one place, and on nothing else of it."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.checks.registry import PlanSubject, rules
from rackwright.checks.run import check
from rackwright.cli.cluster import open_cluster
from tests.doubles.spoiled_plans import SPOILED

if TYPE_CHECKING:
    from rackwright.findings import Finding
    from tests.doubles.spoiled_plans import Spoiled

TODAY = date(2026, 11, 28)
CODES = {one.code for one in SPOILED}


def findings(one: Spoiled, *, spoiled: bool) -> list[Finding]:
    cluster = open_cluster(paths.repository() / "clusters" / f"{one.example}.yaml")
    plan = one.spoil(cluster.plan) if spoiled else cluster.plan
    found = check(PlanSubject(cluster.loaded, cluster.catalogue, plan), TODAY).findings
    return [finding for finding in found if finding.code in CODES]


@pytest.mark.parametrize("one", SPOILED, ids=lambda one: f"{one.code}-{one.path}")
def test_a_spoiled_plan_is_seen(one: Spoiled) -> None:
    assert findings(one, spoiled=False) == []
    (mine,) = findings(one, spoiled=True)
    assert (mine.code, str(mine.path)) == (one.code, one.path)
    assert mine.place is not None
    assert mine.place.line > 1
    assert all([mine.message, mine.got, mine.expected, mine.hint, mine.source])


def test_only_rules_on_plans_need_a_spoiled_one() -> None:
    assert {rule.code for rule in rules() if rule.needs_plan} >= CODES
