"""Values that are single, several, of other work or without a figure: each is judged for what it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Ended, Measurements
from rackwright.verdict.model import Value, Verdict
from tests.doubles import runs
from tests.doubles.judging import named as _named
from tests.doubles.judging import reason as _reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.judging import Case

    CaseOf = Callable[[runs.World | str], Case]

FAIL, ERROR, NOT_RUN, PASS = Value.FAIL, Value.ERROR, Value.NOT_RUN, Value.PASS


def _not_passing(verdict: Verdict) -> dict[str, Value]:
    return {one.name: one.verdict for one in verdict.subjects if one.verdict is not PASS}


def test_a_value_without_a_figure_beside_one_that_has_it_does_not_pass(case_of: CaseOf) -> None:
    """Of five collectives four are not judged, whatever the fifth says."""
    case = case_of("pass")
    changed = tuple(
        one.model_copy(update={"key": one.key.model_copy(update={"collective": "all_reduce"})})
        if (one.key.name, one.key.check) == ("wrong", "collectives")
        else one
        for one in case.expectations.expectations
    )
    found = replace(case, expectations=Expectations(expectations=changed)).verdict()
    assert _reason(_named(found, "hall"), "collective-correct").value is NOT_RUN


def test_results_of_other_work_are_not_held_against_each_other(case_of: CaseOf) -> None:
    """A product of another order has another hash, and is no wrong one."""
    case = case_of("pass")
    other = {"value": "f" * 64}
    changed = tuple(
        one.model_copy(
            update={**other, "context": one.context.model_copy(update={"parameters": {"order": 1024}})}
        )
        if (one.name, one.context.node) == ("result_hash", "node-003")
        else one
        for one in case.measurements().measurements
    )
    found = case.verdict(Measurements(measurements=changed))
    said = {name: _reason(_named(found, name), "result-hash").value for name in ("node-001", "node-003")}
    assert said == {"node-001": PASS, "node-003": NOT_RUN}


def test_a_port_without_a_carrier_is_no_evidence_on_others(case_of: CaseOf) -> None:
    """The pairs of a dark port are cut; that these two are slow to each other is another matter."""
    case = case_of(runs.World(rate={("node-002", 1): 0.0, ("node-001", 1): 20.0}))
    dark = tuple(
        one.model_copy(update={"value": False})
        if (one.name, one.context.node, one.context.rail) == ("carrier", "node-002", 1)
        else one
        for one in case.measurements().measurements
    )
    measured = case.measurements().model_copy(update={"measurements": dark})
    found = case.verdict(measured)
    assert _reason(_named(found, "node-002/r1"), "pair-bandwidth").value is FAIL
    for one, other in (("node-001", "node-003"), ("node-003", "node-001")):
        said = _reason(_named(found, f"{one}/r1"), "pair-bandwidth")
        assert (said.value, f"slow or cut to {other}/r1" in said.cause) == (NOT_RUN, True)


def test_a_step_that_was_understood_and_brought_nothing_does_not_pass(case_of: CaseOf) -> None:
    """Also where another of the same kind brought all that its criterion asks for."""
    case = case_of("pass")
    step = next(one for one in case.run.steps if one.name == "matrix/node-001")
    again = step.model_copy(update={"name": "matrix/node-001/repeat-1"})
    measured = case.measurements()
    found = case.having(steps=(*case.run.steps, again)).verdict(measured)
    assert _not_passing(found) == {"node-001": ERROR, "hall": ERROR}
    assert "matrix/node-001/repeat-1 brought no value" in {
        one.cause for one in _named(found, "node-001").reasons
    }


@pytest.mark.parametrize(("name", "again"), [("z-later", PASS), ("a-before", ERROR)])
def test_what_failed_and_was_measured_later_is_made_up_for(case_of: CaseOf, name: str, again: Value) -> None:
    """What was measured before it is not: it fell ill meanwhile."""
    case = case_of("pass")
    step = next(one for one in case.run.steps if one.name == "disk/node-001")
    lost = step.model_copy(update={"name": name, "ended": Ended.TIMED_OUT, "stdout": None})
    others = tuple(one for one in case.run.steps if one is not step)
    ordered = (*others, lost, step) if again is PASS else (*others, step, lost)
    assert case.having(steps=ordered).verdict(case.measurements()).verdict is again


def test_each_of_several_values_is_held_to_its_bound(case_of: CaseOf) -> None:
    case = case_of("pass")
    measured = case.measurements().measurements
    one = next(one for one in measured if one.step == "matrix/node-001" and one.name == "wrong")
    for values in ((0, 3), (3, 0), (0, 0, 3)):
        more = tuple(one.model_copy(update={"value": value}) for value in values)
        kept = (*(other for other in measured if other is not one), *more)
        found = case.verdict(Measurements(measurements=kept))
        assert _reason(_named(found, "node-001"), "matrix-verify").value is FAIL


def test_two_steps_of_one_name_prove_nothing(case_of: CaseOf) -> None:
    case = case_of("pass")
    found = case.having(steps=(*case.run.steps, case.run.steps[0])).verdict()
    assert _not_passing(found) == {"hall": ERROR}
    assert "two steps of the run have one name" in {one.cause for one in _named(found, "hall").reasons}


@pytest.mark.parametrize(("partners", "value"), [(1, NOT_RUN), (2, PASS)])
def test_among_many_ports_one_good_partner_is_too_few(case_of: CaseOf, partners: int, value: Value) -> None:
    """Where not all pairs are measured, one good pair may have been luck."""
    case = case_of(replace(runs.fleet(17), rails=1))
    kept = set(case.run.sites["hall"][1 : 1 + partners])
    steps = tuple(
        step
        for step in case.run.steps
        if step.check != "pairs" or "node-001" not in step.nodes or set(step.nodes) & kept
    )
    found = case.having(steps=steps).verdict()
    port = _reason(_named(found, "node-001/r0"), "pair-bandwidth")
    assert (port.value, port.cause.startswith("measured against 1 good partner: ")) == (
        value,
        value is NOT_RUN,
    )


def test_a_result_that_nobody_else_computed_proves_nothing(case_of: CaseOf) -> None:
    case = case_of("pass")
    kept = tuple(
        one
        for one in case.measurements().measurements
        if one.name != "result_hash" or one.context.node == "node-001"
    )
    found = case.verdict(Measurements(measurements=kept))
    assert _reason(_named(found, "node-001"), "result-hash").value is NOT_RUN


def test_of_several_values_beyond_their_bound_the_worst_is_shown(case_of: CaseOf) -> None:
    case = case_of("pass")
    measured = case.measurements().measurements
    one = next(one for one in measured if one.step == "matrix/node-001" and one.name == "wrong")
    more = tuple(one.model_copy(update={"value": value}) for value in (3, 30, 7))
    found = case.verdict(Measurements(measurements=(*measured, *more)))
    assert _reason(_named(found, "node-001"), "matrix-verify").measured == 30
