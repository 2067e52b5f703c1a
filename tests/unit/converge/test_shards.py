"""Hosts in shards: who serves others first, then one shard a rack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.converge.prepare import apart
from rackwright.converge.shards import phases

if TYPE_CHECKING:
    from rackwright.inventory.model import Inventory


def _named(inventory: Inventory, asked: set[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    return {
        phase.name: {shard.name: shard.hosts for shard in phase.shards} for phase in phases(inventory, asked)
    }


def test_controllers_are_a_phase_of_their_own_and_racks_are_shards(inventory: Inventory) -> None:
    assert _named(inventory, set(inventory.hosts)) == {
        "controllers": {"controllers": ("head-001",)},
        "nodes": {"hall-r01p01": ("node-001", "node-002"), "hall-r01p02": ("node-003", "node-004")},
    }


def test_only_what_is_asked_for_is_in_a_shard_and_no_phase_is_empty(inventory: Inventory) -> None:
    assert _named(inventory, {"node-003"}) == {"nodes": {"hall-r01p02": ("node-003",)}}
    assert _named(inventory, set()) == {}


def test_a_host_without_a_rack_goes_with_its_host_set(inventory: Inventory) -> None:
    bare = {name: host.model_copy(update={"rack": None}) for name, host in inventory.hosts.items()}
    cloud = inventory.model_copy(update={"hosts": bare})
    assert set(_named(cloud, {"node-001", "node-004"})["nodes"]) == {"node-u01"}


def test_a_host_without_a_key_is_apart_with_its_reason_only_where_it_is_asked_for(
    inventory: Inventory,
) -> None:
    (gone,) = apart(inventory, {"node-005", "node-001"}).values()
    assert (gone.status.value, gone.status.exit_code) == ("absent", 3)
    assert gone.reason is not None
    assert gone.reason.message == "no console log: neither"
    assert apart(inventory, {"node-001"}) == {}
