"""Verdicts on good nodes and on each known fault; and that nothing that is missing ever passes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.expectations import Expectation, Expectations, Key, Provenance
from rackwright.validate.model import Ended, Measurements, Unit
from rackwright.verdict.model import Kind, Value, Verdict
from tests.doubles import runs
from tests.doubles.judging import named as _named
from tests.doubles.judging import reason as _reason
from tests.doubles.mutants import of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.doubles.judging import Case

    CaseOf = Callable[[runs.World | str], Case]

FAIL, ERROR, NOT_RUN, PASS = Value.FAIL, Value.ERROR, Value.NOT_RUN, Value.PASS


def _not_passing(verdict: Verdict) -> dict[str, Value]:
    return {one.name: one.verdict for one in verdict.subjects if one.verdict is not PASS}


@pytest.mark.parametrize(
    ("world", "verdict", "expected"),
    [
        ("pass", PASS, {}),
        ("slow-rail", FAIL, {"node-002/r1": FAIL, "node-002": FAIL, "hall": FAIL}),
        ("cut-rail", FAIL, {"node-002/r1": FAIL, "node-002": FAIL, "hall": FAIL}),
        ("unreachable-rail", FAIL, {"node-002/r1": FAIL, "node-002": FAIL, "hall": FAIL}),
        ("wrong-value", FAIL, {"node-002": FAIL, "hall": FAIL}),
        (
            "killed-node",
            ERROR,
            {"node-002": ERROR, "node-002/r0": ERROR, "node-002/r1": ERROR, "hall": ERROR},
        ),
        (
            "held",
            NOT_RUN,
            {"node-003": NOT_RUN, "node-003/r0": NOT_RUN, "node-003/r1": NOT_RUN, "hall": NOT_RUN},
        ),
    ],
)
def test_exactly_those_are_named_who_are_at_fault(
    case_of: CaseOf, world: str, verdict: Value, expected: dict[str, Value]
) -> None:
    found = case_of(world).verdict()
    assert found.verdict is verdict
    assert _not_passing(found) == expected
    assert len(found.subjects) == 1 + 3 + 6


def test_a_slot_that_no_instance_fills_is_not_run_and_no_error(case_of: CaseOf) -> None:
    case = case_of("held")
    whom = dict.fromkeys(case.run.held, "no instance fills the slot")
    found = case.having(held={}, missing=whom).verdict()
    node = _named(found, "node-003")
    assert (found.verdict, node.verdict) == (NOT_RUN, NOT_RUN)
    assert next(one.criterion for one in node.reasons if one.value is NOT_RUN) == "missing"
    assert "rackwright up" in _reason(node, "missing").action


@pytest.mark.parametrize("world", ["slow-rail", "cut-rail", "unreachable-rail"])
def test_site_that_is_slow_over_a_failed_port_is_explained_by_it(case_of: CaseOf, world: str) -> None:
    hall = _named(case_of(world).verdict(), "hall")
    slow = [one for one in hall.reasons if one.criterion == "collective-bandwidth" and one.value is FAIL]
    assert [one.explained_by for one in slow] == ["node-002/r1", "node-002/r1"]
    assert all(one.explained_by for one in hall.reasons if one.value is not PASS)


def test_reason_of_a_slow_port_has_all_that_a_person_needs(case_of: CaseOf) -> None:
    reason = _reason(_named(case_of("slow-rail").verdict(), "node-002/r1"), "pair-bandwidth")
    assert reason.measured == pytest.approx(19, rel=0.01)
    assert (reason.unit, reason.expected) == (Unit.MBIT_S, "at least 75 mbit_s")
    assert reason.provenance == "plan: 0.75 of the planned 1 x 100 Mbit/s"
    assert reason.action.startswith("Compare rate, width and error counters of node-002/r1")
    assert {artefact.path for artefact in reason.evidence} == {
        f"raw/pairs/compute-1/{pair}/{way}.out"
        for pair in ("node-001+node-002", "node-002+node-003")
        for way in ("forward", "reverse")
    }


def test_every_reason_that_is_no_pass_has_an_action(case_of: CaseOf) -> None:
    for world in runs.WORLDS:
        for subject in case_of(world).verdict().subjects:
            assert [one for one in subject.reasons if one.value is not PASS and not one.action] == []


def test_wrong_result_is_told_by_the_hash_and_only_there(case_of: CaseOf) -> None:
    found = case_of("wrong-value").verdict()
    reason = _reason(_named(found, "node-002"), "result-hash")
    assert reason.value is FAIL
    assert reason.cause.startswith("another result than 2 of 3 nodes")
    assert _reason(_named(found, "node-001"), "result-hash").value is PASS


def test_without_a_majority_nobody_is_blamed_for_a_result(case_of: CaseOf) -> None:
    found = case_of(runs.World(result={"node-001": "one", "node-002": "two"})).verdict()
    values = [_reason(_named(found, f"node-00{number}"), "result-hash").value for number in (1, 2, 3)]
    assert values == [ERROR, ERROR, ERROR]


def test_slow_site_that_no_port_explains_blames_no_node(case_of: CaseOf) -> None:
    case = case_of("pass")
    step = next(one for one in case.run.steps if one.name == "collectives/compute-0")
    slow = case.with_text(step.name, runs.collectives(step.nodes, 20.0)).verdict()
    assert _not_passing(slow) == {"hall": FAIL}
    reason = _reason(_named(slow, "hall"), "collective-bandwidth")
    assert reason.explained_by == ""
    assert "no port explains it" in reason.cause


def test_two_slow_ports_of_three_leave_it_open_and_name_the_suspects(case_of: CaseOf) -> None:
    found = case_of(runs.World(rate={("node-001", 1): 20.0, ("node-002", 1): 20.0})).verdict()
    reason = _reason(_named(found, "hall"), "pair-bandwidth")
    assert reason.value is FAIL
    assert all(f"node-00{number}/r1" in reason.cause for number in (1, 2, 3))
    ports = {f"node-00{number}/r1": NOT_RUN for number in (1, 2, 3)}
    assert {name: value for name, value in _not_passing(found).items() if "/" in name} == ports
    assert FAIL not in {one.verdict for one in found.subjects if one.kind is Kind.NODE}


def test_two_slow_ports_of_five_are_both_found(case_of: CaseOf) -> None:
    world = replace(runs.fleet(5), rate={("node-001", 1): 20.0, ("node-004", 1): 20.0})
    found = case_of(world).verdict()
    bad = {name for name, value in _not_passing(found).items() if value is FAIL and "/" in name}
    assert bad == {"node-001/r1", "node-004/r1"}


def test_dark_port_without_another_partner_leaves_its_partner_not_run(case_of: CaseOf) -> None:
    world = runs.World(nodes=("node-001", "node-002"), down=frozenset({("node-002", 1)}))
    found = case_of(world).verdict()
    assert _named(found, "node-002/r1").verdict is FAIL
    assert _named(found, "node-001/r1").verdict is NOT_RUN
    assert _reason(_named(found, "node-001/r1"), "pair-bandwidth").explained_by == "node-002/r1"


def test_refused_connection_is_an_error_and_nobodys_fault(case_of: CaseOf) -> None:
    refused = (runs.CASES / "iperf3" / "refused" / "input.txt").read_text(encoding="utf-8")
    found = case_of("pass").with_text("pairs/compute-1/node-001+node-002/forward", refused).verdict()
    assert _not_passing(found)["node-001/r1"] is _not_passing(found)["node-002/r1"] is ERROR
    assert FAIL not in _not_passing(found).values()


def test_pass_run_does_not_pass_without_any_one_step(case_of: CaseOf) -> None:
    case = case_of("pass")
    for step in case.run.steps:
        rest = tuple(one for one in case.run.steps if one != step)
        assert case.having(steps=rest).verdict().verdict is not PASS, step.name


def test_pass_run_does_not_pass_without_any_one_measurement(case_of: CaseOf) -> None:
    case = case_of("pass")
    measured = case.measurements().measurements
    for gone in measured:
        rest = Measurements(measurements=tuple(one for one in measured if one is not gone))
        assert case.verdict(rest).verdict is not PASS, (gone.step, gone.name, gone.context)


@pytest.mark.parametrize("ended", [ended for ended in Ended if ended is not Ended.DONE])
def test_pass_run_does_not_pass_with_any_one_step_that_ended_badly(case_of: CaseOf, ended: Ended) -> None:
    case = case_of("pass")
    names = set(_one_step_a_tool(case))
    for number, step in enumerate(case.run.steps):
        if step.name not in names:
            continue
        bad = step.model_copy(update={"ended": ended, "exit_status": 1, "reason": "as planted"})
        steps = (*case.run.steps[:number], bad, *case.run.steps[number + 1 :])
        found = case.having(steps=steps).verdict().verdict
        assert found is (NOT_RUN if ended is Ended.NOT_RUN else ERROR), step.name


def _one_step_a_tool(case: Case) -> Iterator[str]:
    seen = set()
    for step in case.run.steps:
        if step.tool not in seen:
            seen.add(step.tool)
            yield step.name


def test_pass_run_does_not_pass_with_any_spoiled_output(case_of: CaseOf) -> None:
    case = case_of("pass")
    whole = case.measurements()
    for step in _one_step_a_tool(case):
        output = next(one.stdout for one in case.run.steps if one.name == step)
        assert output is not None
        for name, mutant in list(of_text(case.texts[output.path]))[::3]:
            spoiled = case.with_text(step, mutant)
            measured = spoiled.measurements()
            if measured != whole:
                assert spoiled.verdict(measured).verdict is not PASS, (step, name)


def test_run_that_was_cut_off_does_not_pass(case_of: CaseOf) -> None:
    found = case_of("pass").having(finished=None).verdict()
    assert (found.verdict, _not_passing(found)) == (ERROR, {"hall": ERROR})


def test_check_that_nothing_judges_does_not_pass(case_of: CaseOf) -> None:
    case = case_of("pass")
    found = case.having(checks=(*case.run.checks, "unheard-of")).verdict()
    assert (found.verdict, _not_passing(found)) == (NOT_RUN, {"hall": NOT_RUN})


@pytest.mark.parametrize("check", ["nccl-tests", "nccom-test"])
def test_check_that_was_asked_for_and_has_no_step_does_not_pass(case_of: CaseOf, check: str) -> None:
    case = case_of("pass")
    found = case.having(checks=(*case.run.checks, check)).verdict()
    assert (found.verdict, _not_passing(found)) == (ERROR, {"hall": ERROR})


def test_run_that_asked_for_nothing_does_not_pass(case_of: CaseOf) -> None:
    case = case_of("pass")
    assert case.having(checks=(), steps=()).verdict().verdict is NOT_RUN
    assert case.having(checks=(), steps=(), sites={}, rails=()).verdict().verdict is NOT_RUN


def test_check_without_anybody_to_judge_does_not_pass(case_of: CaseOf) -> None:
    assert case_of("pass").having(rails=()).verdict().verdict is not PASS


@pytest.mark.parametrize(
    "name", ["carrier", "offset", "wrong", "failures", "verify_errors", "bandwidth", "busbw"]
)
def test_without_a_figure_nothing_passes(case_of: CaseOf, name: str) -> None:
    case = case_of("pass")
    kept = tuple(one for one in case.expectations.expectations if one.key.name != name)
    found = replace(case, expectations=Expectations(expectations=kept)).verdict()
    assert found.verdict is NOT_RUN


def test_figure_in_another_unit_is_never_compared(case_of: CaseOf) -> None:
    case = case_of("pass")
    changed = tuple(
        one.model_copy(update={"unit": Unit.MIB_S, "at_least": 0.1}) if one.key.name == "busbw" else one
        for one in case.expectations.expectations
    )
    assert replace(case, expectations=Expectations(expectations=changed)).verdict().verdict is not PASS


def test_figure_that_no_measurement_meets_is_an_error(case_of: CaseOf) -> None:
    case = case_of("pass")
    key = Key(
        name="busbw", check="collectives", collective="all_reduce", size_bytes=7, fabric="compute", rails=1
    )
    more = Expectation(
        key=key, unit=Unit.MBIT_S, at_least=1, nominal=1, provenance=Provenance.OPERATOR, source="a test"
    )
    found = replace(
        case, expectations=Expectations(expectations=(*case.expectations.expectations, more))
    ).verdict()
    assert _not_passing(found) == {"hall": ERROR}
    assert "nothing was measured of all_reduce of 7 bytes" in _named(found, "hall").reasons[0].cause


def test_node_that_took_no_part_in_a_collective_is_missed(case_of: CaseOf) -> None:
    case = case_of("pass")
    two = ("node-001", "node-002")
    steps = tuple(
        one.model_copy(update={"nodes": two}) if one.name == "collectives/compute-0" else one
        for one in case.run.steps
    )
    found = case.having(steps=steps).with_text("collectives/compute-0", runs.collectives(two, 90.0)).verdict()
    assert _not_passing(found) == {"hall": ERROR}
    assert "node-003 took no part" in _named(found, "hall").reasons[0].cause


def test_what_nobody_has_a_figure_for_is_listed(case_of: CaseOf) -> None:
    found = case_of("pass").verdict()
    assert set(found.not_judged) == {
        "matrix: gflops",
        "memory: bogo_ops",
        "disk: read_bandwidth",
        "disk: write_bandwidth",
    }
    assert {"fleet-outlier", "best-on-node", "nccl-tests", "repeat-offender"} == set(found.not_applicable)


def test_subjects_are_worst_first_and_those_at_fault_before_those_they_explain(case_of: CaseOf) -> None:
    names = [one.name for one in case_of("slow-rail").verdict().subjects]
    assert names[:3] == ["node-002/r1", "hall", "node-002"]


def test_verdict_is_the_same_whatever_the_order_of_steps(case_of: CaseOf) -> None:
    case = case_of("slow-rail")
    turned = case.having(steps=tuple(reversed(case.run.steps))).verdict()
    assert _not_passing(turned) == _not_passing(case.verdict())
