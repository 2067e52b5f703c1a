"""Of several values that one figure is for, the one that a reader must see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Measurements
from rackwright.verdict import folder
from rackwright.verdict.explain import explain
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.verdict.explain import Explained
    from rackwright.verdict.folder import Judged


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return folder.load(runs.build(tmp_path_factory.mktemp("a") / "run", "pass"))


def _offsets(judged: Judged, *values: float, figure: bool = True) -> Explained:
    """What is explained of node-001, whose clock was read so often."""
    (one,) = (
        one
        for one in judged.measurements.measurements
        if one.name == "offset" and one.context.node == "node-001"
    )
    changed = Measurements(measurements=tuple(one.model_copy(update={"value": value}) for value in values))
    kept = judged.expectations.expectations if figure else ()
    return explain(
        replace(judged, measurements=changed, expectations=Expectations(expectations=kept)), "node-001"
    )[0]


@pytest.mark.parametrize("values", [(-5.0, -1.0, 0.5), (0.5, -1.0, -5.0), (10.0, 9.0, -5.0), (-5.0, 10.0)])
def test_without_a_figure_the_least_is_shown_by_its_amount(judged: Judged, values: tuple[float, ...]) -> None:
    found = _offsets(judged, *values, figure=False)
    assert (found.measurement.value, found.count, found.figure) == (-5.0, len(values), None)


@pytest.mark.parametrize("values", [(1e-6, -0.2, 0.1), (-0.2, 0.0), (-0.01, -0.2)])
def test_of_values_with_a_most_the_furthest_from_nought_is_shown(
    judged: Judged, values: tuple[float, ...]
) -> None:
    found = _offsets(judged, *values)
    assert found.figure is not None
    assert found.measurement.value == -0.2


def test_of_values_with_a_least_the_least_is_shown(tmp_path: Path) -> None:
    slow = folder.load(runs.build(tmp_path / "run", "slow-rail"))
    pairs = next(one for one in explain(slow, "node-001/r1") if one.measurement.name == "bandwidth")
    assert pairs.measurement.value == pytest.approx(19.0, rel=0.01)
