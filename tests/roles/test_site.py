"""The whole playbook: first and second run, check mode, tasks counted, installs that need no network."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD, HOSTS, NODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

TASKS_PER_HOST = 25


def test_check_mode_on_fresh_hosts_is_no_error_and_tells_what_would_change(site: Site) -> None:
    assert site.fresh_check
    assert site.fresh_check.code == 0, site.fresh_check.said
    assert set(site.fresh_check.changed()) == set(HOSTS)
    assert "slurm_controller: Daemon" in site.fresh_check.changed()[HEAD]


def test_few_remote_tasks_configure_a_host(site: Site) -> None:
    assert site.first
    counts = site.first.remote_tasks()
    assert set(counts) == set(HOSTS)
    assert counts[HEAD] <= TASKS_PER_HOST
    assert max(counts[node] for node in NODES) <= TASKS_PER_HOST
    assert min(counts.values()) >= 8, f"the events are not those of a configure stage: {counts}"


def test_the_second_run_changes_nothing_and_proves_all(site: Site) -> None:
    again = site.converge()
    assert again.code == 0, again.said
    assert again.changed() == {}
    assert {event["task"] for event in again.events} >= {"Proof", "Accounts"}


def test_a_host_without_storage_has_no_task_of_storage(site: Site) -> None:
    assert site.first
    roles = {event["role"] for event in site.first.events if event["remote"]}
    assert roles & {"local_nvme_cache", "nvmeof_host", "nvmeof_target", "rdma_nics"} == set()
    tasks = [str(event["task"]) for event in site.first.events if event["remote"]]
    assert not [task for task in tasks if "left here" in task or "any more" in task]


def test_a_program_of_an_earlier_release_goes_and_those_of_this_one_stay(site: Site) -> None:
    folder, host = "/usr/local/lib/rackwright", site.host("node-001")
    before = host.check_output(f"ls {folder}")
    host.check_output(f"touch {folder}/of_an_earlier_release.py {folder}/nvmet.py")
    run = site.converge("--tags", "configure", "--limit", "node-001")
    assert run.code == 0, run.said
    assert run.changed() == {"node-001": ["base: Programs that no role of this host has any more"]}
    assert host.check_output(f"ls {folder}") == before


def test_plain_ansible_does_the_same(site: Site) -> None:
    done = site.play("--tags", "configure", "--limit", "node-001")
    assert done.returncode == 0, done.stdout
    assert "changed=0" in done.stdout


def test_install_needs_no_network_on_a_host_of_the_image(site: Site) -> None:
    assert site.host(HEAD).run("timeout 5 getent hosts deb.debian.org").rc != 0, "this host has a way out"
    run = site.converge("--tags", "install")
    assert run.code == 0, run.said
    assert run.changed() == {}
    installed = {event["role"] for event in run.events}
    assert {"base", "munge", "slurm_accounting", "slurm_controller", "slurm_node"} <= installed


@pytest.fixture
def without_fio(site: Site) -> Iterator[str]:
    """node-002 as if its image had no fio."""
    host = site.host("node-002")
    status = "/var/lib/dpkg/status"
    host.check_output(f"cp --preserve {status} {status}.kept")
    host.check_output(
        f"sed -i '/^Package: fio$/,/^$/s/^Status: .*/Status: deinstall ok config-files/' {status}"
    )
    yield "node-002"
    host.check_output(f"mv {status}.kept {status}")


def test_a_missing_package_is_named_with_its_host_and_what_to_do(site: Site, without_fio: str) -> None:
    run = site.converge("--tags", "validate")
    assert run.code != 0
    failed = {str(event["host"]) for event in run.events if event["outcome"] == "failed"}
    assert failed == {without_fio}
    assert "package fio is not installed" in run.said
    assert "run converge with --tags install" in run.said


def test_an_install_that_cannot_be_done_is_named_and_the_others_finish(site: Site, without_fio: str) -> None:
    run = site.converge("--tags", "install")
    assert run.code != 0
    failed = {str(event["host"]) for event in run.events if event["outcome"] == "failed"}
    assert failed == {without_fio}
    assert "burn_in" in {event["role"] for event in run.events if event["host"] == "node-001"}


@pytest.mark.slow
def test_a_slurmctld_that_restarts_in_the_middle_is_no_lasting_harm(site: Site) -> None:
    process = site.start_converge()
    for _ in range(5):
        site.host(HEAD).check_output("systemctl reset-failed slurmctld; systemctl restart slurmctld")
    during = site.finish(process)
    assert during.code in (0, 2), during.said
    after = site.converge()
    assert after.code == 0, after.said
    assert after.changed() == {}
    site.await_idle()


def test_the_munge_key_is_in_no_event_no_log_and_no_journal(site: Site) -> None:
    key = (site.state / "secrets" / "munge.key").read_bytes()
    words = (key, base64.b64encode(key), base64.b64encode(key[:300]))
    for path in (site.state / "converge").rglob("*"):
        if path.is_file():
            assert not any(word in path.read_bytes() for word in words), path
    journal = site.host(HEAD).check_output("journalctl --no-pager")
    assert "ansible-tree" in journal, "Ansible's own log of calls is not in the journal"
    assert base64.b64encode(key[:300]).decode()[:-4] not in journal
