"""Rails join the nodes and are as slow as planned; the machine itself stays as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.lab.netns import Namespace
from tests.hosts.rails import RATE_MBIT, mbit

if TYPE_CHECKING:
    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def test_nodes_reach_each_other_on_every_rail_and_by_name(lab: Lab) -> None:
    lab.boot("node-001", "node-002")
    for address in (f"{lab.prefix}.16.18", f"{lab.prefix}.17.18", "node-002"):
        lab.ssh("node-001", f"sudo ping -c 1 -W 5 {address}")


def test_a_rail_is_as_fast_as_planned_and_no_faster(lab: Lab) -> None:
    lab.boot("node-001", "node-002")
    assert 0.6 * RATE_MBIT < mbit(lab, 0, 1, 2) < 1.1 * RATE_MBIT


def test_both_ends_of_every_rail_are_shaped_and_nothing_else_is(lab: Lab) -> None:
    router = Namespace(lab.places.netns("router")).links()
    for slot in ("head-001", "node-001", "node-002", "node-003"):
        inside, host = Namespace(lab.places.netns(slot)).links(), lab.host(slot)
        rates = {
            nic.interface: (router[host.cable(nic)].rate_mbit, inside[nic.interface].rate_mbit)
            for nic in host.nics
        }
        rails = {} if slot == "head-001" else {"r0": (RATE_MBIT, RATE_MBIT), "r1": (RATE_MBIT, RATE_MBIT)}
        assert rates == {"mgmt0": (0, 0), **rails}


def test_rails_are_networks_of_their_own(lab: Lab) -> None:
    router = Namespace(lab.places.netns("router")).links()
    ports = {
        router[lab.host(slot).cable(nic)].master
        for slot in ("node-001", "node-002")
        for nic in lab.host(slot).nics
    }
    assert ports == {"mgmt0", "rail0", "rail1"}
    assert router["rail0"].addresses == ()


def test_the_machine_has_one_link_and_routes_to_the_lab_and_forwards_nothing(lab: Lab) -> None:
    machine = Namespace()
    ours = sorted(route for route, link in machine.routes() if link == lab.places.leg and "/" in route)
    assert ours == [f"{lab.prefix}.0.0/24", f"{lab.prefix}.1.0/24"]
    assert machine.links()[lab.places.leg].addresses == (f"{lab.prefix}.0.2/24",)
    assert Path("/proc/sys/net/ipv4/ip_forward").read_text().strip() == "0"


def test_every_host_has_namespaces_and_a_time_of_its_own(lab: Lab) -> None:
    lab.boot("node-001", "node-002")
    kinds = "net pid mnt time"
    look = f"for kind in {kinds}; do sudo readlink /proc/1/ns/$kind; done"
    first, second = (lab.ssh(slot, look).split() for slot in ("node-001", "node-002"))
    here = [Path(f"/proc/self/ns/{kind}").readlink().name for kind in kinds.split()]
    assert not set(first) & set(second)
    assert not set(first) & set(here)


def test_a_host_sets_its_own_network_settings_and_nobody_elses(lab: Lab) -> None:
    lab.boot("node-001")
    setting = "/proc/sys/net/ipv4/tcp_fin_timeout"
    before = Path(setting).read_text()
    lab.ssh("node-001", f"echo 7 | sudo tee {setting}")
    assert lab.ssh("node-001", f"cat {setting}") == "7"
    assert Path(setting).read_text() == before
    assert "Read-only" in lab.ssh("node-001", "echo 1 | sudo tee /proc/sys/vm/swappiness 2>&1; true")


def test_a_host_is_bounded_in_memory(lab: Lab) -> None:
    lab.boot("node-001")
    limits = [
        int(path.read_text())
        for pattern in (
            f"memory/{lab.places.cgroup}/node-001/memory.limit_in_bytes",
            f"{lab.places.cgroup}/node-001/memory.max",
        )
        for path in Path("/sys/fs/cgroup").glob(pattern)
    ]
    assert limits == [json.loads(lab.places.world.read_text())["memory_mib"] << 20]


ANNEX = """
  annex:
    kind: onprem
    racks: {rows: 1, per_row: 2, units: 12, power_kw: 2, cooling: air}
    power: {feed_kw: 5, pue: 1.2}
    access: {user: rackwright, console_logs: "state:console"}
    networks:
      management: {cidr: PREFIX.4.0/24}
      bmc: {cidr: PREFIX.5.0/24}
    bmc: {credentials: "state:secrets/bmc.csv", ca: "state:bmc-ca.pem"}

links: {way: {between: [hall, annex], via: routed}}

pools:
"""


def _with_annex(lab: Lab) -> None:
    """Move the node into a second hall: its index begins anew there."""
    head, pools, rest = lab.spec.read_text().partition("\npools:\n")
    annex = ANNEX.replace("PREFIX", lab.prefix)
    before, node, after = rest.partition("  node:\n    site: ")
    assert pools
    after = after.replace("hall", "annex", 1).replace("sites: [hall]", "sites: [annex, hall]")
    lab.spec.write_text(f"{head}{annex}{before}{node}{after}")
    assets = lab.spec.parent / "assets" / "lab.csv"
    assets.write_text(assets.read_text().replace(f"{lab.prefix}.1.17", f"{lab.prefix}.5.16"))


def test_two_halls_reach_each_other_through_the_router(small_lab: Lab) -> None:
    _with_annex(small_lab)
    small_lab.up()
    small_lab.rackwright("plan", str(small_lab.spec))
    small_lab.prepare()
    small_lab.boot("head-001", "node-001")
    assert small_lab.host("node-001").bmc_address == f"{small_lab.prefix}.5.16"
    assert small_lab.ssh("node-001", "hostname") == "node-001"
    small_lab.ssh("head-001", "sudo ping -c 1 -W 5 node-001")
