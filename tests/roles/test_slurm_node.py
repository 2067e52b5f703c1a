"""slurmd without a configuration of its own, up before or after its controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD, NODES, wait

if TYPE_CHECKING:
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
