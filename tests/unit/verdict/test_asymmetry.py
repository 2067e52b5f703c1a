"""One direction of a link that is far slower than the other, where each may reach its figure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.expectations import Expectations
from rackwright.verdict.model import Kind, Value
from tests.doubles import runs
from tests.doubles.judging import named, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.judging import Case

    CaseOf = Callable[[runs.World | str], Case]


def _sending(case: Case, node: str, mbit_s: float, *, lenient: bool = True) -> Case:
    """The same run in which a node sends no faster than that on rail 1, and receives as before."""
    for step in case.run.steps:
        if step.name.startswith("pairs/compute-1/") and node in step.nodes:
            way = str(step.context.direction)
            if (step.context.node == node) == (way == "forward"):
                case = case.with_text(step.name, runs.iperf3(mbit_s, way))
    if not lenient:
        return case
    gates = tuple(
        one.model_copy(update={"at_least": 10.0}) if one.key.name in {"bandwidth", "busbw"} else one
        for one in case.expectations.expectations
    )
    return replace(case, expectations=Expectations(expectations=gates))


def test_a_port_that_sends_far_slower_than_it_receives_fails_alone(case_of: CaseOf) -> None:
    found = _sending(case_of("pass"), "node-002", 50.0).verdict()
    port = reason(named(found, "node-002/r1"), "asymmetry")
    assert (port.value, port.cause) == (
        Value.FAIL,
        "sends at no more than 50 where the other way it has 95",
    )
    assert port.action
    failed = {one.name for one in found.subjects if one.kind is Kind.RAIL and one.verdict is Value.FAIL}
    assert failed == {"node-002/r1"}


@pytest.mark.parametrize(("mbit_s", "value"), [(67.0, Value.PASS), (66.0, Value.FAIL)])
def test_seven_tenths_of_the_other_way_are_asked_for(case_of: CaseOf, mbit_s: float, value: Value) -> None:
    found = _sending(case_of("pass"), "node-002", mbit_s).verdict()
    assert reason(named(found, "node-002/r1"), "asymmetry").value is value


def test_a_port_that_misses_its_figure_is_told_once(case_of: CaseOf) -> None:
    found = _sending(case_of("pass"), "node-002", 50.0, lenient=False).verdict()
    criteria = [one.criterion for one in named(found, "node-002/r1").reasons]
    assert "asymmetry" not in criteria
    assert reason(named(found, "node-002/r1"), "pair-bandwidth").value is Value.FAIL


def test_of_two_ports_alone_the_site_fails_and_no_port(case_of: CaseOf) -> None:
    case = case_of(runs.World(nodes=("node-001", "node-002")))
    found = _sending(case, "node-002", 50.0).verdict()
    hall = reason(named(found, "hall"), "asymmetry")
    assert hall.value is Value.FAIL
    assert hall.cause.startswith("between node-001/r1 and node-002/r1 one way is far slower")
    assert Value.FAIL not in {one.verdict for one in found.subjects if one.kind is Kind.RAIL}


def test_good_ports_are_the_same_both_ways(case_of: CaseOf) -> None:
    found = case_of("pass").verdict()
    assert reason(named(found, "node-001/r0"), "asymmetry").value is Value.PASS
