"""The real slurmctld of Debian 13 on the files that plans are rendered to."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
import yaml
from ClusterShell.NodeSet import NodeSet  # type: ignore[import-untyped]  # (it has no types)

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.cli.cluster import open_cluster
from rackwright.errors import SpecInvalid
from rackwright.lab.up import image
from rackwright.plan.build import build
from rackwright.render import slurm as render
from rackwright.spec.load import load
from rackwright.spec.schedulers import BurstTimes
from tests.doubles import big_spec
from tests.doubles.slurmctld import Slurmctld

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.plan.model import Plan, SlurmPlan

CLUSTERS = paths.repository() / "clusters"
NODES, UNIT = 3072, 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    if os.geteuid() != 0:
        pytest.skip("namespaces and mounts need root")
    if not (image() / "usr/sbin/slurmctld-wlm").exists():
        pytest.skip(f"no slurmctld in the image at {image()}; `make setup` makes it")
    made = tmp_path / "root"
    made.mkdir()
    return made


def without_database(slurm: SlurmPlan) -> SlurmPlan:
    """A slurmctld whose database never answered does not start; the roles' tests have one."""
    return slurm.model_copy(update={"accounting": None})


@contextlib.contextmanager
def running(folder: Path, plan: Plan, change: tuple[str, str] = ("", "")) -> Iterator[Slurmctld]:
    slurm = without_database(plan.slurm["main"])
    files = render.files(slurm)
    if change[0]:
        assert change[0] in files["slurm.conf"]
        files["slurm.conf"] = files["slurm.conf"].replace(*change)
    with Slurmctld(image().resolve(), folder, slurm.controllers[0]) as controller:
        controller.lay_out(files, (name for pool in plan.pools.values() for name in pool.slots))
        yield controller


def example(name: str) -> Plan:
    return open_cluster(CLUSTERS / f"{name}.yaml").plan


def big(folder: Path) -> Plan:
    path = big_spec.write(folder, NODES)
    values = yaml.safe_load(path.read_text())
    values["pools"]["head"] = {
        "site": "hall",
        "platform": "cpu-1u",
        "nodes": {"static": 1},
        "image": "dgx",
        "roles": ["slurm-controller"],
    }
    values["images"]["dgx"]["slurm"] = "24.11"
    values["sites"]["hall"]["racks"]["per_row"] += 1
    values["schedulers"] = {
        "main": {"kind": "slurm", "sites": ["hall"], "partitions": {"all": {"pools": ["node"]}}}
    }
    path.write_text(yaml.safe_dump(values))
    return build(load(path), load_catalogue(), None)[0]


def switches(controller: Slurmctld) -> dict[str, str]:
    return {switch["SwitchName"]: switch["Nodes"] for switch in controller.show("topology")}


def wrong(log: str) -> list[str]:
    """Errors that are neither of a first start nor of what Debian and this test leave out."""
    first = ("state file", "state save file", "plugstack.conf", "but not stored")
    return [line for line in log.splitlines() if "error:" in line and not any(one in line for one in first)]


@pytest.mark.lab
def test_the_lab(folder: Path) -> None:
    with running(folder, example("lab")) as controller:
        assert wrong(controller.start()) == []
        nodes = {node["NodeName"]: node for node in controller.show("nodes")}
        assert list(nodes) == ["node-001", "node-002", "node-003"]
        assert {(node["CPUTot"], node["RealMemory"], node["Gres"]) for node in nodes.values()} == {
            ("2", "900", "(null)")
        }
        (partition,) = controller.show("partitions")
        assert (partition["PartitionName"], partition["Default"]) == ("all", "YES")
        assert switches(controller) == {"node-su01": "node-[001-003]", "spine-hall": "node-[001-003]"}
        told = controller.run("scontrol", "show", "config")
        for setting in ("SlurmdTimeout           = 10 sec", "ReturnToService         = 2", "cred_expire=5"):
            assert setting in told


@pytest.mark.lab
def test_a_hall_of_dgx_h100_of_which_one_unit_is_delivered(folder: Path) -> None:
    with running(folder, example("onprem-dgx-h100")) as controller:
        assert wrong(controller.start()) == []
        nodes = controller.show("nodes")
        assert [node["NodeName"] for node in nodes] == [f"h100-{number:03d}" for number in range(1, 33)]
        assert {(node["CPUTot"], node["Gres"]) for node in nodes} == {("224", "gpu:h100:8")}
        (partition,) = controller.show("partitions")
        assert partition["Nodes"] == "h100-[001-127]"
        assert switches(controller) == {
            "h100-su01": "h100-[001-032]",
            "h100-su02": "h100-[033-064]",
            "h100-su03": "h100-[065-096]",
            "h100-su04": "h100-[097-127]",
            "spine-hall-a": "h100-[001-127]",
        }


@pytest.mark.lab
def test_3072_nodes(folder: Path, tmp_path: Path) -> None:
    with running(folder, big(tmp_path / "spec")) as controller:
        assert wrong(controller.start()) == []
        nodes = controller.show("nodes")
        assert len(nodes) == NODES
        assert {node["Gres"] for node in nodes} == {"gpu:h100:8"}
        assert len(switches(controller)) == NODES // UNIT + 1


def blocks(sizes: list[int] | None) -> Plan:
    """The UltraServers: sixteen blocks of four nodes."""
    path = CLUSTERS / "fabrics" / "trn2-ultraservers.yaml"
    loaded = load(path)
    if sizes is not None:
        main = loaded.spec.schedulers["main"]
        topology = main.topology.model_copy(update={"sizes": sizes})
        wider = {"main": main.model_copy(update={"topology": topology})}
        loaded = replace(loaded, spec=loaded.spec.model_copy(update={"schedulers": wider}))
    return build(loaded, load_catalogue(), None)[0]


@pytest.mark.lab
def test_jobs_are_placed_by_blocks_as_intended(folder: Path) -> None:
    """All nodes are on demand, so that slurmctld gives out nodes that nobody has to play."""
    plan = blocks(None)
    slurm = plan.slurm["main"]
    pools = {
        name: nodes.model_copy(update={"nodes": (), "burst": nodes.nodes})
        for name, nodes in slurm.pools.items()
    }
    cloud = slurm.model_copy(update={"pools": pools, "burst": BurstTimes()})
    with running(folder, plan.model_copy(update={"slurm": {"main": cloud}})) as controller:
        controller.run("mkdir", "-p", render.PROGRAMS)
        for name in PROGRAMS:
            controller.run("install", "-m", "0755", "/bin/true", f"{render.PROGRAMS}/{name}")
        assert wrong(controller.start()) == []
        shown = controller.run("scontrol", "--oneliner", "show", "topology")
        assert "BlockName=trn2-su16 BlockIndex=15 Nodes=trn2-[061-064] BlockSize=4" in shown
        job = ("sbatch", "--parsable", "--output=/dev/null", "--wrap=true", "--exclusive")
        first = controller.run(*job, "--nodes=3").strip()
        second = controller.run(*job, "--nodes=4").strip()
        given = {}
        for _ in range(100):
            given = {one["JobId"]: one.get("NodeList", "") for one in controller.show("jobs")}
            if all("trn2" in given.get(one, "") for one in (first, second)):
                break
            time.sleep(0.2)
        assert all(_blocks_of(given[one]) == 1 for one in (first, second)), given
        with pytest.raises(subprocess.CalledProcessError) as refused:
            controller.run(*job, "--nodes=10", "--segment=5")
        assert "segment" in refused.value.stderr.lower() or "topology" in refused.value.stderr.lower()
        controller.run(*job, "--nodes=8", "--segment=4")


def _blocks_of(nodes: str) -> int:
    return len({(int(name.rpartition("-")[2]) - 1) // 4 for name in NodeSet(nodes)})


@pytest.mark.lab
def test_a_block_below_the_base_size_ends_it_so_the_plan_refuses_it(folder: Path) -> None:
    with pytest.raises(SpecInvalid):
        blocks([8, 16])
    with running(folder, blocks([4, 8])) as controller:
        text = controller.run("cat", "/etc/slurm/topology.conf").replace("BlockSizes=4,8", "BlockSizes=8,16")
        controller.run("tee", "/etc/slurm/topology.conf", text=text)
        with pytest.raises((subprocess.CalledProcessError, AssertionError)) as failed:
            controller.start()
        assert "children count lower than" in f"{getattr(failed.value, 'stderr', '')}{controller.log()}"


@pytest.mark.lab
def test_a_key_that_it_does_not_know_keeps_it_from_starting(folder: Path) -> None:
    with running(folder, example("lab"), ("ReturnToService=", "ReturnToServise=")) as controller:
        with pytest.raises(subprocess.CalledProcessError) as failed:
            controller.start()
        assert "unrecognized key: ReturnToServise" in failed.value.stderr


RESUME = """#!/bin/sh
echo "$(basename "$0") $*" >>/var/log/slurm/burst.log
"""
PROGRAMS = ("burst-resume", "burst-resume-failed", "burst-suspend")


def test_a_job_wakes_a_slot_on_demand_and_no_other(folder: Path) -> None:
    """State=CLOUD, SuspendExcNodes and the programs' places: slurmctld asks for exactly that slot."""
    plan = open_cluster(CLUSTERS / "lab-hybrid.yaml").plan
    with running(folder, plan) as controller:
        controller.run("mkdir", "-p", render.PROGRAMS)
        for name in PROGRAMS:
            controller.run("tee", f"{render.PROGRAMS}/{name}", text=RESUME)
            controller.run("chmod", "0755", f"{render.PROGRAMS}/{name}")
        assert "power_save" not in controller.start()
        nodes = {node["NodeName"]: node["State"] for node in controller.show("nodes")}
        assert "POWERED_DOWN" in nodes["cnode-002"]
        assert not any("POWERED_DOWN" in state for name, state in nodes.items() if name != "cnode-002")
        controller.run(
            "sbatch", "--partition=cloud", "--nodelist=cnode-002", "--output=/dev/null", "--wrap=true"
        )
        asked = ""
        for _ in range(100):
            asked = controller.run("sh", "-c", "cat /var/log/slurm/burst.log || true")
            if asked:
                break
            time.sleep(0.2)
        assert asked == "burst-resume cnode-002\n"


def test_no_job_spans_two_sites_but_a_heterogeneous_one_does(folder: Path) -> None:
    """Even in a partition over both, which SLURM017 refuses: their trees have no switch in common."""
    plan = open_cluster(CLUSTERS / "lab-hybrid.yaml").plan
    slurm = plan.slurm["main"]
    pools = {
        name: nodes.model_copy(update={"nodes": (), "burst": (*nodes.nodes, *nodes.burst)})
        for name, nodes in slurm.pools.items()
    }  # all on demand, so that slurmctld gives out nodes that nobody has to play
    everybody = slurm.partitions["hall"].model_copy(update={"pools": ("cnode", "node")})
    wide = slurm.model_copy(
        update={"pools": pools, "partitions": {"all": everybody, "cloud": slurm.partitions["cloud"]}}
    )
    with running(folder, plan.model_copy(update={"slurm": {"main": wide}})) as controller:
        controller.run("mkdir", "-p", render.PROGRAMS)
        for name in PROGRAMS:
            controller.run("install", "-m", "0755", "/bin/true", f"{render.PROGRAMS}/{name}")
        controller.start()
        job = ("sbatch", "--parsable", "--output=/dev/null", "--wrap=true", "--partition=all")
        with pytest.raises(subprocess.CalledProcessError) as error:
            controller.run(*job, "--nodelist=node-001,cnode-001", "--nodes=2")
        assert "Requested topology configuration is not available" in error.value.stderr
        within = controller.run(*job, "--nodelist=node-[001-002]", "--nodes=2").strip()
        parts = ("--nodes=1", ":", "--partition=cloud", "--nodes=1", "--wrap=true")
        leader = controller.run(*job, *parts).strip()
        jobs = controller.show("jobs")
        assert [one["NumNodes"][0] for one in jobs if one["JobId"] == within] == ["2"]  # ``2`` or ``2-2``
        assert {one["Partition"] for one in jobs if one.get("HetJobId") == leader} == {"all", "cloud"}
