"""slurmd without a configuration of its own, up before or after its controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.inventory import files
from rackwright.inventory.assertion import require
from rackwright.paths import LOGIN_KEY
from tests.roles.conftest import HEAD, NODES, wait

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


@pytest.mark.parametrize("name", NODES)
def test_slurmd_runs_without_a_configuration_of_its_own(site: Site, name: str) -> None:
    host = site.host(name)
    assert host.service("slurmd").is_running
    assert host.service("slurmd").is_enabled
    assert not host.file("/etc/slurm/slurm.conf").exists
    assert host.file("/run/slurm/conf/slurm.conf").exists


def test_a_node_that_is_up_before_its_controller_finds_it_later(site: Site) -> None:
    site.await_idle()
    site.host(HEAD).check_output("systemctl stop slurmctld")
    try:
        site.host("node-001").check_output("systemctl restart --no-block slurmd")
        journal = "journalctl --unit=slurmd --since=-60s --no-pager"
        wait(
            lambda: "failed to fetch" in site.host("node-001").check_output(journal).lower(),
            lambda: site.host("node-001").check_output(journal),
        )
    finally:
        site.host(HEAD).check_output("systemctl start slurmctld")
    site.await_idle()
    assert site.host("node-001").service("slurmd").is_running


def test_logins_are_open_though_the_run_that_opened_them_was_cut_off(site: Site) -> None:
    """It had taken the files away; sshd had not read that yet, and no file differs any more."""
    host, mark = site.host("node-001"), "/etc/rackwright/logins-by-job"
    host.check_output(f"touch {mark}")
    heard = "journalctl --unit=ssh --no-pager | grep -c 'SIGHUP' || true"
    before = int(host.check_output(heard))
    cut = "/etc/ssh/sshd_config.d/60-rackwright-job.conf"
    host.check_output(f"touch {cut}; rm {cut}")
    run = site.converge("--tags", "configure", "--limit", "node-001")
    assert run.code == 0, run.said
    assert int(host.check_output(heard)) > before
    assert not host.file(mark).exists
    assert site.converge("--tags", "configure", "--limit", "node-001").changed() == {}


LEFT = ("/usr/local/sbin/rackwright-node-health", "/etc/rackwright/node-health.json", "/etc/default/slurmd")


@pytest.fixture
def left(site: Site) -> Iterator[str]:
    """A host whose role in Slurm was taken away; it is a node again after the test."""
    name, folder = "node-003", site.state / "inventory"
    site.await_idle()
    inventory = require(folder)
    hosts = {**inventory.hosts, name: inventory.hosts[name].model_copy(update={"slurm": None})}
    files.write(inventory.model_copy(update={"hosts": hosts}), folder, site.state / "secrets" / LOGIN_KEY)
    try:
        yield name
    finally:
        run = site.converge("--tags", "configure", "--limit", name)
        assert run.code == 0, run.said
        site.await_idle()


@pytest.mark.slow
def test_a_host_that_leaves_slurm_has_no_slurmd_and_no_health_check(site: Site, left: str) -> None:
    host, programs = site.host(left), "/usr/local/lib/rackwright"
    assert host.service("slurmd").is_running
    assert all(host.file(path).exists for path in LEFT)
    checked = site.play("--limit", left, "--tags", "configure", "--check")
    assert checked.returncode == 0, checked.stdout
    assert host.service("slurmd").is_running
    done = site.play("--limit", left, "--tags", "configure")
    assert done.returncode == 0, done.stdout
    assert not host.service("slurmd").is_running
    assert not host.service("slurmd").is_enabled
    drop_in = "/etc/systemd/system/slurmd.service.d/60-rackwright.conf"
    assert [path for path in (*LEFT, drop_in, f"{programs}/collectives.py") if host.file(path).exists] == []
    again = site.play("--limit", left, "--tags", "configure")
    assert "changed=0" in again.stdout
