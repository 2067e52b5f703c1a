"""The report of thousands of subjects: small enough for a mail, and honest about what it does not show."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.model import Measurements, Tool, Unit
from rackwright.verdict.model import Value
from rackwright.verdict.report import html
from rackwright.verdict.report.figures import number
from tests.doubles.reported import measured, names, reported, step

if TYPE_CHECKING:
    from tests.doubles.reported import Reported

MOST_BYTES = 5_000_000
NODES = 1366
"""Of two rails each: with their site 4,099 subjects."""


@pytest.fixture(scope="module")
def big() -> Reported:
    return reported(NODES, slow="node-002")


def _page(subject: Reported, **changed: object) -> str:
    verdict = subject.verdict.model_copy(update=changed)
    return html(verdict, subject.run, subject.measurements, subject.expectations)


def test_four_thousand_subjects_are_at_most_five_megabytes(big: Reported) -> None:
    page = _page(big)
    assert len(big.verdict.subjects) >= 4096
    assert len(page.encode()) <= MOST_BYTES
    assert "more steps, which all ended well: run.json has each of them" in page


def test_they_are_if_each_of_them_fails(big: Reported) -> None:
    failed = next(one for one in big.verdict.subjects if one.verdict is Value.FAIL and one.reasons[0].action)
    subjects = tuple(
        one.model_copy(update={"verdict": Value.FAIL, "reasons": failed.reasons})
        for one in big.verdict.subjects
    )
    page = _page(big, subjects=subjects, verdict=Value.FAIL)
    assert len(page.encode()) <= MOST_BYTES
    assert all(f">{one.name}</" in page for one in subjects), "nobody who failed is left out"


def test_of_more_that_passed_the_rest_is_counted(big: Reported) -> None:
    passed = [one for one in big.verdict.subjects if one.verdict is Value.PASS]
    many = tuple(one.model_copy(update={"name": f"{one.name}-{copy}"}) for copy in "ab" for one in passed)
    page = _page(big, subjects=many, verdict=Value.PASS)
    assert page.count('<span class="badge pass">PASS</span></td>') == 4096
    assert f"{number(len(many) - 4096, 12)} more that passed: verdict.json has each of them" in page


def test_counters_that_differ_on_each_port_do_not_swell_it(big: Reported) -> None:
    """Of three counters of four ports of each node no value is that of another port."""
    made = step("counters/all", Tool.COUNTERS, names(NODES))
    numbers = count()
    counters = tuple(
        measured(
            made,
            name,
            next(numbers),
            unit,
            node=node,
            parameters={"counter": counter, "device": f"mlx5_{port}"},
        )
        for node in names(NODES)
        for port in range(4)
        for counter in ("port_xmit_data", "port_rcv_data", "symbol_error")
        for name, unit in (("growth", Unit.COUNT), ("rate", Unit.OPS_S))
    )
    values = Measurements(measurements=(*big.measurements.measurements, *counters))
    run = big.run.model_copy(update={"steps": (*big.run.steps, made)})
    page = _page(replace(big, run=run, measurements=values))
    assert len(page.encode()) <= MOST_BYTES
    assert "counters: rate, counter symbol_error" in page
