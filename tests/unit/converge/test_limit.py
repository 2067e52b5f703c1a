"""``--limit``: what hosts a text means, and what is said of one that means none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.converge.limit import chosen
from rackwright.errors import UsageError
from rackwright.hostlists import folded

if TYPE_CHECKING:
    from rackwright.inventory.model import Inventory


@pytest.mark.parametrize(
    ("limit", "hosts"),
    [
        ("", "head-001,node-[001-005]"),
        ("all", "head-001,node-[001-005]"),
        ("node-003", "node-003"),
        ("node-[001-003,005]", "node-[001-003,005]"),
        ("head-001,node-001", "head-001,node-001"),
        ("node", "node-[001-005]"),
        ("pool_node", "node-[001-004]"),
        ("role_slurm_controller", "head-001"),
        ("node!node-002", "node-[001,003-005]"),
        ("all!node-[001-002],node-001", "head-001,node-[001,003-005]"),
    ],
)
def test_a_limit_means(inventory: Inventory, limit: str, hosts: str) -> None:
    assert folded(chosen(inventory, limit)) == hosts


def test_a_host_that_nobody_may_connect_to_can_be_asked_for(inventory: Inventory) -> None:
    assert "node-005" in inventory.absent
    assert chosen(inventory, "node-005") == {"node-005"}


@pytest.mark.parametrize(
    ("limit", "got", "hint"),
    [
        ("nod-001", "nod-001", "did you mean `node-001`?"),
        ("role_slurm_contoller", "role_slurm_contoller", "did you mean `role_slurm_controller`?"),
        ("node-[004-006]", "node-006", "did you mean"),
        ("node-[3-", "node-[3-", ""),
        ("node-001!node-001", "node-001!node-001", ""),
        (",", ",", ""),
    ],
)
def test_a_limit_that_means_no_host_of_the_plan(
    inventory: Inventory, limit: str, got: str, hint: str
) -> None:
    with pytest.raises(UsageError) as raised:
        chosen(inventory, limit)
    assert raised.value.code == "CONV003"
    assert raised.value.where == "--limit"
    assert raised.value.got.startswith(got)
    assert hint in raised.value.hint
