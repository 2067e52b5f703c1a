"""One munge key for all hosts: another one is refused, named and mended."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD, HOSTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

KEY = "/etc/munge/munge.key"
STRANGER = "node-002"


@pytest.mark.parametrize("name", HOSTS)
def test_munged_runs_with_a_key_that_only_it_reads(site: Site, name: str) -> None:
    key = site.host(name).file(KEY)
    assert (key.user, key.group, key.mode) == ("munge", "munge", 0o400)
    assert site.host(name).service("munge").is_running
    assert site.host(name).service("munge").is_enabled


def test_a_credential_of_one_host_is_believed_by_another(site: Site) -> None:
    credential = site.user("munge --no-input")
    assert "Success" in site.user(f"echo {shlex.quote(credential)} | unmunge", STRANGER)


@pytest.fixture
def stranger(site: Site) -> Iterator[str]:
    """A host with a key of its own."""
    host = site.host(STRANGER)
    host.check_output(f"dd if=/dev/urandom of={KEY} bs=128 count=1 conv=notrunc status=none")
    host.check_output("systemctl restart munge")
    yield STRANGER
    site.converge("--limit", STRANGER)
    site.await_idle(STRANGER)


def test_a_host_with_another_key_is_refused_named_and_mended(site: Site, stranger: str) -> None:
    credential = site.user("munge --no-input")
    refused = site.host(stranger).run(f"echo {shlex.quote(credential)} | unmunge")
    assert refused.rc != 0
    assert "Invalid credential" in refused.stdout + refused.stderr
    assert site.host(stranger).run("scontrol ping").rc != 0, "Slurm believed it"

    run = site.converge("--tags", "validate")
    assert run.code != 0
    failed = {str(event["host"]) for event in run.events if event["outcome"] == "failed"}
    assert failed == {stranger}
    assert "this host has another munge key" in run.said

    mended = site.converge()
    assert mended.code == 0, mended.said
    assert {name: tasks[:2] for name, tasks in mended.changed().items()} == {
        stranger: ["munge: Key", "munge: Daemon"]
    }
    assert HEAD not in mended.changed()
