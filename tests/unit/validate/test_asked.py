"""Whom a run is of: nodes that run jobs, of one Slurm, in a job for each that can be had and proven alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.catalogue.model import Check
from rackwright.cli.cluster import open_cluster
from rackwright.errors import UsageError
from rackwright.inventory.model import SCHEMA, Absence, Absent, Inventory
from rackwright.validate.asked import Port, asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwright.cli.cluster import Cluster
    from rackwright.validate.asked import Asked


def inventory(**absences: Absence) -> Inventory:
    gone = {
        name.replace("_", "-"): Absent(
            site="hall", pool="node", absence=absence, code="", reason="why", got="", hint=""
        )
        for name, absence in absences.items()
    }
    empty: Mapping[str, object] = {
        "schema": SCHEMA,
        "cluster": "x",
        "domain": "x",
        "hosts": {},
        "absent": gone,
    }
    return Inventory.model_validate(empty)


@pytest.fixture
def make_asked() -> Callable[..., Asked]:
    def make(spec: str, *names: str, on_demand: bool = False, **absences: Absence) -> Asked:
        cluster: Cluster = open_cluster(paths.repository() / "clusters" / f"{spec}.yaml")
        every = [name for pool in cluster.plan.pools.values() for name in pool.slots]
        gone = inventory(**absences)
        return asked(cluster.plan, cluster.catalogue, gone, names or every, on_demand=on_demand)

    return make


def test_nodes_of_the_partition_are_asked_and_the_head_is_not(make_asked: Callable[..., Asked]) -> None:
    whom = make_asked("lab")
    assert list(whom.nodes) == ["node-001", "node-002", "node-003"]
    assert (whom.controller, [part.partition for part in whom.parts]) == ("head-001", ["all"])
    assert whom.nodes["node-002"].ports == (
        Port("compute", 0, "r0", "10.77.16.18"),
        Port("compute", 1, "r1", "10.77.17.18"),
    )
    assert Check.NCCL_TESTS not in whom.checks


def test_a_host_in_maintenance_is_held_and_one_without_a_key_is_lost(
    make_asked: Callable[..., Asked],
) -> None:
    whom = make_asked("lab", node_001=Absence.HELD, node_002=Absence.NO_KEY)
    assert (whom.held, whom.lost) == ({"node-001": "why"}, {"node-002": "not in the inventory: why"})
    assert [node.name for node in whom.without({*whom.held, *whom.lost})] == ["node-003"]


def test_what_the_factory_has_not_delivered_is_not_asked_for(make_asked: Callable[..., Asked]) -> None:
    assert list(make_asked("lab", node_003=Absence.UNDELIVERED).nodes) == ["node-001", "node-002"]


def test_who_runs_no_jobs_is_told(make_asked: Callable[..., Asked]) -> None:
    with pytest.raises(UsageError) as caught:
        make_asked("lab", "head-001")
    assert caught.value.code == "VAL003"


def test_nodes_of_two_slurms_are_no_one_run() -> None:
    cluster = open_cluster(paths.repository() / "clusters" / "hybrid.yaml")
    (slurm,) = cluster.plan.slurm.values()
    apart = {pool: slurm.model_copy(update={"pools": {pool: slurm.pools[pool]}}) for pool in slurm.pools}
    plan = cluster.plan.model_copy(update={"slurm": apart})
    with pytest.raises(UsageError) as caught:
        asked(plan, cluster.catalogue, inventory(), ["h100-001", "trn2-001"])
    assert (caught.value.code, caught.value.got) == ("VAL004", "nodes of h100, trn2")


def test_gpus_and_trainium_are_one_run_and_each_node_is_proven_by_what_its_platform_declares(
    make_asked: Callable[..., Asked],
) -> None:
    whom = make_asked("hybrid", "h100-001", "h100-002", "trn2-001")
    assert [(part.partition, part.nodes) for part in whom.parts] == [
        ("h100", ("h100-001", "h100-002")),
        ("trn2", ("trn2-001",)),
    ]
    assert whom.not_proven_by(Check.NCCL_TESTS) == ("trn2-001",)
    assert whom.not_proven_by(Check.NCCOM_TEST) == ("h100-001", "h100-002")
    assert whom.not_proven_by(Check.CLOCK) == whom.not_proven_by(Check.LINK) == ()


def test_nodes_of_one_partition_that_are_not_proven_alike_are_two_jobs() -> None:
    cluster = open_cluster(paths.repository() / "clusters" / "hybrid.yaml")
    (name, slurm), *_ = cluster.plan.slurm.items()
    both = {"all": slurm.partitions["h100"].model_copy(update={"pools": ("h100", "trn2")})}
    plan = cluster.plan.model_copy(update={"slurm": {name: slurm.model_copy(update={"partitions": both})}})
    whom = asked(plan, cluster.catalogue, inventory(), ["h100-001", "trn2-001", "trn2-002"])
    assert sorted((part.partition, part.nodes) for part in whom.parts) == [
        ("all", ("h100-001",)),
        ("all", ("trn2-001", "trn2-002")),
    ]


def test_nodes_of_two_sites_are_one_run_in_a_job_for_each_partition(make_asked: Callable[..., Asked]) -> None:
    whom = make_asked("lab-hybrid", cnode_002=Absence.ON_DEMAND)
    assert {node.name: node.site for node in whom.nodes.values()} == {
        "cnode-001": "cloud",
        "node-001": "hall",
        "node-002": "hall",
        "node-003": "hall",
    }
    assert [(part.partition, part.nodes) for part in whom.parts] == [
        ("cloud", ("cnode-001",)),
        ("hall", ("node-001", "node-002", "node-003")),
    ]


def test_slots_on_demand_are_asked_where_that_is_wanted_and_slurm_has_time_to_launch_them(
    make_asked: Callable[..., Asked],
) -> None:
    whom = make_asked("lab-hybrid", on_demand=True, cnode_002=Absence.ON_DEMAND)
    cloud, hall = whom.parts
    assert (cloud.nodes, cloud.on_demand) == (("cnode-001", "cnode-002"), frozenset({"cnode-002"}))
    assert cloud.launched_within_s == 15 + 300, "given back first, and launched then"
    assert (hall.on_demand, hall.launched_within_s) == (frozenset(), 0)
    assert not {*whom.held, *whom.missing, *whom.lost}


def test_a_slot_without_an_instance_is_missing_and_not_lost(make_asked: Callable[..., Asked]) -> None:
    whom = make_asked("lab-hybrid", cnode_001=Absence.NO_INSTANCE, cnode_002=Absence.ON_DEMAND)
    assert (whom.missing, whom.lost) == ({"cnode-001": "why"}, {})
    assert "cnode-001" in whom.nodes
