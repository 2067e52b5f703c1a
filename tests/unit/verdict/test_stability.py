"""The same figure again and again: stable, or a fault although each time it is reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.verdict.model import Value
from rackwright.verdict.stability import MOST_CV, spread
from tests.doubles import runs
from tests.doubles.judging import named

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


@pytest.mark.parametrize("value", [0.1, 10.0, 832486.5213461384])
def test_what_is_always_the_same_is_stable(value: float) -> None:
    assert spread([value] * 16) < MOST_CV / 1e6
