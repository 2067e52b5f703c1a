"""Slurm's files, from plans of examples and of one thing changed in them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.errors import RenderedInvalid
from rackwright.plan.build import build
from rackwright.plan.slurm_settings import DEFAULTS, PLANNED
from rackwright.render import slurm as render
from rackwright.render.files import for_roles, write_all
from rackwright.render.slurm_keys import keys
from rackwright.spec.load import load

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.plan.model import Plan, SlurmPlan

EXAMPLES = (
    "aws-p5",
    "aws-p5en",
    "aws-p6-b300",
    "aws-trn2",
    "hybrid",
    "lab",
    "lab-12",
    "lab-hybrid",
    "onprem-dgx-h100",
)


def plan_of(example: str) -> Plan:
    spec = paths.repository() / "clusters" / f"{example}.yaml"
    return build(load(spec), load_catalogue(), None)[0]


@pytest.fixture(scope="module")
def lab() -> SlurmPlan:
    return plan_of("lab").slurm["main"]


@pytest.fixture(scope="module")
def hybrid() -> SlurmPlan:
    return plan_of("hybrid").slurm["main"]


def lines(slurm: SlurmPlan, name: str = "slurm.conf") -> list[str]:
    return render.files(slurm)[name].splitlines()


def test_what_the_plan_writes_is_what_settings_may_not_name() -> None:
    found: set[str] = set()
    for example in EXAMPLES:
        slurm = plan_of(example).slurm["main"]
        for one in (slurm, slurm.model_copy(update={"accounting": None})):
            text = render.files(one)["slurm.conf"]
            found |= {key.name for key in keys("slurm.conf", text) if key.table == "conf"} - set(one.settings)
    assert found == PLANNED
    assert not PLANNED & set(DEFAULTS)


def test_no_key_stands_twice() -> None:
    for example in EXAMPLES:
        text = render.files(plan_of(example).slurm["main"])["slurm.conf"]
        names = [key.name.lower() for key in keys("slurm.conf", text) if key.table == "conf"]
        assert len(names) == len(set(names))


def test_a_lab_has_no_cgroups_and_no_gres(lab: SlurmPlan) -> None:
    assert {"ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none"} <= set(lines(lab))
    assert "CgroupPlugin=disabled" in lines(lab, "cgroup.conf")
    assert "gres.conf" not in render.files(lab)
    assert not any("Gres" in line for line in lines(lab))


def test_a_real_machine_has_cgroups_and_gres(hybrid: SlurmPlan) -> None:
    assert {"ProctrackType=proctrack/cgroup", "TaskPlugin=task/affinity,task/cgroup", "GresTypes=gpu"} <= set(
        lines(hybrid)
    )
    assert not any(line.startswith("SlurmdParameters") for line in lines(hybrid))
    assert "ConstrainDevices=yes" in lines(hybrid, "cgroup.conf")
    assert lines(hybrid, "gres.conf")[1:] == [
        "NodeName=h100-[001-031] Name=gpu Type=h100 File=/dev/nvidia[0-7]",
        "NodeName=trn2-[001-016] Name=gpu Type=trainium2 File=/dev/neuron[0-15]",
    ]


def test_a_slot_on_demand_is_a_cloud_node_of_its_partition(hybrid: SlurmPlan) -> None:
    cloud = [line for line in lines(hybrid) if line.endswith("State=CLOUD")]
    assert [line.split()[0] for line in cloud] == ["NodeName=trn2-[005-016]"]
    (partition,) = [line for line in lines(hybrid) if line.startswith("PartitionName=trn2")]
    assert "Nodes=trn2-[001-016]" in partition
    assert "SwitchName=trn2-su01 Nodes=trn2-[001-016]" in lines(hybrid, "topology.conf")


def test_only_slots_on_demand_are_ever_given_back(hybrid: SlurmPlan, lab: SlurmPlan) -> None:
    assert {
        "ResumeProgram=/usr/local/lib/rackwright/burst-resume",
        "ResumeFailProgram=/usr/local/lib/rackwright/burst-resume-failed",
        "SuspendProgram=/usr/local/lib/rackwright/burst-suspend",
        "ResumeTimeout=1800",
        "SuspendTime=600",
        "SuspendTimeout=120",
        "SuspendExcNodes=h100-[001-031],trn2-[001-004]",
        "SlurmctldParameters=enable_configless,idle_on_node_suspend,power_save_interval=2,power_save_min_interval=0",
    } <= set(lines(hybrid))
    assert not any(line.startswith(("Suspend", "Resume")) for line in lines(lab))
    assert "SlurmctldParameters=enable_configless" in lines(lab)


def test_the_trees_of_two_sites_have_no_switch_in_common(hybrid: SlurmPlan) -> None:
    spines = [line for line in lines(hybrid, "topology.conf") if "Switches=" in line]
    assert spines == [
        "SwitchName=spine-hall-a Switches=h100-su01",
        "SwitchName=spine-use2 Switches=trn2-su01",
    ]


def test_controllers_stand_in_their_order(lab: SlurmPlan) -> None:
    several = lab.model_copy(update={"controllers": ("head-002", "head-001")})
    hosts = [line for line in lines(several) if line.startswith("SlurmctldHost")]
    assert hosts == ["SlurmctldHost=head-002", "SlurmctldHost=head-001"]


def test_without_a_database_nobody_is_preempted(lab: SlurmPlan) -> None:
    with_it, without = lines(lab), lines(lab.model_copy(update={"accounting": None}))
    assert {"PreemptType=preempt/qos", "PreemptMode=REQUEUE", "AccountingStorageHost=head-001"} <= set(
        with_it
    )
    assert {"PreemptType=preempt/none", "PreemptMode=OFF"} <= set(without)
    assert render.files(lab.model_copy(update={"accounting": None})).keys() == {
        "slurm.conf",
        "cgroup.conf",
        "topology.conf",
    }


def test_no_file_holds_a_password(lab: SlurmPlan) -> None:
    assert "StorageHost=localhost" in lines(lab, "slurmdbd.conf")
    assert not any("pass=" in text.lower() for text in render.files(lab).values())


def test_time_limits(lab: SlurmPlan) -> None:
    part = lab.partitions["all"].model_copy(update={"max_hours": 0.51})
    (line,) = [
        one for one in lines(lab.model_copy(update={"partitions": {"all": part}})) if "Partition" in one
    ]
    assert "MaxTime=31 " in line
    qos = lab.qos["low"].model_copy(update={"max_hours": 49.5})
    records = json.loads(render.files(lab.model_copy(update={"qos": {"low": qos}}))["accounting.json"])[
        "records"
    ]
    assert records[0]["fields"]["MaxWall"] == "2-01:30:00"


def test_a_qos_is_added_after_those_it_preempts(lab: SlurmPlan) -> None:
    document = json.loads(render.files(lab)["accounting.json"])
    assert [(one["kind"], one["name"]) for one in document["records"]] == [
        ("qos", "low"),
        ("qos", "normal"),
        ("account", "cluster"),
        ("user", "rackwright"),
    ]
    assert document["records"][1]["fields"]["Preempt"] == ["low"]


def test_a_value_with_a_space_is_quoted(lab: SlurmPlan) -> None:
    assert 'X11Parameters="a b"' in lines(lab.model_copy(update={"settings": {"X11Parameters": "a b"}}))


def test_a_key_that_slurm_does_not_know_is_not_written(tmp_path: Path) -> None:
    plan = plan_of("lab")
    spoilt = plan.slurm["main"].model_copy(update={"settings": {"KillWat": "5"}})
    with pytest.raises(RenderedInvalid, match=r"would not read slurm\.conf"):
        write_all(plan.model_copy(update={"slurm": {"main": spoilt}}), tmp_path / "rendered")
    assert not (tmp_path / "rendered").exists()


def test_what_was_rendered_before_and_is_no_more_goes(tmp_path: Path) -> None:
    hybrid, lab = plan_of("hybrid"), plan_of("lab")
    assert {file.path for file in write_all(hybrid, tmp_path)} == {file.path for file in for_roles(hybrid)}
    assert (tmp_path / "slurm/main/gres.conf").exists()
    now = lab.model_copy(update={"slurm": {"lab": lab.slurm["main"]}})
    write_all(now, tmp_path)
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {file.path for file in for_roles(now)}
    assert {f"slurm/lab/{name}" for name in render.files(lab.slurm["main"])} < found
    assert not (tmp_path / "slurm/main").exists()
