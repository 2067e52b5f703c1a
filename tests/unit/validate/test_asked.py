"""Whom a run is of: nodes that run jobs, of one Slurm, of whom the same can be proven."""

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


@pytest.mark.parametrize(
    ("spec", "names", "code"),
    [("lab", ["head-001"], "VAL003"), ("hybrid", [], "VAL004")],
)
def test_who_cannot_be_asked_in_one_run_is_told(
    make_asked: Callable[..., Asked], spec: str, names: list[str], code: str
) -> None:
    with pytest.raises(UsageError) as caught:
        make_asked(spec, *names)
    assert caught.value.code == code


def test_each_pool_of_a_hybrid_cluster_is_a_run_of_its_own(make_asked: Callable[..., Asked]) -> None:
    gpus, chips = make_asked("hybrid", "h100-001"), make_asked("hybrid", "trn2-001")
    assert [part.partition for part in (*gpus.parts, *chips.parts)] == ["h100", "trn2"]
    assert Check.NCCL_TESTS in gpus.checks
    assert Check.NCCOM_TEST in chips.checks


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
