"""Whatever is killed, and whenever: the same command again goes on, and nothing is there twice."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import cgroups, parts, processes
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import NETNS
from rackwright.lab.processes import Process

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def _kill(pid_file: Path) -> None:
    process = processes.read_pid_file(pid_file)
    assert process is not None
    process.kill()
    assert processes.wait_gone([process], 10) == []


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
    done = subprocess.run(processes.arguments(first.pid), capture_output=True, timeout=30, check=False)
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
    end = time.monotonic() + 30
    address = f"{lab.prefix}.17.17/24"
    while address not in lab.ssh("node-001", "ip -br -4 addr show r1") and time.monotonic() < end:
        time.sleep(0.2)
    lab.ssh("node-001", f"sudo ping -c 1 -W 5 {lab.prefix}.17.18")


def test_a_host_whose_supervisor_is_killed_is_off(lab: Lab) -> None:
    lab.boot("node-002")
    _kill(lab.places.host_pid("node-002"))
    assert lab.power("node-002") == "Off"
    end = time.monotonic() + 10
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
        assert rest.wait(10) == -signal.SIGKILL


def _world(lab: Lab) -> bool:
    return lab.places.world.exists()


def _logins(lab: Lab) -> bool:
    return (lab.places.state / "secrets" / "bmc.csv").exists()


def _daemon(lab: Lab) -> bool:
    return lab.places.socket.exists()


def _router(lab: Lab) -> bool:
    return Namespace(lab.places.netns("router")).exists


def _leg(lab: Lab) -> bool:
    return bool(list(parts.links(lab.places)))


def _last_host(lab: Lab) -> bool:
    return Namespace(lab.places.netns("node-001")).exists


def _first_bmc(lab: Lab) -> bool:
    return lab.places.bmc_pid("head-001").exists()


@pytest.mark.parametrize("moment", [_world, _logins, _daemon, _router, _leg, _last_host, _first_bmc])
def test_an_up_that_is_killed_with_its_daemon_anywhere_goes_on(
    small_lab: Lab, moment: Callable[[Lab], bool]
) -> None:
    command = _start(small_lab, "lab", "up", str(small_lab.spec))
    _until(lambda: moment(small_lab), command)
    command.kill()
    command.wait()
    for part in list(parts.own_processes(small_lab.places)):
        assert part.process is not None
        if part.module.endswith("labd"):
            part.process.kill()
    assert small_lab.up()["made"] != []
    again = small_lab.up()
    assert (again["made"], again["cleared"]) == ([], [])
    assert small_lab.power("node-001") == "Off"
    assert sorted(_ours(small_lab)) == ["rackwright.lab.bmc"] * 2 + ["rackwright.lab.labd"]


def test_an_interrupted_up_says_so_and_goes_on(small_lab: Lab) -> None:
    command = _start(small_lab, "lab", "up", str(small_lab.spec))
    _until(lambda: _daemon(small_lab), command)
    command.send_signal(signal.SIGINT)
    assert command.wait() == 130
    small_lab.up()
    assert small_lab.states() == {"head-001": "off", "node-001": "off"}


def _no_process(lab: Lab) -> bool:
    return not list(parts.own_processes(lab.places))


def _no_link(lab: Lab) -> bool:
    return not list(parts.links(lab.places))


def _no_namespace(lab: Lab) -> bool:
    return not list(parts.namespaces(lab.places))


def _no_run_folder(lab: Lab) -> bool:
    return not lab.places.run.exists()


def _no_disk(lab: Lab) -> bool:
    return not lab.places.disk("node-001").exists()


@pytest.mark.parametrize("moment", [_no_process, _no_link, _no_namespace, _no_run_folder, _no_disk])
def test_a_down_that_is_killed_anywhere_goes_on(small_lab: Lab, moment: Callable[[Lab], bool]) -> None:
    small_lab.up()
    small_lab.reset("node-001", "On")
    command = _start(small_lab, "lab", "down", small_lab.name)
    _until(lambda: moment(small_lab), command)
    command.kill()
    command.wait()
    small_lab.down()
    assert parts.find(small_lab.places) == []
    assert not small_lab.places.state.exists()


def _start(lab: Lab, *words: str) -> subprocess.Popen[bytes]:
    null = subprocess.DEVNULL
    return subprocess.Popen(lab.command(*words), env=lab.environment, stdout=null, stderr=null)


def _until(condition: Callable[[], bool], command: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert command.poll() is None or condition()
        time.sleep(0.002)


def _ours(lab: Lab) -> list[str]:
    return [part.module for part in parts.own_processes(lab.places)]


def _crash(lab: Lab) -> None:
    """What a crash of the machine leaves, as near as a running one can come to it.

    Every process dies at once; pid files name whoever got those ids since; namespaces are plain
    files; a disk is still attached and mounted.
    """
    found = [part.process for part in parts.own_processes(lab.places) if part.process]
    for process in found:
        process.kill()
    assert processes.wait_gone(found, 20) == []
    for part in list(parts.links(lab.places)):
        run("ip", "link", "del", part.name)
    for part in list(parts.namespaces(lab.places)):
        run("ip", "netns", "del", part.name)
        (NETNS / part.name).touch()
    me = Process.of(os.getpid())
    assert me is not None
    for file in lab.places.run.glob("*.pid"):
        file.write_text(json.dumps({"pid": me.pid, "started": me.started - 1, "boot": me.boot}))
    mount = lab.places.mounts("node-001") / "disk"
    mount.mkdir(parents=True, exist_ok=True)
    run("mount", "-o", "loop", lab.places.disk("node-001"), mount)
    run("losetup", "--find", lab.places.disk("head-001"))
    lab.places.disk("node-001").with_suffix(".new").write_text("cut off")


def test_a_crash_is_found_and_cleared_by_the_next_up(small_lab: Lab) -> None:
    small_lab.up()
    small_lab.rackwright("plan", str(small_lab.spec))
    small_lab.prepare()
    small_lab.boot("node-001")
    key = small_lab.host_key("node-001")
    _crash(small_lab)
    faults = small_lab.json("lab", "doctor", str(small_lab.spec))["missing"]
    assert isinstance(faults, list)
    assert {fault["code"] for fault in faults} == {"LAB113"}
    assert f"lab {small_lab.name} was cut off" in [fault["what"] for fault in faults]

    again = small_lab.up()
    cleared = again["cleared"]
    assert isinstance(cleared, list)
    for what in ("mount ", "loop device ", "namespace ", "labd.sock", "host.node-001.pid", "node-001.new"):
        assert any(what in line for line in cleared), (what, cleared)
    assert small_lab.states() == {"head-001": "off", "node-001": "off"}
    small_lab.boot("node-001")
    assert small_lab.host_key("node-001") == key


def test_a_crash_is_found_and_cleared_by_a_down(small_lab: Lab) -> None:
    small_lab.up()
    small_lab.reset("node-001", "On")
    _crash(small_lab)
    small_lab.down()
    assert parts.find(small_lab.places) == []
