"""slurmdbd and its database: open to nobody else, and with the records of the plan."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD

if TYPE_CHECKING:
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


def test_both_daemons_run_and_the_database_has_no_port(site: Site) -> None:
    host = site.host(HEAD)
    assert host.service("mariadb").is_running
    assert host.service("slurmdbd").is_running
    assert not host.socket("tcp://3306").is_listening
    config = host.file("/etc/slurm/slurmdbd.conf")
    assert (config.user, config.mode) == ("slurm", 0o600)
    assert "StoragePass" not in config.content_string


def test_only_slurmdbds_user_reaches_its_database(site: Site) -> None:
    ask = "mariadb --user=slurm slurm_acct_db --execute='SELECT 1' 2>&1"
    assert site.host(HEAD).run(f"runuser -u slurm -- sh -c {json.dumps(ask)}").rc == 0
    refused = site.host(HEAD).run(f"runuser -u rackwright -- sh -c {json.dumps(ask)}")
    assert refused.rc != 0
    assert "Access denied" in refused.stdout


def test_the_database_holds_the_records_of_the_plan(site: Site) -> None:
    slurm = site.lab.plan.slurm["main"]
    rows = site.user("sacctmgr --noheader --parsable2 show qos format=Name,Priority,Preempt").splitlines()
    wanted = [f"{name}|{qos.priority}|{','.join(qos.preempts)}" for name, qos in slurm.qos.items()]
    assert sorted(rows) == sorted(wanted)
    users = "sacctmgr --noheader --parsable2 show user withassoc format=User,Account,DefaultQOS"
    assert f"rackwright|{slurm.account}|{slurm.default_qos}" in site.user(users).splitlines()


def test_a_record_changed_by_hand_is_put_right_and_told(site: Site) -> None:
    site.host(HEAD).check_output("sacctmgr --immediate modify qos where name=low set priority=7")
    run = site.converge("--limit", HEAD, "--tags", "configure")
    assert run.code == 0, run.said
    assert run.changed() == {HEAD: ["slurm_accounting: Accounts"]}
    shown = "sacctmgr --noheader --parsable2 show qos where name=low format=Priority"
    assert site.user(shown) == "0"
