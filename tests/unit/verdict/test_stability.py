"""The same figure again and again: stable, or a fault although each time it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.catalogue.model import Check
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Context, Measurement, Measurements, Tool, Unit
from rackwright.verdict.judge import judge
from rackwright.verdict.model import Value
from rackwright.verdict.stability import MOST_CV, spread
from tests.doubles import runs
from tests.doubles.judging import named, reason
from tests.doubles.one_check import run_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.verdict.model import Reason
    from tests.doubles.judging import Case

    CaseOf = Callable[[runs.World | str], Case]


def _repeated(case: Case, speeds: list[float]) -> Case:
    """The matrix product of node-001 measured again at these speeds."""
    step = next(one for one in case.run.steps if one.name == "matrix/node-001")
    assert step.stdout is not None
    steps, texts = [one for one in case.run.steps if one.name != step.name], dict(case.texts)
    for number, speed in enumerate(speeds):
        path = f"raw/matrix/node-001/{number}.out"
        output = step.stdout.model_copy(update={"path": path})
        steps.append(step.model_copy(update={"name": f"{step.name}/repeat-{number}", "stdout": output}))
        texts[path] = runs.matrix("node-001", speed)
    return type(case)(case.run.model_copy(update={"steps": tuple(steps)}), texts, case.expectations)


def _said(case: Case) -> list[Reason]:
    found = named(case.verdict(), "node-001")
    return [one for one in found.reasons if one.criterion == "repeat-stability"]


@pytest.mark.parametrize(
    ("speeds", "value"),
    [([10.0, 10.1, 9.9], Value.PASS), ([10.0, 6.0, 10.0], Value.FAIL), ([10, 10, 10, 10, 5], Value.FAIL)],
)
def test_a_figure_that_comes_and_goes_fails(case_of: CaseOf, speeds: list[float], value: Value) -> None:
    (found,) = _said(_repeated(case_of("pass"), speeds))
    assert found.value is value
    assert found.measured == min(speeds)


@pytest.mark.parametrize("speeds", [[10.0], [10.0, 5.0]])
def test_of_fewer_than_three_nothing_is_said(case_of: CaseOf, speeds: list[float]) -> None:
    assert _said(_repeated(case_of("pass"), speeds)) == []


def test_values_of_one_step_are_no_repeats(case_of: CaseOf) -> None:
    """What a tool prints three times of one thing it may mean by three things."""
    case = case_of("pass")
    measured = case.measurements().measurements
    one = next(one for one in measured if one.step == "matrix/node-001" and one.name == "gflops")
    more = tuple(one.model_copy(update={"value": value}) for value in (5.0, 20.0))
    found = named(case.verdict(Measurements(measurements=(*measured, *more))), "node-001")
    assert [one for one in found.reasons if one.criterion == "repeat-stability"] == []


def _of_orders(case: Case, **speeds: list[float]) -> list[Reason]:
    """What is said where products of several orders were repeated."""
    measured = case.measurements().measurements
    one = next(one for one in measured if one.step == "matrix/node-001" and one.name == "gflops")
    more = tuple(
        one.model_copy(
            update={
                "value": speed,
                "step": f"{one.step}/repeat-{number}",
                "context": one.context.model_copy(update={"parameters": {"order": order}}),
            }
        )
        for order, values in speeds.items()
        for number, speed in enumerate(values)
    )
    steps = tuple(
        next(step for step in case.run.steps if step.name == one.step).model_copy(
            update={"name": f"{one.step}/repeat-{number}"}
        )
        for number in range(3)
    )
    run = case.run.model_copy(update={"steps": (*case.run.steps, *steps)})
    found = judge(run, Measurements(measurements=(*measured, *more)), case.expectations)
    return [said for said in named(found, "node-001").reasons if said.criterion == "repeat-stability"]


def test_the_least_stable_of_several_figures_counts(case_of: CaseOf) -> None:
    (found,) = _of_orders(case_of("pass"), a=[10.0, 10.0, 10.0], b=[10.0, 5.0, 10.0], c=[9.0, 9.0, 9.0])
    assert (found.value, found.measured) == (Value.FAIL, 5.0)
    (fine,) = _of_orders(case_of("pass"), a=[10.0, 10.0, 10.0], b=[5.0, 5.0, 5.0])
    assert fine.value is Value.PASS


@pytest.mark.parametrize(
    ("check", "tool"), [(Check.NCCL_TESTS, Tool.NCCL_TESTS), (Check.NCCOM_TEST, Tool.NCCOM_TEST)]
)
@pytest.mark.parametrize(("last", "value"), [(300.0, Value.PASS), (200.0, Value.FAIL)])
def test_a_collective_between_accelerators_that_comes_and_goes_fails_its_site(
    check: Check, tool: Tool, last: float, value: Value
) -> None:
    run = run_of(check, tool, ("node-001", "node-002"), together=True)
    step = run.steps[0]
    assert step.stdout is not None
    steps = tuple(step.model_copy(update={"name": f"{step.name}/repeat-{number}"}) for number in range(3))
    values = tuple(
        Measurement(
            name="busbw",
            value=speed,
            unit=Unit.GB_S,
            context=Context(nodes=step.nodes, collective="all_reduce", size_bytes=1 << 30, ranks=16),
            step=one.name,
            artefact=step.stdout,
        )
        for one, speed in zip(steps, (300.0, 301.0, last), strict=True)
    )
    repeated = run.model_copy(update={"steps": steps})
    found = judge(repeated, Measurements(measurements=values), Expectations(expectations=()))
    assert reason(named(found, "hall"), "repeat-stability").value is value


@pytest.mark.parametrize("value", [0.1, 10.0, 832486.5213461384])
def test_what_is_always_the_same_is_stable(value: float) -> None:
    assert spread([value] * 16) < MOST_CV / 1e6
