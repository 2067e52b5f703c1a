"""slurmctld on the rendered files: jobs run, are accounted, make way, and outlive a node."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD, NODES, wait

if TYPE_CHECKING:
    from pathlib import Path

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


def test_slurmctld_runs_on_the_rendered_files(site: Site) -> None:
    host = site.host(HEAD)
    assert host.service("slurmctld").is_running
    assert host.service("slurmctld").is_enabled
    rendered = site.state / "rendered" / "slurm" / "main"
    for name in ("slurm.conf", "cgroup.conf", "topology.conf"):
        assert host.file(f"/etc/slurm/{name}").content_string == (rendered / name).read_text()
    assert not host.file("/etc/slurm/gres.conf").exists
    assert "Warning" not in site.user("scontrol show config")


def test_a_job_runs_on_all_nodes_and_is_accounted(site: Site) -> None:
    site.await_idle()
    out = site.user("srun --nodes=3 --ntasks-per-node=1 --job-name=all hostname")
    assert sorted(out.split()) == list(NODES)
    sacct = "sacct --noheader --allocations --parsable2 --name=all --format=State,NNodes,Account,QOS"
    assert "COMPLETED|3|cluster|normal" in site.user(sacct).splitlines()


def _submit(site: Site, *options: str) -> str:
    words = ["sbatch", "--parsable", "--output=/dev/null", "--exclusive", *options]
    return site.user(" ".join(words)).partition(";")[0]


def _state(site: Site, job: str) -> str:
    return site.user(f"squeue --noheader --states=all --jobs={job} --format=%T")


def _await(site: Site, job: str, *states: str) -> None:
    wait(lambda: _state(site, job) in states, lambda: f"{_state(site, job)}\n{site.node_reasons()}")


def test_a_job_of_low_quality_makes_way_is_requeued_and_ends(site: Site) -> None:
    site.await_idle()
    low = _submit(site, "--qos=low", "--nodes=3", "--wrap='sleep 20'")
    _await(site, low, "RUNNING")
    high = _submit(site, "--qos=normal", "--nodes=3", "--wrap='sleep 1'")
    _await(site, high, "COMPLETED", "COMPLETING")
    shown = site.user(f"scontrol show job {low}")
    assert "Restarts=1" in shown
    _await(site, low, "RUNNING", "COMPLETING", "COMPLETED")
    states = site.user(f"sacct -D --noheader -X --parsable2 --jobs={low} --format=State").splitlines()
    assert states[0] in ("PREEMPTED", "REQUEUED")
    _await(site, low, "COMPLETED")


def test_a_job_on_a_killed_node_is_requeued_and_ends_on_the_survivors(site: Site) -> None:
    site.await_idle()
    job = _submit(site, "--nodes=2", "--requeue", "--nodelist=node-001", "--wrap='srun sleep 15'")
    _await(site, job, "RUNNING")
    victim = site.user(f"squeue --noheader --jobs={job} --format=%N")
    assert victim.startswith("node-")
    site.lab.reset("node-001", "ForceOff")
    try:
        wait(lambda: site.node_states()["node-001"].startswith("down"), site.node_reasons)
        site.user(f"scontrol update jobid={job} reqnodelist=")
        _await(site, job, "COMPLETED")
        ran_on = site.user(f"sacct --noheader -X --parsable2 --jobs={job} --format=NodeList,State")
        assert ran_on == "node-[002-003]|COMPLETED"
        assert "Restarts=1" in site.user(f"scontrol show job {job}")
    finally:
        site.lab.boot("node-001")
    site.await_idle()


def test_slurm_reboots_a_node(site: Site) -> None:
    site.await_idle()
    before = site.lab.boot_id("node-003")
    site.host(HEAD).check_output("scontrol reboot asap nextstate=resume reason=test node-003")

    def rebooted() -> bool:
        return site.node_states()["node-003"] == "idle" and site.lab.boot_id("node-003") != before

    wait(rebooted, site.node_reasons)


def _serve(site: Site, folder: Path, **changes: str) -> str:
    """Converge the head with slurm.conf as if the spec had other settings; the invocation of slurmctld."""
    conf = folder / "slurm.conf"
    shutil.copytree(site.state / "rendered" / "slurm" / "main", folder, dirs_exist_ok=True)
    conf.write_text(conf.read_text() + "".join(f"{key}={value}\n" for key, value in changes.items()))
    rendered = (f"slurm_controller_rendered={folder}", f"slurm_accounting_rendered={folder}")
    words = [word for one in rendered for word in ("-e", one)]
    done = site.play("--limit", HEAD, "--tags", "configure", *words)
    assert done.returncode == 0, done.stdout
    return _invocation(site)


def _invocation(site: Site) -> str:
    return str(site.host(HEAD).check_output("systemctl show --property=InvocationID --value slurmctld"))


def test_a_new_setting_is_taken_over_without_a_restart_and_reaches_the_nodes(
    site: Site, tmp_path: Path
) -> None:
    site.await_idle()
    before = _invocation(site)
    job = _submit(site, "--nodes=1", "--wrap='sleep 600'")
    _await(site, job, "RUNNING")
    try:
        assert _serve(site, tmp_path, UnkillableStepTimeout="99") == before
        assert "UnkillableStepTimeout   = 99" in site.user("scontrol show config")
        for node in NODES:
            conf = site.host(node).file("/run/slurm/conf/slurm.conf")
            wait(lambda conf=conf: conf.contains("UnkillableStepTimeout=99"), lambda: "not handed on")  # type: ignore[misc]  # (a default binds the loop's value)
        assert _state(site, job) == "RUNNING"
    finally:
        site.user(f"scancel {job}")
        mended = site.converge("--limit", HEAD, "--tags", "configure")
    assert mended.changed() == {HEAD: ["slurm_accounting: Files", "slurm_controller: Daemon"]}
