"""Whatever is killed, and whenever: the same command again goes on, and nothing is there twice."""

from __future__ import annotations

import http.client
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import cgroups, processes
from rackwright.lab.netns import Namespace
from tests.hosts.lab import WITHIN_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def _kill(pid_file: Path) -> None:
    process = processes.read_pid_file(pid_file)
    assert process is not None
    process.kill()
    assert processes.wait_gone([process], WITHIN_S) == []


def test_hosts_outlive_labd_and_the_next_one_finds_them(lab: Lab) -> None:
    lab.boot("node-001")
    lab.reset("node-003", "ForceOff")
    boot, running = lab.boot_id("node-001"), processes.read_pid_file(lab.places.host_pid("node-001"))
    _kill(lab.places.labd_pid)
    assert lab.redfish("node-001").status == http.HTTPStatus.SERVICE_UNAVAILABLE
    assert lab.boot_id("node-001") == boot
    document = lab.json("lab", "status", lab.name)
    assert (document["up"], document["labd"]) == (True, False)
    assert (lab.states()["node-001"], lab.states()["node-003"]) == ("on", "off")

    again = lab.up()
    assert again["made"] == ["labd"]
    assert (lab.power("node-001"), lab.power("node-003")) == ("On", "Off")
    lab.reset("node-001", "On")
    assert lab.boot_id("node-001") == boot
    assert processes.read_pid_file(lab.places.host_pid("node-001")) == running


def test_a_second_labd_does_not_run_beside_the_first(lab: Lab) -> None:
    first = processes.read_pid_file(lab.places.labd_pid)
    assert first is not None
    done = subprocess.run(processes.arguments(first.pid), capture_output=True, timeout=WITHIN_S, check=False)
    assert done.returncode == 75
    assert processes.read_pid_file(lab.places.labd_pid) == first


def test_a_dead_bmc_comes_back_alone(lab: Lab) -> None:
    others = [processes.read_pid_file(lab.places.bmc_pid(slot)) for slot in ("head-001", "node-001")]
    _kill(lab.places.bmc_pid("node-002"))
    assert lab.up()["made"] == [f"BMC {lab.prefix}.1.18 (node-002)"]
    assert lab.redfish("node-002").text("SerialNumber") == "LAB-0003"
    assert [processes.read_pid_file(lab.places.bmc_pid(slot)) for slot in ("head-001", "node-001")] == others


def test_a_pulled_cable_is_plugged_in_again_and_no_other_is_touched(lab: Lab) -> None:
    lab.boot("node-001", "node-002")
    router, host = Namespace(lab.places.netns("router")), lab.host("node-001")
    near = host.cable(next(nic for nic in host.nics if nic.interface == "r1"))
    before = router.links()
    router.ip("link", "del", near)
    assert lab.up()["made"] == ["cable node-001 r1"]
    after = router.links()
    assert after.pop(near).rate_mbit == before.pop(near).rate_mbit
    assert after == before
    end = time.monotonic() + WITHIN_S
    address = f"{lab.prefix}.17.17/24"
    while address not in lab.ssh("node-001", "ip -br -4 addr show r1") and time.monotonic() < end:
        time.sleep(0.2)
    lab.ssh("node-001", f"sudo ping -c 1 -W 5 {lab.prefix}.17.18")


def test_a_host_whose_supervisor_is_killed_is_off(lab: Lab) -> None:
    lab.boot("node-002")
    _kill(lab.places.host_pid("node-002"))
    assert lab.power("node-002") == "Off"
    end = time.monotonic() + WITHIN_S
    while (alive := cgroups.members(f"{lab.places.cgroup}/node-002")) and time.monotonic() < end:
        time.sleep(0.05)
    assert alive == set()
    lab.boot("node-002")
    assert lab.ssh("node-002", "hostname") == "node-002"


def test_what_is_left_of_an_earlier_life_ends_before_the_next_begins(lab: Lab) -> None:
    lab.reset("node-002", "ForceOff")
    group = f"{lab.places.cgroup}/node-002"
    with subprocess.Popen(["sleep", "600"]) as rest:
        for folder in cgroups.folders(group):
            (folder / "cgroup.procs").write_text(str(rest.pid))
        lab.boot("node-002")
        assert rest.wait(WITHIN_S) == -signal.SIGKILL
