"""What every host has: names of all others, numbers of users, limits and time."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD, HOSTS

if TYPE_CHECKING:
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

CAP_SYS_RESOURCE = 24
"""capabilities(7)"""


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_knows_every_host_by_name(site: Site, name: str) -> None:
    plan = site.lab.plan
    for pool in plan.pools.values():
        for slot in pool.slots.values():
            address = slot.addresses["management"].partition("/")[0]
            assert site.host(name).check_output(f"getent ahostsv4 {slot.name}").startswith(f"{address} ")
    assert site.host(name).file("/etc/resolv.conf").content_string.count("nameserver") == 0


def test_daemons_are_given_memory_to_lock(site: Site) -> None:
    host = site.host("node-001")
    assert host.check_output("systemctl show --property=DefaultLimitMEMLOCK --value") == "infinity"
    assert host.check_output("systemctl show --property=LimitMEMLOCK --value munge") == "infinity"


def test_a_limit_that_kernel_settings_state_is_theirs_alone(site: Site) -> None:
    """Else each run would have two roles undo one another's work, or end at a proof that cannot hold."""
    host, name = site.host("node-001"), "node-001"
    tuned = site.state / "rendered" / "tuned.json"
    tuned.write_text(json.dumps({"settings": {"limits": {"memlock": 64}}}))
    theirs = "/etc/systemd/system.conf.d/70-of-kernel-settings.conf"
    host.check_output(f"printf '[Manager]\\nDefaultLimitMEMLOCK=64K\\n' > {theirs}; systemctl daemon-reexec")
    only = ("--limit", name, "--tags", "configure,validate", "-e", f"base_tuning={tuned}")
    try:
        done = site.play(*only)
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(rf"^{name} .*changed=0 ", done.stdout, re.MULTILINE), done.stdout
        assert host.check_output("systemctl show --property=DefaultLimitMEMLOCK --value") == "65536"
    finally:
        host.check_output(f"rm {theirs}; systemctl daemon-reexec")
        tuned.unlink()


def test_logins_and_daemons_may_lock_memory(site: Site) -> None:
    host = site.host("node-001")
    capabilities = int(host.check_output("sed -n 's/^CapEff:\\s*//p' /proc/1/status"), 16)
    if not capabilities >> CAP_SYS_RESOURCE & 1:
        pytest.skip("no CAP_SYS_RESOURCE on this machine: its hosts may not raise their own limits")
    assert site.user("ulimit -l", "node-001") == "unlimited"
    pid = host.check_output("systemctl show --property=MainPID --value munge.service")
    assert "unlimited" in host.check_output(f"grep 'Max locked memory' /proc/{pid}/limits")


def test_the_login_user_has_the_same_number_everywhere(site: Site) -> None:
    assert {site.user("id --user", name) for name in HOSTS} == {"2000"}


def test_time_is_chronys_and_asks_nobody_that_is_not_there(site: Site) -> None:
    assert site.host(HEAD).service("chrony").is_enabled
    assert "debian.pool" not in site.host(HEAD).file("/etc/chrony/chrony.conf").content_string
    assert site.host(HEAD).run("chronyd -p -f /etc/chrony/chrony.conf").rc == 0


@pytest.mark.parametrize("name", HOSTS)
def test_nothing_hangs_up_a_console_on_which_a_key_is_still_to_be_read(site: Site, name: str) -> None:
    """A getty does as it starts: now and then, on a busy machine, a host's key was lost."""
    host = site.host(name)
    assert host.run("systemctl is-enabled console-getty.service").stdout.strip() == "masked"
    assert host.run("pgrep --exact agetty").stdout == ""
