"""Hosts start and stop by Redfish alone, and what they are is theirs over every power cycle."""

from __future__ import annotations

import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts, processes
from tests.doubles.cutting import wait

if TYPE_CHECKING:
    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab


def test_a_host_comes_up_under_its_planned_name_and_address(lab: Lab) -> None:
    lab.boot("node-001")
    slot = lab.plan.pools["node"].slots["node-001"]
    assert lab.ssh("node-001", "hostname") == "node-001"
    assert slot.addresses["management"] in lab.ssh("node-001", "ip -br -4 addr show mgmt0").split()
    assert lab.ssh("node-001", "getent hosts node-003").split()[0] == f"{lab.prefix}.0.19"
    assert lab.ssh("node-001", "id -un; sudo -n id -un").split() == ["rackwright", "root"]
    assert lab.ssh("node-001", "systemctl is-system-running") == "running"


def test_a_host_with_another_key_than_it_printed_is_not_connected_to(lab: Lab) -> None:
    lab.boot("node-001", "node-002")
    lab.ssh("node-001", "true")
    known = (lab.places.lab / "ssh" / "known_hosts").read_text()
    mine, other = (lab.host_key(slot).split()[1] for slot in ("node-001", "node-002"))
    swapped = lab.places.lab / "ssh" / "swapped"
    swapped.write_text(known.replace(mine, other))
    options = ["-F", str(lab.places.lab / "ssh" / "ssh_config"), "-o", f"UserKnownHostsFile={swapped}"]
    done = _ssh(*options, "node-001", "true")
    assert done[0] != 0
    assert "Host key verification failed" in done[1]


def _ssh(*words: str) -> tuple[int, str]:
    done = subprocess.run(["ssh", *words], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_a_host_nobody_knows_the_key_of_is_not_logged_in_to(lab: Lab) -> None:
    lab.reset("head-001", "ForceOff")
    console = lab.places.state / "console" / "head-001.log"
    kept = console.read_text() if console.exists() else ""
    observed = lab.places.state / "observed.json"
    known = observed.read_text() if observed.exists() else ""
    console.parent.mkdir(exist_ok=True)
    console.write_text("")
    observed.unlink(missing_ok=True)
    try:
        done = lab.rackwright("lab", "ssh", "--spec", str(lab.spec), "head-001", "true", code=3)
        assert "KEY002" in done.stderr
    finally:
        console.write_text(kept)
        if known:
            observed.write_text(known)


def test_an_orderly_power_cycle_keeps_disk_and_host_key(lab: Lab) -> None:
    lab.boot("node-001")
    key, boot = lab.host_key("node-001"), lab.boot_id("node-001")
    lab.ssh("node-001", "echo kept | sudo tee /var/kept")
    lab.reset("node-001", "GracefulShutdown")
    lab.wait("node-001", "off")
    assert lab.power("node-001") == "Off"
    lab.boot("node-001")
    assert lab.power("node-001") == "On"
    assert lab.host_key("node-001") == key
    assert lab.ssh("node-001", "cat /var/kept") == "kept"
    assert lab.boot_id("node-001") != boot


def test_a_reboot_from_inside_is_a_new_boot_with_an_uptime_near_zero(lab: Lab) -> None:
    lab.boot("node-001")
    boot, running = lab.boot_id("node-001"), processes.read_pid_file(lab.places.host_pid("node-001"))
    before = lab.events("node-001").count("reboot")
    lab.ssh("node-001", "sudo systemd-run --quiet sh -c 'sleep 0.3; systemctl reboot'")
    _until_rebooted(lab, "node-001", before)
    assert lab.boot_id("node-001") != boot
    assert float(lab.ssh("node-001", "cut -d ' ' -f 1 /proc/uptime")) < 60
    assert processes.read_pid_file(lab.places.host_pid("node-001")) == running


def _until_rebooted(lab: Lab, slot: str, before: int) -> None:
    wait(lambda: lab.events(slot).count("reboot") > before, "it went down for no reboot")
    lab.wait(slot, "on")
    assert lab.events(slot).count("reboot") == before + 1


def test_pulling_the_plug_ends_everything_of_a_host_at_once(lab: Lab) -> None:
    lab.boot("node-001")
    assert len(_disks(lab, "node-001")) == 1
    lab.reset("node-001", "ForceOff")
    assert lab.power("node-001") == "Off"
    assert lab.states()["node-001"] == "off"
    assert _disks(lab, "node-001") == []
    ours = [part.name for part in parts.own_processes(lab.places) if "nspawn" in part.name]
    assert len(ours) == list(lab.states().values()).count("on")
    lab.boot("node-001")


def _disks(lab: Lab, slot: str) -> list[str]:
    disk = str(lab.places.disk(slot))
    return [device for device, file in parts.backing_files().items() if file == disk]


def test_a_reset_is_a_new_boot(lab: Lab) -> None:
    lab.boot("node-001")
    boot = lab.boot_id("node-001")
    lab.reset("node-001", "ForceRestart")
    lab.wait("node-001", "on")
    assert lab.boot_id("node-001") != boot


def test_a_host_that_is_asked_for_twice_boots_once(lab: Lab) -> None:
    lab.reset("node-002", "ForceOff")
    before = lab.events("node-002").count("power on")
    orders = [threading.Thread(target=lab.reset, args=("node-002", "On")) for _ in range(4)]
    for order in orders:
        order.start()
    for order in orders:
        order.join()
    lab.wait("node-002", "on")
    assert lab.events("node-002").count("power on") == before + 1


def test_a_host_without_a_boot_seed_boots_without_identity(small_lab: Lab) -> None:
    small_lab.up()
    small_lab.rackwright("plan", str(small_lab.spec))
    small_lab.boot("node-001")
    assert small_lab.events("node-001")[-1] == "no boot seed for this host: it boots without identity"
    assert "root@localhost" in small_lab.console("node-001")
    small_lab.reset("node-001", "ForceOff")
    small_lab.prepare()
    small_lab.boot("node-001")
    assert small_lab.ssh("node-001", "hostname") == "node-001"
