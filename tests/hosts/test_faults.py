"""Faults break just what they name, outlive whoever planted them, and leave nothing when they are cleared."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import authority, bmc_config, cgroups, parts, processes
from rackwright.lab.hosts import Hosts
from rackwright.lab.netns import Namespace
from rackwright.lab.protocol import Request, Verb, ask
from rackwright.lab.status import read_world
from rackwright.lab.up import image
from tests.hosts.lab import WITHIN_S
from tests.hosts.rails import RATE_MBIT, address, mbit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab

SLOW_MBIT = 25
PRODUCT = """
import hashlib, numpy
a = numpy.random.default_rng(7).random((200, 200))
print(*(hashlib.sha256(c.tobytes()).hexdigest() for c in (a @ a, a @ a.T, a + a)))
"""
FILES = (
    "systemctl is-system-running --wait >/dev/null;"  # a host that boots still writes some of its files
    " sudo find /etc /usr/local -printf '%p %M %U %G %l\n' | sort;"
    " sudo find /etc /usr/local -type f -exec sha256sum {} + | sort"
)
NEEDS_NUMPY = pytest.mark.skipif(
    not (image() / "usr/lib/python3/dist-packages/numpy").exists(), reason="an image without numpy"
)
PRELOAD, LIBRARY = "/etc/ld.so.preload", "/usr/local/lib/wrong-value.so"


@pytest.fixture
def whole(lab: Lab) -> Iterator[Lab]:
    """The lab, and no fault in it afterwards."""
    try:
        yield lab
    finally:
        if processes.read_pid_file(lab.places.labd_pid) is None:
            lab.up()
        ask(lab.places.socket, Request(Verb.CLEAR), WITHIN_S)


def fault(lab: Lab, *words: str, code: int = 0) -> dict[str, object]:
    return lab.json("lab", "fault", *words, "--lab", lab.name, code=code)


def planted(lab: Lab) -> list[tuple[str, str]]:
    """What `lab status` shows, without the start-up of a command."""
    return [(one.name, one.subject) for one in ask(lab.places.socket, Request(Verb.LIST)).faults]


def networks(lab: Lab) -> str:
    """Every queue and link of every namespace of the lab."""
    names = ("router", "head-001", "node-001", "node-002", "node-003")
    spaces = [Namespace(lab.places.netns(name)) for name in names]
    return "".join(space.tc("qdisc", "show") + space.ip("link", "show") for space in spaces)


def product(lab: Lab, slot: str) -> list[str]:
    return lab.ssh(slot, f"python3 -c '{PRODUCT}'").split()


def kill_labd(lab: Lab) -> None:
    daemon = processes.read_pid_file(lab.places.labd_pid)
    assert daemon is not None
    daemon.kill()
    assert processes.wait_gone([daemon], WITHIN_S) == []


def test_a_slow_rail_is_slow_both_ways_and_no_other_is(whole: Lab) -> None:
    whole.boot("node-001", "node-002", "node-003")
    before = networks(whole)
    assert fault(whole, "slow-rail", "node-002")["planted"] == [
        {"name": "slow-rail", "subject": "node-002/r1"}
    ]
    for sender, receiver in ((1, 2), (2, 1)):
        assert 0.5 * SLOW_MBIT < mbit(whole, 1, sender, receiver) < 1.1 * SLOW_MBIT
    for rail, sender, receiver in ((0, 1, 2), (1, 1, 3)):
        assert 0.6 * RATE_MBIT < mbit(whole, rail, sender, receiver) < 1.1 * RATE_MBIT
    fault(whole, "clear")
    assert networks(whole) == before
    assert 0.6 * RATE_MBIT < mbit(whole, 1, 1, 2) < 1.1 * RATE_MBIT


def test_a_cut_rail_has_no_carrier_whatever_the_host_does_and_comes_back(whole: Lab) -> None:
    whole.boot("node-001", "node-002")
    look = "cat /sys/class/net/r0/carrier /sys/class/net/r1/carrier"
    ping = f"sudo ping -c 1 -W 5 {address(whole, 0, 1)}"
    whole.ssh("node-002", ping)
    before = networks(whole)
    fault(whole, "cut-rail", "node-002/r0")
    assert whole.ssh("node-002", look).split() == ["0", "1"]
    assert whole.ssh("node-001", look).split() == ["1", "1"]
    whole.reset("node-002", "ForceRestart")
    whole.wait("node-002", "on")
    assert whole.ssh("node-002", look).split() == ["0", "1"]
    fault(whole, "clear", "cut-rail")
    assert whole.ssh("node-002", look).split() == ["1", "1"]
    assert networks(whole) == before
    whole.ssh("node-002", f"for try in 1 2 3 4 5; do {ping} && break; sleep 1; done")


@NEEDS_NUMPY
def test_a_wrong_value_is_wrong_there_alone_and_always_the_same(whole: Lab) -> None:
    whole.boot("node-001", "node-002")
    whole.ssh("node-002", f"printf '# mine' | sudo tee {PRELOAD}; sudo chmod 600 {PRELOAD}")
    right, before = product(whole, "node-001"), whole.ssh("node-002", FILES)
    assert product(whole, "node-002") == right
    fault(whole, "wrong-value", "node-002")
    fault(whole, "wrong-value", "node-002")
    wrong = product(whole, "node-002")
    assert [one == other for one, other in zip(wrong, right, strict=True)] == [False, False, True]
    assert product(whole, "node-001") == right
    whole.reset("node-002", "ForceRestart")
    whole.wait("node-002", "on")
    assert product(whole, "node-002") == wrong
    assert fault(whole, "clear")["cleared"] == [{"name": "wrong-value", "subject": "node-002"}]
    assert product(whole, "node-002") == right
    assert whole.ssh("node-002", FILES) == before
    whole.ssh("node-002", f"sudo rm {PRELOAD}")


def test_files_are_changed_and_put_back_while_the_host_is_off(whole: Lab) -> None:
    whole.boot("node-003")
    before = whole.ssh("node-003", FILES)
    whole.reset("node-003", "ForceOff")
    fault(whole, "wrong-value", "node-003")
    assert whole.state("node-003") == "off"
    whole.boot("node-003")
    assert whole.ssh("node-003", f"cat {PRELOAD}; ls {LIBRARY}") == f"{LIBRARY}\n{LIBRARY}"
    whole.reset("node-003", "ForceOff")
    fault(whole, "clear")
    whole.boot("node-003")
    assert whole.ssh("node-003", FILES) == before


def test_a_disk_on_the_bench_is_back_in_its_host_when_whoever_had_it_has_died(whole: Lab) -> None:
    whole.reset("node-003", "ForceOff")
    places, disk = whole.places, str(whole.places.disk("node-003"))
    hold = (
        "import sys, time\n"
        "from rackwright.lab import workbench\n"
        "from rackwright.lab.supervisor import Machine\n"
        "with workbench.root(Machine.parse(sys.argv[1:])) as root:\n"
        "    print(root, flush=True)\n"
        "    time.sleep(600)\n"
    )
    machine = Hosts(read_world(places)).machine("node-003")
    with subprocess.Popen(
        [sys.executable, "-c", hold, *machine.arguments()], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        root = Path(holder.stdout.readline().strip())
        assert (root / "usr/bin").is_dir()
        assert disk in parts.backing_files().values()
        holder.kill()
    end = time.monotonic() + WITHIN_S
    while disk in parts.backing_files().values() or root.exists():
        assert time.monotonic() < end, "the disk is still mounted"
        time.sleep(0.1)
    whole.boot("node-003")


def test_a_link_on_the_host_leads_no_fault_out_of_it(whole: Lab) -> None:
    whole.boot("node-001")
    whole.ssh(
        "node-001", "sudo mv /usr/local/lib /usr/local/lib.away; sudo ln -s /proc/1/root/tmp /usr/local/lib"
    )
    refused = fault(whole, "wrong-value", "node-001", code=2)
    assert "usr/local/lib" in str(refused["got"])
    assert planted(whole) == []
    whole.ssh("node-001", "sudo rm /usr/local/lib; sudo mv /usr/local/lib.away /usr/local/lib")


def test_a_killed_host_is_off_until_somebody_switches_it_on(whole: Lab) -> None:
    whole.boot("node-001", "node-002")
    fault(whole, "kill", "node-002")
    assert (whole.state("node-002"), whole.power("node-002"), whole.state("node-001")) == ("off", "Off", "on")
    fault(whole, "kill", "node-002")
    assert planted(whole) == [("kill", "node-002")]
    fault(whole, "clear", "kill")
    whole.wait("node-002", "on")
    assert planted(whole) == []
    fault(whole, "kill", "node-002")
    whole.boot("node-002")
    assert planted(whole) == []
    assert fault(whole, "clear")["cleared"] == []
    whole.reset("node-002", "ForceOff")
    assert planted(whole) == []
    assert "a host that is off has no power to lose" in str(fault(whole, "kill", "node-002", code=2)["got"])


def test_faults_outlive_labd_a_power_cycle_and_a_cable_made_anew(whole: Lab) -> None:
    whole.boot("node-002")
    before = networks(whole)
    fault(whole, "slow-rail", "node-002/r0")
    fault(whole, "cut-rail", "node-002/r1")
    fault(whole, "kill", "node-002")
    all_three = [("slow-rail", "node-002/r0"), ("cut-rail", "node-002/r1"), ("kill", "node-002")]
    broken = networks(whole)
    kill_labd(whole)
    shown = whole.json("lab", "status", whole.name)
    assert shown["faults"] == [{"name": name, "subject": subject} for name, subject in all_three]
    assert fault(whole, "clear", code=2)["code"] == "LAB015"
    whole.up()
    assert (planted(whole), networks(whole)) == (all_three, broken)
    kill_labd(whole)
    host = whole.host("node-002")
    router = Namespace(whole.places.netns("router"))
    for rail in host.rails:
        router.ip("link", "del", host.cable(rail))
    whole.up()
    links = router.links()
    assert [links[host.cable(rail)].rate_mbit for rail in host.rails] == [SLOW_MBIT, RATE_MBIT]
    assert [links[host.cable(rail)].up for rail in host.rails] == [True, False]
    fault(whole, "clear", "slow-rail")
    assert planted(whole) == all_three[1:]
    fault(whole, "clear")
    whole.wait("node-002", "on")
    after = router.links()
    assert [(after[host.cable(rail)].rate_mbit, after[host.cable(rail)].up) for rail in host.rails] == [
        (RATE_MBIT, True)
    ] * 2
    assert len(before.splitlines()) == len(networks(whole).splitlines())


SEVERAL = (
    ("lossy-rail", "node-001/r0"),
    ("slow-cpu", "node-001"),
    ("hung-rank", "node-001"),
    ("no-ssh", "node-001"),
    ("clock-ahead", "node-002"),
    ("full-disk", "node-002"),
    ("database-down", "head-001"),
    ("controller-killed", "head-001"),
    ("bmc-password", "node-001"),
    ("bmc-certificate", "node-002"),
    ("bmc-silent", "head-001"),
)
BMC_FILES = (authority.KEY, authority.CERTIFICATE, bmc_config.PASSWORDS)
ON_HOSTS = ("head-001", "node-001", "node-002")


def traces(lab: Lab) -> list[object]:
    """Files, rules, BMCs' files and limits; the size of disks in steps that a log does not reach."""
    spaces = [Namespace(lab.places.netns(name)) for name in ("router", *ON_HOSTS)]
    quotas = sorted((lab.places.cgroup, str(path), path.read_text()) for path in quota_files(lab))
    return [
        *(lab.ssh(slot, FILES) for slot in ON_HOSTS),
        *(space.nft("list ruleset") for space in spaces),
        *((lab.places.bmc(slot) / name).read_bytes() for slot in ON_HOSTS for name in BMC_FILES),
        quotas,
        [lab.ssh(slot, "df -m / | awk 'END {print $4 > 1000}'") for slot in ON_HOSTS],
    ]


def quota_files(lab: Lab) -> list[Path]:
    names = ("cpu.cfs_quota_us", "cpu.max")
    folders = cgroups.folders(f"{lab.places.cgroup}/node-001")
    return [folder / name for folder in folders for name in names if (folder / name).exists()]


def test_all_others_outlive_labd_too_and_leave_no_trace(whole: Lab) -> None:
    whole.boot(*ON_HOSTS)
    before = traces(whole)
    for name, subject in SEVERAL:
        ask(whole.places.socket, Request(Verb.PLANT, subject, name), WITHIN_S)
    kill_labd(whole)
    whole.up()
    assert planted(whole) == list(SEVERAL)
    assert any("25000" in path.read_text() for path in quota_files(whole))
    assert whole.ssh("node-002", "df -m / | awk 'END {print $4 < 20}'") == "1"
    assert int(whole.ssh("node-002", "date +%s")) > time.time() + 30
    assert whole.redfish("node-001", password=whole.password("node-001")).status == 401
    fault(whole, "clear")
    assert whole.redfish("node-001").status == 200, "what is cleared works again"
    assert traces(whole) == before


def test_a_disk_with_an_error_takes_no_writes_until_it_is_checked(whole: Lab) -> None:
    whole.boot("node-003")
    boot = whole.boot_id("node-003")
    fault(whole, "read-only-disk", "node-003")
    whole.ssh("node-003", "touch /var/tmp/written", code=1)
    assert planted(whole) == [("read-only-disk", "node-003")]
    fault(whole, "clear")
    assert planted(whole) == []
    whole.wait("node-003", "on")
    whole.ssh("node-003", "touch /var/tmp/written; rm /var/tmp/written")
    assert whole.boot_id("node-003") != boot


def test_planted_twice_is_one_fault_and_several_stand_side_by_side(whole: Lab) -> None:
    before = networks(whole)
    for _ in range(2):
        fault(whole, "slow-rail", "node-001")
        fault(whole, "slow-rail", "node-003/r0")
        fault(whole, "cut-rail", "node-001/r1")
    assert planted(whole) == [
        ("slow-rail", "node-001/r1"),
        ("slow-rail", "node-003/r0"),
        ("cut-rail", "node-001/r1"),
    ]
    fault(whole, "clear", "slow-rail")
    assert planted(whole) == [("cut-rail", "node-001/r1")]
    fault(whole, "clear")
    assert networks(whole) == before


def test_a_lab_taken_down_takes_its_faults_with_it(small_lab: Lab) -> None:
    small_lab.up()
    fault(small_lab, "slow-rail", "node-001")
    fault(small_lab, "wrong-value", "head-001")
    small_lab.down()
    assert parts.find(small_lab.places) == []
    assert small_lab.json("lab", "status", small_lab.name)["faults"] == []
    small_lab.up()
    assert planted(small_lab) == []
