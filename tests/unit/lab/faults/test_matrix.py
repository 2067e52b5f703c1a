"""The fault matrix is whole, and the page that shows it shows just that."""

from __future__ import annotations

from subprocess import CompletedProcess

import pytest

from rackwright.lab.faults.table import FAULTS
from tests.doubles import fault_matrix
from tests.doubles.fault_matrix import PAGE, Group, Row, groups

ELSEWHERE = {"link-down", "mtu-black-hole", "no-capacity", "throttled"}
"""Faults of clouds; docs/faults.md names their tests."""


def test_the_page_shows_the_matrix() -> None:
    lines = PAGE.read_text().splitlines()
    shown = [line for line in lines if line.startswith("|")]
    assert shown == list(fault_matrix.table())


def test_every_fault_is_in_the_matrix_or_the_page_says_where_it_is_shown() -> None:
    planted = {row.plant.partition(" ")[0] for group in groups() for row in group.rows}
    assert planted | ELSEWHERE == set(FAULTS)
    assert planted & ELSEWHERE == set()
    assert all(f"`{name}`" in PAGE.read_text() for name in ELSEWHERE)


def test_at_least_eight_faults_are_planted_in_each_run_of_the_tests() -> None:
    assert len({row.plant.partition(" ")[0] for group in groups("lab") for row in group.rows}) >= 8


GROUP = Group(
    name="x",
    lab="lab",
    run="converge --limit a,b",
    exit=1,
    rows=(Row("no-ssh a", "a", "unreachable", "no answer"), Row("kill b", "b", "failed", "off")),
    also={},
)
GOOD = "a: unreachable: base: no answer to ssh\n  b: failed: it is off\n"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (0, GOOD),
        (1, GOOD.replace("no answer", "an answer")),
        (1, GOOD.replace("b: failed", "b: unreachable")),
        (1, GOOD.replace("a: ", "c: ")),
    ],
)
def test_what_was_said_otherwise_is_found(code: int, said: str) -> None:
    GROUP.check(CompletedProcess((), 1, GOOD, ""))
    with pytest.raises(AssertionError):
        GROUP.check(CompletedProcess((), code, said, ""))
