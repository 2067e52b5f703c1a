"""Blocks of a Slurm: their sizes, and what keeps slurmctld from starting with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.errors import SpecInvalid
from rackwright.plan.slurm_topology import block_sizes, doubling, misfits, units
from rackwright.spec.schedulers import BlockTopology, TreeTopology

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]

BLOCK = BlockTopology(kind="block")


@pytest.fixture
def values(hall: Values) -> Values:
    """The hall with a scheduler of blocks over its nodes, which hang on units of two."""
    hall["pools"]["head"]["roles"] = ["slurm-controller", "slurmdbd"]
    tree = {"kind": "fat-tree", "attach": "rail", "unit_nodes": 2, "switch": "sn5600"}
    hall["fabrics"]["compute"] = {"kind": "ethernet", "speed": "100m", "topology": tree}
    hall["schedulers"] = {
        "main": {
            "kind": "slurm",
            "sites": ["hall"],
            "topology": {"kind": "block"},
            "partitions": {"all": {"pools": ["node"]}},
        }
    }
    return hall


def of(nodes: int, size: int) -> dict[str, tuple[str, ...]]:
    return units("n", size, ((number, f"n-{number:03d}") for number in range(1, nodes + 1)))


def test_blocks_are_planned_and_have_no_spines(plan_of: PlanOf, values: Values) -> None:
    planned = plan_of(values)[0].slurm["main"]
    assert planned.units == {"node-su01": ("node-001", "node-002"), "node-su02": ("node-003", "node-004")}
    assert planned.block_sizes == (2, 4)
    assert planned.spines == {}


def test_two_fabrics_of_a_hall_are_two_trees(plan_of: PlanOf, values: Values) -> None:
    values["schedulers"]["main"]["topology"] = {"kind": "tree"}
    assert set(plan_of(values)[0].slurm["main"].spines) == {"spine-hall"}
    values["fabrics"]["other"] = dict(values["fabrics"]["compute"])
    values["pools"]["more"] = {**values["pools"]["node"], "fabrics": {"other": {"nics": 2}}}
    values["schedulers"]["main"]["partitions"]["more"] = {"pools": ["more"]}
    assert plan_of(values)[0].slurm["main"].spines == {
        "spine-compute": ("node-su01", "node-su02"),
        "spine-other": ("more-su01", "more-su02"),
    }


def test_a_retired_node_makes_a_block_too_small(plan_of: PlanOf, values: Values) -> None:
    values["fabrics"]["compute"]["topology"]["partial"] = True
    values["pools"]["node"]["nodes"]["retired"] = [4]
    with pytest.raises(SpecInvalid) as error:
        plan_of(values)
    (finding,) = error.value.findings
    assert (finding.code, str(finding.path)) == ("SLURM018", "schedulers.main.topology")
    assert "node-su02" in finding.message
    values["schedulers"]["main"]["topology"]["sizes"] = [1, 2]  # as the hint says
    assert plan_of(values)[0].slurm["main"].block_sizes == (1, 2)


def test_a_tree_has_no_block_sizes() -> None:
    assert block_sizes(TreeTopology(), 18, of(36, 18)) == ()


def test_short_blocks_are_allowed_from_their_release_on() -> None:
    assert [one.code for one in misfits("main", (18,), of(20, 18), "24.11")] == ["SLURM018"]
    assert list(misfits("main", (18,), of(20, 18), "25.05")) == []


@pytest.mark.parametrize("sizes", [(18, 54), (18, 20), (36, 18), (18, 18), (1, 1 << 16)], ids=str)
def test_sizes_that_slurm_has_no_level_for(sizes: tuple[int, ...]) -> None:
    found = [one.code for one in misfits("main", sizes, of(72, 36), "24.11")]
    assert found == ["SLURM019"]


@given(st.integers(1, 2000), st.integers(1, 40))
def test_sizes_of_our_own_are_always_right(nodes: int, size: int) -> None:
    blocks = of(nodes - nodes % size or size, size)
    sizes = block_sizes(BLOCK, size, blocks)
    assert list(misfits("main", sizes, blocks, "24.11")) == []
    assert sizes[-1] <= size * len(blocks)
    assert all(doubling(size, one) for one in sizes)
