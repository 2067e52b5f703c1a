"""topology.yaml on a slurmctld that reads it, newer than that of the lab: where somebody has unpacked one.

`RACKWRIGHT_NEWER_SLURM` is a folder with packages of a newer Debian, unpacked (`dpkg-deb -x`) without their
`etc` and `var`: `apt-get --download-only install slurmctld slurm-client munge`, with an empty dpkg status.
They lie over the lab's image.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ClusterShell.NodeSet import NodeSet  # type: ignore[import-untyped]  # (it has no types)

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.lab.up import image
from rackwright.plan.build import build
from rackwright.render import slurm as render
from rackwright.render.topology_yaml import SHOWN, topology_yaml
from rackwright.spec.load import load
from rackwright.spec.schedulers import BurstTimes
from tests.doubles.slurmctld import Slurmctld

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.model import SlurmPlan

pytestmark = [pytest.mark.lab, pytest.mark.slow]
PROGRAMS = ("burst-resume", "burst-resume-failed", "burst-suspend")
JOB = ("sbatch", "--parsable", "--output=/dev/null", "--wrap=true", "--exclusive")


@pytest.fixture
def newer() -> Path:
    """Root to run: the newer packages over the image, as overlayfs takes several."""
    unpacked = os.environ.get("RACKWRIGHT_NEWER_SLURM")
    if os.geteuid() != 0 or not unpacked:
        pytest.skip("RACKWRIGHT_NEWER_SLURM names no folder with a newer Slurm, or nobody is root")
    return Path(f"{unpacked}:{image().resolve()}")


def planned(spec: str) -> SlurmPlan:
    """All nodes on demand, so that slurmctld gives out nodes that nobody has to play."""
    plan = build(load(paths.repository() / "clusters" / spec), load_catalogue(), None)[0].slurm["main"]
    pools = {
        name: nodes.model_copy(update={"nodes": (), "awaited": (), "burst": (*nodes.nodes, *nodes.burst)})
        for name, nodes in plan.pools.items()
    }
    return plan.model_copy(
        update={"accounting": None, "version": SHOWN, "pools": pools, "burst": BurstTimes()}
    )


@contextlib.contextmanager
def laid_out(newer: Path, folder: Path, slurm: SlurmPlan, *changes: tuple[str, str]) -> Iterator[Slurmctld]:
    files = render.files(slurm) | {"topology.yaml": topology_yaml(slurm)}
    del files["topology.conf"]
    for name, (old, new) in (("slurm.conf", one) for one in changes):
        assert old in files[name]
        files[name] = files[name].replace(old, new)
    with Slurmctld(newer, folder, slurm.controllers[0]) as controller:
        controller.run("ldconfig")
        assert controller.run("slurmctld", "-V").split()[-1].startswith(SHOWN)
        controller.run("mkdir", "-p", render.PROGRAMS)
        for name in PROGRAMS:
            controller.run("install", "-m", "0755", "/bin/true", f"{render.PROGRAMS}/{name}")
        names = {name for nodes in slurm.pools.values() for name in nodes.burst}
        controller.lay_out(files, names | set(slurm.controllers))
        yield controller


def test_blocks_are_read_and_jobs_are_kept_within_them(newer: Path, tmp_path: Path) -> None:
    slurm = planned("fabrics/trn2-ultraservers.yaml")
    with laid_out(newer, tmp_path, slurm) as controller:
        controller.start()
        shown = controller.run("scontrol", "--oneliner", "show", "topology")
        assert "BlockName=trn2-su16 BlockIndex=15 Nodes=trn2-[061-064] BlockSize=4" in shown
        jobs = [controller.run(*JOB, f"--nodes={nodes}").strip() for nodes in (3, 4)]
        given: dict[str, str] = {}
        for _ in range(100):
            given = {one["JobId"]: one.get("NodeList", "") for one in controller.show("jobs")}
            if all("trn2" in given.get(job, "") for job in jobs):
                break
            time.sleep(0.2)
        for job in jobs:
            assert len({(int(name.rpartition("-")[2]) - 1) // 4 for name in NodeSet(given[job])}) == 1, given


def test_a_partition_picks_its_root(newer: Path, tmp_path: Path) -> None:
    """As the comment in the file says; a name that is not in the file keeps it from starting."""
    slurm = planned("lab-hybrid.yaml")
    assert "# In slurm.conf: PartitionName=hall … Topology=spine-hall" in topology_yaml(slurm)
    with laid_out(newer, tmp_path, slurm, ("Default=YES", "Default=YES Topology=spine-hall")) as controller:
        controller.start()
        (hall,) = (one for one in controller.show("partitions") if one["PartitionName"] == "hall")
        assert hall["Topology"] == "spine-hall"
        assert {one["SwitchName"] for one in controller.show("topology")} == {
            "node-su01", "cnode-su01", "spine-hall", "spine-cloud"
        }  # fmt: skip


def test_a_circle_in_the_file_keeps_it_from_starting(newer: Path, tmp_path: Path) -> None:
    """So it is read at all, and not passed over for want of a topology.conf."""
    slurm = planned("lab-hybrid.yaml")
    with laid_out(newer, tmp_path, slurm) as controller:
        text = controller.run("cat", "/etc/slurm/topology.yaml").replace(
            'children: "node-su01"', 'children: "spine-hall"'
        )
        controller.run("tee", "/etc/slurm/topology.yaml", text=text)
        with pytest.raises((subprocess.CalledProcessError, AssertionError)):
            controller.start()
