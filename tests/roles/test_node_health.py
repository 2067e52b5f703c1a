"""A sick node is drained by name and comes back by itself; an operator's drain stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.roles.conftest import HEAD, NODES, wait

if TYPE_CHECKING:
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

PROGRAM = "/usr/local/sbin/rackwright-node-health"


@pytest.mark.parametrize("name", NODES)
def test_every_node_is_good(site: Site, name: str) -> None:
    assert site.host(name).check_output(f"{PROGRAM} --dry-run") == "good"


def test_a_dead_rail_drains_its_node_by_name_and_a_mended_one_takes_that_back(site: Site) -> None:
    site.await_idle()
    site.host("node-002").check_output("ip link set r1 down")
    try:
        wait(lambda: site.node_states()["node-002"] == "drained", site.node_reasons)
        reason = site.user("sinfo --noheader --nodes=node-002 --format=%E")
        assert reason == "rackwright: r1 (compute): switched off"
        assert site.node_states()["node-001"] == "idle"
    finally:
        site.host("node-002").check_output("ip link set r1 up")
    site.await_idle()


def test_an_operators_drain_stays(site: Site) -> None:
    site.await_idle()
    site.host(HEAD).check_output("scontrol update nodename=node-003 state=drain reason='new cable'")
    try:
        site.host("node-003").check_output(f"rm -f /run/rackwright/node-health.json && {PROGRAM}")
        assert site.node_states()["node-003"] == "drained"
    finally:
        site.host(HEAD).check_output("scontrol update nodename=node-003 state=undrain")
    site.await_idle()
