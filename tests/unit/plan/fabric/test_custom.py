"""Custom topologies: counted, checked for ports, and never cabled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.cli.frame import run
from rackwright.errors import SpecInvalid
from rackwright.plan.lock import render

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]

DRAGONFLY = paths.repository() / "clusters" / "fabrics" / "dragonfly-1056.yaml"


def torus(hall: Values, **changes: object) -> Values:
    """Two nodes of two NICs, cabled to one another, or through switches."""
    topology = {"kind": "custom", "cables": [{"between": ["node", "node"], "count": 4}]} | changes
    hall["fabrics"]["compute"] = {"kind": "ethernet", "speed": "100m", "topology": topology}
    return hall


def test_a_torus_without_switches_is_counted(plan_of: PlanOf, hall: Values) -> None:
    planned, lock = plan_of(torus(hall))
    one = planned.cabling["compute"]
    assert (one.endpoints, one.tiers, [cables.count for cables in one.cables]) == (8, (), [4])
    assert (planned.totals.switches, planned.totals.cables) == (0, 4)
    assert any("nobody's plan" in part for part in planned.not_provisionable)
    assert "places" not in render(lock)


def _cable(one: str, other: str, count: int) -> dict[str, object]:
    return {"between": [one, other], "count": count}


@pytest.mark.parametrize(
    ("changes", "got"),
    [
        ({"cables": [_cable("node", "node", 5)]}, "10 ends"),
        ({"cables": [_cable("node", "hub", 8)]}, "hub"),
        (
            {"cables": [_cable("hub", "hub", 33)], "switches": {"hub": 1}, "switch": "sn5600"},
            "66 ends",
        ),
    ],
    ids=["more ends than NICs", "a role that is not there", "more cables than ports"],
)
def test_refused(plan_of: PlanOf, hall: Values, changes: dict[str, object], got: str) -> None:
    with pytest.raises(SpecInvalid) as error:
        plan_of(torus(hall, **changes))
    (finding,) = error.value.findings
    assert (finding.code, str(finding.path), finding.got) == ("FAB004", "fabrics.compute.topology", got)


def test_a_balanced_dragonfly_has_the_counts_of_the_formula(capsys: pytest.CaptureFixture[str]) -> None:
    each, nics, links = 8, 4, 4
    groups = each * links + 1
    assert run(["fabric", "size", str(DRAGONFLY)]) == 0
    words = capsys.readouterr().out.split()
    assert str(each * nics * groups) in words
    assert str(each * groups) in words
    assert str(groups * each * (each - 1) // 2 + groups * (groups - 1) // 2) in words
    tree = open_cluster(DRAGONFLY).plan.cabling["compute"].tree
    assert tree is None


@pytest.mark.parametrize("form", ["cutsheet", "netbox"])
def test_no_cable_of_it_is_made_up(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fabric", "export", str(DRAGONFLY), "--as", form]) == 2
    assert "only how many" in capsys.readouterr().err
