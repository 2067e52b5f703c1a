"""A suppressed finding stays visible, counts for nothing, and comes back on the day after its last."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import pytest

from rackwright.checks.suppression import suppress
from rackwright.findings import Finding, Level, SpecPath
from rackwright.spec.cluster import Suppression

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwright.checks.suppression import Suppressed

TODAY = date(2026, 11, 28)
RAN = frozenset({"EFA001", "NET001"})
AT_NODE = Finding("NET001", "m", SpecPath(("pools", "node", "fabrics")))
AT_NODE2 = Finding("NET001", "m", SpecPath(("pools", "node2")))


def suppression(rule: str = "NET001", path: str = "pools.node", until: date = TODAY) -> Suppression:
    return Suppression(rule=rule, path=path, reason="moved next week", until=until)


def outcome(*suppressions: Suppression, findings: Iterable[Finding] = (AT_NODE, AT_NODE2)) -> Suppressed:
    return suppress(findings, suppressions, TODAY, RAN)


def test_it_covers_all_below_its_path_and_nothing_beside() -> None:
    node, node2 = outcome(suppression()).findings
    assert node.waiver is not None
    assert node.waiver.reason == "moved next week"
    assert not node.blocks
    assert node2.blocks


def test_it_holds_on_its_last_day_and_not_on_the_next() -> None:
    assert outcome(suppression(until=TODAY)).own == ()
    after = outcome(suppression(until=date(2026, 11, 27)))
    assert [(one.code, one.level, str(one.path)) for one in after.own] == [
        ("SUP002", Level.WARNING, "suppress.0.until")
    ]
    assert all(finding.blocks for finding in after.findings)


def test_another_rule_at_the_same_path_is_not_covered() -> None:
    after = outcome(suppression(rule="EFA001"))
    assert all(finding.blocks for finding in after.findings)
    assert [one.code for one in after.own] == ["SUP003"]


def test_a_rule_that_was_not_run_is_not_said_to_find_nothing() -> None:
    assert outcome(suppression(rule="POWER001")).own == ()


@pytest.mark.parametrize(("code", "hint"), [("POWER002", "POWER001"), ("SPEC011", ""), ("RACK001", "")])
def test_what_is_no_rule_cannot_be_suppressed(code: str, hint: str) -> None:
    (own,) = outcome(suppression(rule=code)).own
    assert own.code == "SUP001"
    assert own.blocks
    assert hint in own.hint
