"""Role kernel_tuning on a kernel of its own: live, after a reboot, and away again."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.converge.prepare import munge_key
from rackwright.render.files import write_all
from tests.kernel.guests import NODE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kernel.guests import Guests

PLAY = paths.repository() / "playbooks" / "kernel.yml"
TUNING = {
    "sysctl": {"vm.swappiness": 7, "net.core.somaxconn": 8191},
    "cmdline": {"iommu": "pt", "nosoftlockup": True},
    "limits": {"memlock": "unlimited", "nofile": 123456},
    "transparent_hugepages": "never",
    "hugepages": {"2M": 8},
    "module_options": {"virtio_net": {"napi_tx": 0}},
    "load_modules": ["loop"],
    "block_modules": ["floppy"],
    "governor": "performance",
    "clocksource": "acpi_pm",
    "cgroup": "v2",
    "interrupts": "local",
    "rdma_arp": True,
}
SWAPPINESS = "cat /proc/sys/vm/swappiness"
PAGES = "cat /sys/kernel/mm/transparent_hugepage/enabled"
REPORT = "/usr/local/sbin/rackwright-kernel-tuning report"


def plan(guests: Guests, tuning: dict[str, object]) -> None:
    """The node has these settings in its pool, and no Slurm."""
    lines = guests.spec_without_slurm.splitlines()
    start = lines.index("  node:")
    lines.insert(start + 1, f"    tuning: {json.dumps(tuning)}")
    guests.spec.write_text("\n".join(lines) + "\n")
    guests.rackwright("plan", str(guests.spec))
    write_all(guests.plan, guests.state / "rendered")


def tuned(guests: Guests, tuning: dict[str, object]) -> int:
    """Converge the node with these settings; how many tasks changed something."""
    plan(guests, tuning)
    done = guests.play(PLAY, "--limit", NODE)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(rf"^{NODE} .*changed=(\d+)", done.stdout, re.MULTILINE)
    assert found is not None, done.stdout
    return int(found[1])


def reboot(guests: Guests) -> None:
    """As `rackwright reboot` does it, which looks at boot id, services and what still waits."""
    before = guests.boot_id(NODE)
    report = guests.json("reboot", str(guests.spec), "--limit", NODE, "--apply")["hosts"]
    assert isinstance(report, dict)
    assert {host: one["end"] for host, one in report.items()} == {NODE: "rebooted"}
    guests.await_login(NODE)
    assert guests.boot_id(NODE) != before
    guests.run(NODE, "systemctl is-system-running --wait || true")


def states(guests: Guests) -> dict[str, str]:
    """Setting → live, reboot, missing or refused."""
    lines = (line.split(maxsplit=1) for line in guests.run(NODE, REPORT).splitlines())
    return {rest.partition(":")[0]: state for state, rest in lines}


@dataclass(frozen=True)
class Laid:
    """The node with all settings, as one run of the role has left it."""

    guests: Guests
    was: dict[str, str]
    changed: int


LAID, BOOTED = "laid", "booted"
"""What the guests are saved as: a run renews boot loader and initramfs, which takes longest of all."""


@pytest.fixture(scope="module")
def _laid(_machines: Guests) -> Laid:
    guests = _machines
    with guests.network.entered():
        guests.restore()
        was = {command: guests.run(NODE, command) for command in (SWAPPINESS, PAGES)}
        laid = Laid(guests, was, tuned(guests, TUNING))
        guests.save(LAID)
    return laid


@pytest.fixture(scope="module")
def _booted(_laid: Laid) -> Laid:
    guests = _laid.guests
    with guests.network.entered():
        guests.restore(LAID)
        plan(guests, TUNING)
        reboot(guests)
        guests.save(BOOTED)
    return _laid


@pytest.fixture
def laid(_laid: Laid) -> Iterator[Laid]:
    """Not booted since."""
    with _laid.guests.network.entered():
        _laid.guests.restore(LAID)
        plan(_laid.guests, TUNING)
        yield _laid


@pytest.fixture
def booted(_booted: Laid) -> Iterator[Laid]:
    """After `rackwright reboot`."""
    with _booted.guests.network.entered():
        _booted.guests.restore(BOOTED)
        plan(_booted.guests, TUNING)
        yield _booted


def test_settings_are_live_at_once_and_what_waits_for_a_reboot_is_told(laid: Laid) -> None:
    assert laid.changed == 2
    _live_at_once(laid.guests)
    _told_what_waits(laid.guests)


def test_all_is_live_after_the_reboot_and_a_second_run_changes_nothing(booted: Laid) -> None:
    _live_after_the_boot(booted.guests)
    assert tuned(booted.guests, TUNING) == 0


def test_what_is_wished_no_more_is_as_it_was_before(booted: Laid) -> None:
    guests = booted.guests
    assert tuned(guests, {}) == 2
    assert {command: guests.run(NODE, command) for command in booted.was} == booted.was
    assert guests.run(NODE, "find /etc /usr/local -name '*tuning*'") == ""
    assert "cmdline nosoftlockup" in guests.run(NODE, "cat /run/rackwright/reboot/kernel_tuning")
    reboot(guests)
    line = guests.run(NODE, "cat /proc/cmdline")
    assert [word for word in ("iommu=pt", "nosoftlockup", "hugepages=8") if word in line] == []
    assert guests.run(NODE, "cat /sys/module/virtio_net/parameters/napi_tx") == "Y"
    assert tuned(guests, {}) == 0


def _live_at_once(guests: Guests) -> None:
    assert guests.run(NODE, SWAPPINESS) == "7"
    assert guests.run(NODE, PAGES) == "always madvise [never]"
    assert guests.run(NODE, "cat /proc/sys/vm/nr_hugepages") == "8"
    assert guests.run(NODE, "systemctl show --property=DefaultLimitNOFILE --value") == "123456"
    assert (
        guests.run(NODE, "cat /sys/devices/system/clocksource/clocksource0/current_clocksource") == "acpi_pm"
    )
    assert guests.run(NODE, "cat /proc/sys/net/ipv4/conf/eth1/arp_ignore") == "2"
    assert guests.run(NODE, "lsmod | grep -c ^loop") == "1"


def _told_what_waits(guests: Guests) -> None:
    found = states(guests)
    waiting = {setting for setting, state in found.items() if state == "reboot"}
    assert waiting == {
        "cmdline iommu=pt",
        "cmdline nosoftlockup",
        "cmdline hugepagesz=2M",
        "cmdline hugepages=8",
        "cmdline module_blacklist=floppy",
        "module_options virtio_net.napi_tx",
    }
    assert {setting for setting, state in found.items() if state == "missing"} == {"governor"}
    assert "refused" not in found.values()
    assert len(guests.run(NODE, "cat /run/rackwright/reboot/kernel_tuning").splitlines()) == len(waiting)


def _live_after_the_boot(guests: Guests) -> None:
    line = guests.run(NODE, "cat /proc/cmdline").split()
    assert {"iommu=pt", "nosoftlockup", "hugepages=8", "module_blacklist=floppy"} <= set(line)
    assert guests.run(NODE, "cat /sys/module/virtio_net/parameters/napi_tx") == "N"
    assert set(states(guests).values()) == {"live", "missing"}
    assert guests.run(NODE, "ls /run/rackwright/reboot") == ""
    assert guests.run(NODE, PAGES) == "always madvise [never]"
    vectors = "/sys/bus/pci/devices/0000:00:11.0/msi_irqs/*"
    spread = f"for i in {vectors}; do cat /proc/irq/$(basename $i)/smp_affinity_list; done"
    assert set(guests.run(NODE, spread).split()) == {"0", "1"}
    pid = "$(systemctl show --property=MainPID --value ssh)"
    assert "unlimited" in guests.run(NODE, f"grep 'Max locked memory' /proc/{pid}/limits")


def test_drift_names_what_a_hand_has_changed_and_changes_nothing(booted: Laid) -> None:
    guests = booted.guests
    munge_key(guests.state / "secrets")
    words = ("drift", str(guests.spec), "--limit", NODE, "--playbook", str(PLAY))
    assert guests.json(*words)["drift"] == []

    laid = "/etc/modprobe.d/60-rackwright-tuning.conf"
    by_hand = f"sysctl -q vm.swappiness=55; echo always >{PAGES.split()[1]}; sed -i /napi_tx/d {laid}"
    guests.run(NODE, by_hand)
    before = guests.run(NODE, f"{SWAPPINESS}; {PAGES}; sha256sum {laid} /boot/initrd.img-*")
    found = json.loads(json.dumps(guests.json(*words, code=1)["drift"]))
    named = {(one["kind"], one["subject"]): (one["intended"], one["observed"]) for one in found}
    assert named["sysctl", "vm.swappiness"] == ("7", "55")
    assert named["state", "transparent_hugepages"] == ("never", "always")
    assert ("file", laid) in named
    assert guests.run(NODE, f"{SWAPPINESS}; {PAGES}; sha256sum {laid} /boot/initrd.img-*") == before
