"""A plan becomes machines: what the factory delivered, cabled as planned, and nothing that is software."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.canonical import dumps
from rackwright.errors import NotProvisionable
from rackwright.lab.model import World
from rackwright.lab.places import LINK_NAME_LIMIT
from rackwright.lab.world import world_of

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.cluster import Cluster
    from rackwright.lab.places import Places

SPEC = paths.repository() / "clusters" / "lab.yaml"


def test_every_machine_is_the_one_the_factory_delivered(world: World) -> None:
    assert [(host.slot, host.serial, host.bmc_address) for host in world.hosts] == [
        ("head-001", "LAB-0001", "10.77.1.16"),
        ("node-001", "LAB-0002", "10.77.1.17"),
        ("node-002", "LAB-0003", "10.77.1.18"),
        ("node-003", "LAB-0004", "10.77.1.19"),
    ]
    assert [host.nics[0].mac for host in world.hosts] == [f"02:77:00:00:00:1{n}" for n in range(4)]


def test_nodes_have_their_rails_and_the_head_has_none(world: World) -> None:
    cables = {
        host.slot: [(nic.interface, nic.segment, nic.rate_mbit) for nic in host.nics] for host in world.hosts
    }
    assert cables["head-001"] == [("mgmt0", "mgmt0", 0)]
    assert cables["node-001"] == cables["node-003"] == [
        ("mgmt0", "mgmt0", 0),
        ("r0", "rail0", 100),
        ("r1", "rail1", 100),
    ]  # fmt: skip


def test_the_machine_itself_stands_in_the_management_network(world: World) -> None:
    assert (world.leg.segment, world.leg.address, world.leg.gateway) == ("mgmt0", "10.77.0.2/24", "10.77.0.1")
    assert world.leg.routes == ("10.77.1.0/24",)


def test_ranges_of_rails_are_known_and_the_router_is_in_none_of_them(world: World) -> None:
    rails = {one.name: (one.cidr, one.addresses) for one in world.segments if one.name.startswith("rail")}
    assert rails == {"rail0": ("10.77.16.0/24", ()), "rail1": ("10.77.17.0/24", ())}


def test_no_mac_is_there_twice_and_all_are_local_and_unicast(world: World) -> None:
    macs = [nic.mac for host in world.hosts for nic in host.nics]
    assert len(set(macs)) == len(macs)
    assert {int(mac[:2], 16) & 0b11 for mac in macs} == {0b10}


def test_names_of_cables_differ_and_fit_the_kernel(world: World) -> None:
    names = [host.cable(nic) for host in world.hosts for nic in host.nics]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= LINK_NAME_LIMIT


def test_the_same_plan_is_the_same_world_and_its_file_holds_it_all(
    world: World, example: Cluster, places: Places, tmp_path: Path
) -> None:
    again = world_of(example.plan, example.catalogue, SPEC, tmp_path / "image", places)
    assert again == world
    assert World.model_validate_json(dumps(world)) == world


def test_a_slot_whose_machine_was_not_delivered_has_none(
    example: Cluster, places: Places, tmp_path: Path
) -> None:
    pool = example.plan.pools["node"]
    without = pool.slots["node-002"].model_copy(update={"asset": None})
    slots = {**pool.slots, "node-002": without}
    pools = {**example.plan.pools, "node": pool.model_copy(update={"slots": slots})}
    plan = example.plan.model_copy(update={"pools": pools})
    world = world_of(plan, example.catalogue, SPEC, tmp_path, places)
    assert [host.slot for host in world.hosts] == ["head-001", "node-001", "node-003"]


def test_machines_that_can_be_bought_are_no_lab(example: Cluster, places: Places, tmp_path: Path) -> None:
    pool = example.plan.pools["node"].model_copy(update={"platform": "dgx-h100"})
    plan = example.plan.model_copy(update={"pools": {**example.plan.pools, "node": pool}})
    with pytest.raises(NotProvisionable) as refused:
        world_of(plan, example.catalogue, SPEC, tmp_path, places)
    assert (refused.value.code, refused.value.got) == ("LAB001", "dgx-h100")


def test_console_logs_go_where_the_spec_says(example: Cluster, places: Places, tmp_path: Path) -> None:
    site = example.plan.sites["hall"]
    assert site.kind == "onprem"
    for logs, folder in (("/var/log/x", "/var/log/x"), ("file:logs", str(SPEC.parent / "logs"))):
        access = site.access.model_copy(update={"console_logs": logs})
        sites = {"hall": site.model_copy(update={"access": access})}
        world = world_of(
            example.plan.model_copy(update={"sites": sites}), example.catalogue, SPEC, tmp_path, places
        )
        assert world.host("head-001").console == f"{folder}/head-001.log"
