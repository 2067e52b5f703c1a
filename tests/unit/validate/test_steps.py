"""What is made of a check: batches of steps, and what is left out with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.validate import suite as suites
from rackwright.validate.steps import Ground, batches

if TYPE_CHECKING:
    from rackwright.validate.asked import Node
    from rackwright.validate.steps import Batch, Planned

SUITE = suites.load("acceptance")


def made(check: str, ground: Ground) -> list[Batch]:
    return list(batches(next(one for one in SUITE.checks if one.check == check), ground))


def steps(check: str, ground: Ground) -> list[Planned]:
    return [step for batch in made(check, ground) for step in batch]


def test_the_matrix_product_is_one_node_after_the_other(nodes: list[Node]) -> None:
    assert [[step.name for step in batch] for batch in made("matrix", Ground(nodes))] == [
        ["matrix/node-001"],
        ["matrix/node-002"],
        ["matrix/node-003"],
    ]


def test_the_links_of_all_are_asked_at_once(nodes: list[Node]) -> None:
    (batch,) = made("links", Ground(nodes))
    assert [step.nodes for step in batch] == [("node-001",), ("node-002",), ("node-003",)]


@pytest.mark.parametrize("check", ["links", "clock", "matrix", "memory", "disk", "pairs", "collectives"])
def test_names_are_unique_and_fit_for_files(check: str, nodes: list[Node]) -> None:
    names = [step.name for step in steps(check, Ground(nodes))]
    assert len(set(names)) == len(names)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-+/") for name in names)


def test_a_pair_is_measured_on_each_rail_in_both_directions(nodes: list[Node]) -> None:
    found = {
        (step.context.rail, step.context.direction)
        for step in steps("pairs", Ground(nodes))
        if step.nodes == ("node-001", "node-002")
    }
    assert found == {(0, "forward"), (0, "reverse"), (1, "forward"), (1, "reverse")}


def test_no_node_is_in_two_pairs_of_a_rail_at_once(nodes: list[Node]) -> None:
    for batch in made("pairs", Ground(nodes)):
        busy = [(name, step.context.rail) for step in batch for name in step.nodes]
        assert len(set(busy)) == len(busy)


def test_rails_may_be_measured_one_after_the_other(nodes: list[Node]) -> None:
    pairs = next(one for one in SUITE.checks if isinstance(one, suites.Pairs))
    alone = list(batches(pairs.model_copy(update={"rails_at_once": False}), Ground(nodes)))
    assert all(len({step.context.rail for step in batch}) == 1 for batch in alone)


def test_a_port_without_carrier_is_left_out_of_pairs_with_its_reason(nodes: list[Node]) -> None:
    found = steps("pairs", Ground(nodes, frozenset({("node-002", "compute", 1)})))
    out = [step for step in found if step.task is None]
    assert {step.name for step in out} == {
        f"pairs/compute-1/{pair}/{way}"
        for pair in ("node-001+node-002", "node-002+node-003")
        for way in ("forward", "reverse")
    }
    assert {step.reason for step in out} == {"node-002 has no carrier on rail 1 of compute"}


def test_collectives_go_over_each_rail_alone_and_then_over_all(nodes: list[Node]) -> None:
    found = steps("collectives", Ground(nodes))
    assert [
        (step.name, step.task.environment["OMPI_MCA_btl_tcp_if_include"]) for step in found if step.task
    ] == [
        ("collectives/compute-0", "r0"),
        ("collectives/compute-1", "r1"),
        ("collectives/compute", "r0,r1"),
    ]


def test_a_node_with_a_dark_port_is_left_out_of_collectives_over_it(nodes: list[Node]) -> None:
    found = steps("collectives", Ground(nodes, frozenset({("node-002", "compute", 1)})))
    assert {step.name: (step.nodes, step.task is not None) for step in found} == {
        "collectives/compute-0": (("node-001", "node-002", "node-003"), True),
        "collectives/compute-1/node-002": (("node-002",), False),
        "collectives/compute-1": (("node-001", "node-003"), True),
        "collectives/compute/node-002": (("node-002",), False),
        "collectives/compute": (("node-001", "node-003"), True),
    }


@pytest.mark.parametrize("check", ["clock", "collectives"])
def test_one_node_alone_exchanges_nothing_and_says_so(check: str, nodes: list[Node]) -> None:
    for step in steps(check, Ground(nodes[:1])):
        assert step.task is None
        assert step.reason == "1 node left, and it takes 2"


@pytest.mark.parametrize("check", ["nccl-tests", "nccom-test"])
def test_a_part_of_which_no_node_is_left_is_told(check: str) -> None:
    """All may be lost before their turn; the other parts are measured all the same."""
    (step,) = steps(check, Ground(()))
    assert (step.task, step.nodes) == (None, ())
    assert step.reason == "no node is left"


def test_a_single_node_has_no_pairs(nodes: list[Node]) -> None:
    assert made("pairs", Ground(nodes[:1])) == []


def test_the_environment_of_mpi_is_that_of_the_suite(nodes: list[Node]) -> None:
    (step,) = steps("clock", Ground(nodes, mpi=SUITE.mpi))
    assert step.task is not None
    assert step.task.environment == {**SUITE.mpi, "OMPI_MCA_btl_tcp_if_include": "mgmt0"}


def test_memory_is_a_share_of_what_jobs_may_have(nodes: list[Node]) -> None:
    for step in steps("memory", Ground(nodes)):
        assert step.task is not None
        assert f"{int(900 * 0.08)}M" in step.task.words
