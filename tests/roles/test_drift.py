"""Hosts that hands have changed: `rackwright drift` names each thing and changes none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.converge.drift import DriftReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Site

pytestmark = [pytest.mark.lab, pytest.mark.slow]

LIMITS = "/etc/security/limits.d/60-rackwright.conf"
STATUS = "/var/lib/dpkg/status"


def _drift(site: Site, *options: str, code: int) -> DriftReport:
    done = site.lab.rackwright("drift", str(site.lab.spec), *options, "--format", "json", code=code)
    return DriftReport.model_validate_json(done.stdout)


@pytest.fixture
def hand(site: Site) -> Iterator[None]:
    """A file of node-001, a unit and a package of node-002, and a limit of node-003 that is only live."""
    one, two, three = (site.host(f"node-00{number}") for number in (1, 2, 3))
    one.check_output(f"echo '* - memlock 64' >> {LIMITS}")
    two.check_output("systemctl disable --now munge")
    two.check_output(f"cp --preserve {STATUS} {STATUS}.kept")
    two.check_output(
        f"sed -i '/^Package: fio$/,/^$/s/^Status: .*/Status: deinstall ok config-files/' {STATUS}"
    )
    three.check_output("mkdir -p /run/systemd/system.conf.d")
    three.check_output(
        "printf '[Manager]\\nDefaultLimitMEMLOCK=65536\\n' > /run/systemd/system.conf.d/99-hand.conf"
    )
    three.check_output("systemctl daemon-reexec")
    yield
    two.check_output(f"test ! -e {STATUS}.kept || mv {STATUS}.kept {STATUS}")
    three.check_output("rm -f /run/systemd/system.conf.d/99-hand.conf; systemctl daemon-reexec")
    again = site.converge()
    assert again.code == 0, again.said
    site.await_idle()


def _seen(site: Site) -> list[str]:
    """What hands have changed, as it is now."""
    one, two, three = (site.host(f"node-00{number}") for number in (1, 2, 3))
    return [
        one.check_output(f"sha256sum {LIMITS}"),
        two.run("systemctl is-active munge; systemctl is-enabled munge").stdout,
        two.check_output(f"sha256sum {STATUS}"),
        three.check_output("systemctl show --property=DefaultLimitMEMLOCK"),
    ]


def test_hosts_as_converged_have_no_drift(site: Site) -> None:
    report = _drift(site, code=0)
    assert report.drift == ()
    assert {host.status.value for host in report.hosts.values()} == {"done"}


def test_what_hands_changed_is_named_and_left_as_it_is(site: Site, hand: None) -> None:
    del hand
    before = _seen(site)
    report = _drift(site, code=1)
    found = {(one.host, one.kind.value, one.subject) for one in report.drift}
    assert found >= {
        ("node-001", "file", LIMITS),
        ("node-002", "unit", "munge.service"),
        ("node-002", "package", "fio"),
        ("node-002", "state", "a credential is made and read"),
        ("node-003", "state", "daemons may lock memory"),
    }
    assert {host for host, *_ in found} == {"node-001", "node-002", "node-003"}
    (file,) = [one for one in report.drift if one.kind.value == "file"]
    assert (file.observed, file.intended) == ("* - memlock 64", "the line is not there")
    assert _seen(site) == before
    said = site.lab.rackwright("drift", str(site.lab.spec), "--limit", "node-003", code=1).stdout
    assert "node-003: state daemons may lock memory" in said


def test_a_host_that_cannot_be_looked_at_is_incomplete(site: Site) -> None:
    site.lab.reset("node-003", "ForceOff")
    site.lab.wait("node-003", "off")
    try:
        report = _drift(site, "--limit", "node-002,node-003", code=3)
    finally:
        site.lab.boot("node-003")
    assert report.drift == ()
    assert {name: host.status.value for name, host in report.hosts.items()} == {
        "node-002": "done",
        "node-003": "unreachable",
    }
    site.await_idle()
