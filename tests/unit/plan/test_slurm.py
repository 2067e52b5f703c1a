"""A Slurm is planned from its spec: hosts, units, states, and what keeps one from being planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import SpecInvalid
from rackwright.plan.slurm_settings import DEFAULTS
from rackwright.spec.schedulers import BurstTimes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan, SlurmPlan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]

SWITCHED = {
    "kind": "infiniband",
    "speed": "ndr",
    "manager": {"kind": "opensm"},
    "topology": {"kind": "fat-tree", "attach": "rail", "unit_nodes": 4, "switch": "qm9700"},
}


@pytest.fixture
def values(hall: Values) -> Values:
    """The hall, with a scheduler over its nodes."""
    hall["pools"]["head"]["roles"] = ["slurm-controller", "slurmdbd"]
    hall["schedulers"] = {
        "main": {"kind": "slurm", "sites": ["hall"], "partitions": {"all": {"pools": ["node"]}}}
    }
    return hall


def slurm(plan_of: PlanOf, values: Values, delivered: Iterable[str] = ()) -> SlurmPlan:
    return plan_of(values, delivered=delivered)[0].slurm["main"]


def refused(plan_of: PlanOf, values: Values) -> list[tuple[str, str]]:
    with pytest.raises(SpecInvalid) as error:
        plan_of(values)
    return [(finding.code, str(finding.path)) for finding in error.value.findings]


def test_who_runs_what(plan_of: PlanOf, values: Values) -> None:
    planned = slurm(plan_of, values)
    assert (planned.cluster, planned.version) == ("small-main", "24.11")
    assert (planned.controllers, planned.accounting) == (("head-001",), "head-001")
    assert planned.pools["node"].nodes == ("node-001", "node-002", "node-003", "node-004")
    assert planned.users == ("rackwright",)


def test_a_node_is_awaited_until_it_is_delivered(plan_of: PlanOf, values: Values) -> None:
    nodes = slurm(plan_of, values, delivered=["node-001", "node-003"]).pools["node"]
    assert nodes.awaited == ("node-002", "node-004")


def test_a_second_controller_needs_a_shared_state(plan_of: PlanOf, values: Values) -> None:
    values["pools"]["head"]["nodes"] = {"static": 2}
    assert slurm(plan_of, values).controllers == ("head-001",)
    values["schedulers"]["main"]["state_folder"] = "/shared/slurm"
    assert slurm(plan_of, values).controllers == ("head-001",)
    values["storage"] = {"shared": {"kind": "lustre", "site": "hall", "mount": "/shared", "existing": "a:/b"}}
    assert slurm(plan_of, values).controllers == ("head-001", "head-002")
    values["storage"]["shared"]["mount"] = "/share"
    assert slurm(plan_of, values).controllers == ("head-001",)


def test_units_are_those_of_the_fat_tree(plan_of: PlanOf, values: Values) -> None:
    values["pools"]["node"] |= {"platform": "dgx-h100", "nodes": {"static": 8}, "nodes_per_rack": 1}
    values["sites"]["hall"]["racks"] = {"rows": 1, "per_row": 12, "units": 12, "power_kw": 12}
    values["fabrics"]["compute"] = SWITCHED
    planned = slurm(plan_of, values)
    assert {unit: len(slots) for unit, slots in planned.units.items()} == {"node-su01": 4, "node-su02": 4}
    assert planned.spines == {"spine-hall": ("node-su01", "node-su02")}


def test_a_retired_slot_moves_no_other_to_another_unit(plan_of: PlanOf, values: Values) -> None:
    values["pools"]["node"]["nodes"] = {"static": 34, "retired": [1]}
    values["pools"]["node"]["nodes_per_rack"] = 12
    values["sites"]["hall"]["racks"]["per_row"] = 4
    units = slurm(plan_of, values).units
    assert (units["node-su01"][0], units["node-su01"][-1]) == ("node-002", "node-032")
    assert units["node-su02"] == ("node-033", "node-034")


def test_a_burst_slot_of_a_zone_is_a_node_on_demand(plan_of: PlanOf, zone: Values) -> None:
    zone["images"]["neuron"]["slurm"] = "24.11"
    zone["schedulers"] = {
        "main": {"kind": "slurm", "sites": ["use2"], "partitions": {"all": {"pools": ["trn2"]}}}
    }
    planned = slurm(plan_of, zone)
    assert planned.pools["trn2"].nodes == ("trn2-001", "trn2-002")
    assert planned.pools["trn2"].awaited == ()
    assert planned.pools["trn2"].burst == ("trn2-003", "trn2-004", "trn2-005")
    assert planned.units == {"trn2-su01": tuple(f"trn2-{number:03d}" for number in range(1, 6))}
    assert planned.burst == BurstTimes()
    assert planned.users == ("rackwright",)


def test_a_burst_slot_of_a_hall_is_no_node(plan_of: PlanOf, values: Values) -> None:
    values["pools"]["node"]["nodes"] = {"static": 3, "burst": 1}
    planned = slurm(plan_of, values)
    assert planned.pools["node"].burst == ()
    assert planned.burst is None
    assert planned.units == {"node-su01": ("node-001", "node-002", "node-003")}


def test_the_spec_may_replace_a_setting_whatever_its_case(plan_of: PlanOf, values: Values) -> None:
    values["schedulers"]["main"]["settings"] = {"mpidefault": "none", "KillWait": 5}
    settings = slurm(plan_of, values).settings
    assert settings == {k: v for k, v in DEFAULTS.items() if k != "MpiDefault"} | {
        "mpidefault": "none",
        "KillWait": "5",
    }


def test_jobs_are_held_to_memory_where_they_have_a_cgroup_and_it_is_known(
    plan_of: PlanOf, values: Values
) -> None:
    def given(platform: str) -> tuple[str, str | None]:
        values["pools"]["node"] |= {"platform": platform, "fabrics": {}}
        settings = slurm(plan_of, values).settings
        return settings["SelectTypeParameters"], settings.get("DefMemPerCPU")

    assert given("lab-guest") == ("CR_Core_Memory", "400")
    assert given("cpu-1u") == ("CR_Core", None), "no source tells its memory"
    assert given("lab-node") == ("CR_Core", None), "a container's jobs have no cgroup"


@pytest.mark.parametrize(
    ("platform", "wish", "stated", "logins", "flags"),
    [
        ("cpu-1u", {}, {}, "job", {"PrologFlags": "Contain"}),
        ("cpu-1u", {"logins": "open"}, {}, "open", {}),
        ("cpu-1u", {}, {"prologflags": "Alloc"}, "job", {"prologflags": "Alloc,Contain"}),
        ("cpu-1u", {}, {"PrologFlags": "alloc,X11"}, "job", {"PrologFlags": "alloc,X11"}),
        ("lab-node", {"logins": "job"}, {}, "open", {}),
    ],
)
def test_a_login_belongs_to_a_job_where_jobs_have_a_cgroup(  # noqa: PLR0913 (a row of the table)
    plan_of: PlanOf,
    values: Values,
    *,
    platform: str,
    wish: Values,
    stated: dict[str, str],
    logins: str,
    flags: dict[str, str],
) -> None:
    values["pools"]["node"] |= {"platform": platform, "fabrics": {}}
    values["schedulers"]["main"] |= {**wish, "settings": stated}
    planned = slurm(plan_of, values)
    assert planned.logins == logins
    assert {key: value for key, value in planned.settings.items() if key.lower() == "prologflags"} == flags


def test_the_only_partition_is_the_default(plan_of: PlanOf, values: Values) -> None:
    assert slurm(plan_of, values).partitions["all"].default
    values["schedulers"]["main"]["partitions"]["more"] = {"pools": ["node"]}
    assert not any(part.default for part in slurm(plan_of, values).partitions.values())


def test_an_image_whose_slurm_nobody_knows(plan_of: PlanOf, values: Values) -> None:
    values["images"]["base"] = {"os": "ubuntu-24.04"}
    assert refused(plan_of, values) == [("SLURM005", "images.base")]
    values["images"]["base"]["slurm"] = "23.11"
    assert slurm(plan_of, values).version == "23.11"


def test_one_release_over_all_hosts(plan_of: PlanOf, values: Values) -> None:
    values["images"]["other"] = {"os": "debian-13", "slurm": "25.05"}
    values["pools"]["node"]["image"] = "other"
    assert refused(plan_of, values) == [("SLURM006", "images.other.slurm")]
    values["images"]["other"]["slurm"] = "24.11"
    assert slurm(plan_of, values).version == "24.11"


def test_one_way_to_confine_jobs(plan_of: PlanOf, values: Values) -> None:
    values["pools"]["cpu"] = {"site": "hall", "platform": "cpu-1u", "nodes": {"static": 1}, "image": "base"}
    values["schedulers"]["main"]["partitions"]["cpu"] = {"pools": ["cpu"]}
    assert refused(plan_of, values) == [("SLURM007", "pools.node.platform")]
    del values["schedulers"]["main"]["partitions"]["cpu"]
    assert slurm(plan_of, values).host.proctrack == "linuxproc"
