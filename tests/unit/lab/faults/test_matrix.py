"""The fault matrix is whole, and the page that shows it shows just that."""

from __future__ import annotations

from subprocess import CompletedProcess

import pytest

from rackwright.lab.faults.table import FAULTS
from tests.doubles import fault_matrix
from tests.doubles.fault_matrix import PAGE, Group, Row, groups


def test_the_page_shows_the_matrix() -> None:
    lines = PAGE.read_text().splitlines()
    shown = [line for line in lines if line.startswith("|")]
    assert shown == list(fault_matrix.table())


def test_every_fault_is_in_the_matrix() -> None:
    assert {row.plant.partition(" ")[0] for group in groups() for row in group.rows} == set(FAULTS)


def test_at_least_eight_faults_are_planted_in_each_run_of_the_tests() -> None:
    quick = [group for group in groups("lab") if not group.slow]
    assert len({row.plant.partition(" ")[0] for group in quick for row in group.rows}) >= 8


def test_what_needs_the_large_lab_is_slow() -> None:
    assert all(group.slow for group in groups("lab-12"))


GROUP = Group(
    name="x",
    lab="lab",
    run="converge --limit a,b",
    exit=1,
    rows=(Row("no-ssh a", "a", "unreachable", "no answer"), Row("kill b", "b", "failed", "off")),
    also={},
)
GOOD = "a: unreachable: base: no answer to ssh\n  b: failed: it was found\n      off\n  c: fine\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, GOOD),
        (1, GOOD.replace("no answer", "an answer")),
        (1, GOOD.replace("b: failed", "b: unreachable")),
        (1, GOOD.replace("a: ", "c: ")),
        (1, GOOD.replace("      off", "  off")),
    ],
)
def test_what_was_said_otherwise_is_found(code: int, said: str) -> None:
    GROUP.check(CompletedProcess((), 1, GOOD, ""))
    with pytest.raises(AssertionError):
        GROUP.check(CompletedProcess((), code, said, ""))
