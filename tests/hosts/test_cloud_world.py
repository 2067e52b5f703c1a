"""Hosts of the cloud are there from launch to terminate, behind a routed link, and leave nothing."""

from __future__ import annotations

import subprocess
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from rackwright.lab import parts, processes, snapshot
from rackwright.lab.cloud.wire import Refusal
from rackwright.lab.faults.planted import read
from rackwright.lab.netns import Namespace
from rackwright.lab.protocol import LabdSilent, LaunchRefused, Request, Verb, ask
from rackwright.lab.status import read_world
from tests.doubles import cloud
from tests.hosts.cloud_lab import CloudLab
from tests.hosts.lab import WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.cloud.wire import Launch

pytestmark = pytest.mark.lab

FIRST, SECOND = cloud.instance(1), cloud.instance(2)
RATE_MBIT = 100
LINK_MTU, HEADERS = 1400, 28
"""Bytes; of IPv4 and ICMP."""
HOLE = 1200


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory, ranges: Iterator[str], can_hold_a_lab: None
) -> Iterator[CloudLab]:
    del can_hold_a_lab
    folder, prefix = tmp_path_factory.mktemp("cloud"), next(ranges)
    name = f"cloud-test-{prefix.rpartition('.')[2]}"
    lab = CloudLab(name, cloud.write_spec(folder / "clusters", name, prefix), prefix, folder / "state")
    before = snapshot.take()
    try:
        lab.up()
        lab.prepare()
        yield lab
    finally:
        lab.down()
    assert parts.find(lab.places) == []
    ours = [
        one for one in snapshot.compare(before, snapshot.take()) if name in str(one) or prefix in str(one)
    ]
    assert ours == []


@pytest.fixture
def lab(made: CloudLab) -> Iterator[CloudLab]:
    """The lab with its first instance on; what a test adds is gone afterwards."""
    if FIRST not in made.instances():
        made.launch(1)
    yield made
    ask(made.places.socket, Request(Verb.CLEAR), WITHIN_S)
    for instance in made.instances():
        if instance != FIRST:
            made.terminate(instance)


def test_an_instance_boots_with_its_user_data_and_is_reached_over_the_link(lab: CloudLab) -> None:
    assert lab.login(1, "hostname; sudo stat -c %a /etc/sudoers.d/rackwright").splitlines()[0] == "cnode-001"
    hops = lab.login(1, f"sudo ping -c 1 -W 5 {lab.prefix}.0.2")
    assert "ttl=62" in hops, "two routers are between an instance and this machine"


def test_it_takes_its_self_test_to_come_up_and_prints_its_key(lab: CloudLab) -> None:
    lab.launch(2)
    printed = lab.printed(SECOND)
    assert "network boot: " in printed
    assert "-----BEGIN SSH HOST KEY KEYS-----" in printed
    assert printed.index("power on") < printed.index("network boot")


def test_the_path_takes_what_the_link_takes_and_hosts_are_told(lab: CloudLab) -> None:
    largest = LINK_MTU - HEADERS
    assert "1 received" in lab.login(1, f"sudo ping -M do -c 1 -W 5 -s {largest} {lab.prefix}.0.2")
    lab.login(1, f"sudo ping -M do -c 1 -W 2 -s {largest + 1} {lab.prefix}.0.2", code=1)
    assert f"mtu {LINK_MTU}" in lab.login(1, f"ip route get {lab.prefix}.0.2")
    assert "mtu 9001" in lab.login(1, "ip link show mgmt0"), "within its zone it sends what a VPC carries"


def test_rails_of_the_cloud_are_shaped_and_its_own(lab: CloudLab) -> None:
    lab.launch(2)
    router, inside = (Namespace(lab.places.netns(who)).links() for who in ("router.cloud", SECOND))
    assert {name: link.rate_mbit for name, link in inside.items() if name != "lo"} == {
        "mgmt0": 0,
        "r0": RATE_MBIT,
        "r1": RATE_MBIT,
    }
    ports = {
        name: (link.master, link.rate_mbit) for name, link in router.items() if link.name.startswith("c1.")
    }
    assert ports == {
        "c1.mgmt0": ("subnet", 0),
        "c1.r0": ("rail0", RATE_MBIT),
        "c1.r1": ("rail1", RATE_MBIT),
    }
    assert "1 received" in lab.login(1, f"sudo ping -c 1 -W 5 {lab.prefix}.48.17")
    lab.login(1, f"sudo ping -c 1 -W 2 {lab.prefix}.16.16", code=1)


def test_terminate_leaves_nothing_and_its_address_to_the_next(lab: CloudLab) -> None:
    before = snapshot.take()
    lab.launch(2)
    assert lab.traces(SECOND) != []
    lab.terminate(SECOND)
    assert lab.traces(SECOND) == []
    left = [one for one in snapshot.compare(before, snapshot.take()) if lab.name in str(one)]
    assert left == []
    assert not [
        link for link in Namespace(lab.places.netns("router.cloud")).links() if link.startswith("c1.")
    ]
    lab.terminate(SECOND)
    again = cloud.launch(3, lab.prefix)
    lab.ask(Request(Verb.LAUNCH, launch=cloud.launch(2, lab.prefix)))
    lab.terminate(SECOND)
    lab.ask(Request(Verb.LAUNCH, launch=again))
    assert lab.instances() == [FIRST, again.instance]


def test_status_shows_it_with_site_and_id_also_where_labd_is_dead(lab: CloudLab) -> None:
    lab.kill_labd()
    first = {
        "name": "cnode-001",
        "pool": "cnode",
        "role": "compute",
        "site": "cloud",
        "state": "on",
        "instance": FIRST,
    }
    for alive in (False, True):
        status = lab.json("lab", "status", lab.name)
        assert status["labd"] is alive
        hosts = status["hosts"]
        assert isinstance(hosts, list)
        assert hosts[-1] == first
        if not alive:
            lab.up()


def test_labd_that_dies_takes_nothing_along_and_the_next_one_goes_on(lab: CloudLab) -> None:
    boot = lab.login(1, "cat /proc/sys/kernel/random/boot_id")
    lab.kill_labd()
    report = lab.up()
    assert report["made"] == ["labd"]
    assert lab.instances() == [FIRST]
    assert lab.login(1, "cat /proc/sys/kernel/random/boot_id") == boot
    lab.ask(Request(Verb.LAUNCH, launch=cloud.launch(1, lab.prefix, lab.user_data(1), "cnode-001")))
    assert lab.login(1, "cat /proc/sys/kernel/random/boot_id") == boot, (
        "the same launch again changes nothing"
    )


def test_an_emulator_that_dies_is_told_and_comes_back_alone(lab: CloudLab) -> None:
    running, daemon = (processes.read_pid_file(pid) for pid in (lab.places.emulator_pid, lab.places.labd_pid))
    assert running is not None
    running.kill()
    assert processes.wait_gone([running], WITHIN_S) == []
    assert lab.json("lab", "status", lab.name)["emulator"] is False
    made = lab.up()["made"]
    assert isinstance(made, list)
    assert [line.partition(" at ")[0] for line in made] == ["AWS emulator"]
    assert lab.json("lab", "status", lab.name)["emulator"] is True
    assert processes.read_pid_file(lab.places.labd_pid) == daemon
    assert lab.state(FIRST) == "on"


@pytest.mark.parametrize("moment", ["instance.json", "ext4", "namespace", "pid"])
def test_a_launch_that_is_cut_off_by_the_death_of_labd_is_ended_by_asking_again(
    lab: CloudLab, moment: str
) -> None:
    signs = {
        "instance.json": (lab.places.cloud / SECOND / "instance.json").exists,
        "ext4": lab.places.disk(SECOND).exists,
        "namespace": lambda: Namespace(lab.places.netns(SECOND)).exists,
        "pid": lab.places.host_pid(SECOND).exists,
    }
    launch = cloud.launch(2, lab.prefix, lab.user_data(2), "cnode-002")
    running = processes.read_pid_file(lab.places.labd_pid)
    assert running is not None
    asking = threading.Thread(target=_ask_in_vain, args=(lab, launch))
    asking.start()
    while not signs[moment]():
        assert asking.is_alive() or signs[moment]()
        time.sleep(0.001)
    running.kill()
    asking.join(WITHIN_S)
    assert processes.wait_gone([running], WITHIN_S) == []
    lab.up()
    lab.ask(Request(Verb.LAUNCH, launch=launch))
    lab.wait_on(SECOND)
    lab.terminate(SECOND)
    assert lab.traces(SECOND) == []


def _ask_in_vain(lab: CloudLab, launch: Launch) -> None:
    with suppress(LabdSilent):
        lab.ask(Request(Verb.LAUNCH, launch=launch))


def test_a_terminate_that_is_cut_off_goes_on(lab: CloudLab) -> None:
    lab.launch(2)
    asking = threading.Thread(target=_terminate_in_vain, args=(lab, SECOND))
    asking.start()
    while processes.read_pid_file(lab.places.host_pid(SECOND)) is not None:
        time.sleep(0.001)
    lab.kill_labd()
    asking.join(WITHIN_S)
    lab.up()
    lab.terminate(SECOND)
    assert lab.traces(SECOND) == []


def _terminate_in_vain(lab: CloudLab, instance: str) -> None:
    with suppress(LabdSilent):
        lab.terminate(instance)


def test_an_instance_that_shuts_itself_down_is_off_and_comes_back_with_its_disk(lab: CloudLab) -> None:
    lab.launch(2)
    lab.login(2, "echo kept | sudo tee /var/kept; sudo systemctl --no-block poweroff")
    end = time.monotonic() + WITHIN_S
    while lab.state(SECOND) != "off":
        assert time.monotonic() < end
        time.sleep(0.1)
    lab.ask(Request(Verb.LAUNCH, launch=cloud.launch(2, lab.prefix, lab.user_data(2), "cnode-002")))
    assert lab.state(SECOND) == "off", "launched once it is not started by the same launch again"
    lab.ask(Request(Verb.ON, SECOND))
    lab.wait_on(SECOND)
    assert lab.login(2, "cat /var/kept") == "kept"


def test_a_cut_link_is_silent_at_both_ends_and_whole_again_as_it_was(lab: CloudLab) -> None:
    boot = lab.login(1, "cat /proc/sys/kernel/random/boot_id")
    before = _network(lab)
    assert _reaches(lab, 64)
    lab.json("lab", "fault", "link-down", "wan", "--lab", lab.name)
    assert not _reaches(lab, 64)
    for who, link in (("router", "wan0"), ("router.cloud", "wan0")):
        assert "NO-CARRIER" in Namespace(lab.places.netns(who)).ip("link", "show", link)
    assert lab.up()["made"] == []
    assert not _reaches(lab, 64), "it stays cut over `lab up`"
    lab.json("lab", "fault", "clear", "link-down", "--lab", lab.name)
    end = time.monotonic() + WITHIN_S
    while not _reaches(lab, 64):
        assert time.monotonic() < end
    assert _network(lab) == before
    assert lab.login(1, "cat /proc/sys/kernel/random/boot_id") == boot


def test_a_black_hole_swallows_large_packets_both_ways_and_tells_nobody(lab: CloudLab) -> None:
    before = _network(lab)
    assert _reaches(lab, LINK_MTU)
    lab.json("lab", "fault", "mtu-black-hole", "wan", "--lab", lab.name)
    assert _reaches(lab, HOLE)
    for size in (HOLE + 1, LINK_MTU, LINK_MTU + 1):
        assert not _reaches(lab, size)
    lab.json("lab", "fault", "clear", "mtu-black-hole", "--lab", lab.name)
    assert _reaches(lab, LINK_MTU)
    assert _network(lab) == before


def test_large_packets_of_an_instance_vanish_too(lab: CloudLab) -> None:
    lab.json("lab", "fault", "mtu-black-hole", "wan", "--lab", lab.name)
    # Logging in needs packets that are too large; one from within this machine needs none.
    ping = ("ping", "-q", "-M", "do", "-c", "1", "-W", "2")
    space = f"/run/netns/{lab.places.netns(FIRST)}"
    results = [
        subprocess.run(
            ["nsenter", f"--net={space}", *ping, "-s", str(size - HEADERS), f"{lab.prefix}.0.2"],
            capture_output=True,
            text=True,
            check=False,
        )
        for size in (HOLE, HOLE + 1)
    ]
    assert [done.returncode for done in results] == [0, 1]
    assert "Frag needed" not in results[1].stdout


def test_faults_of_the_cloud_are_in_the_record_as_long_as_they_are_planted(lab: CloudLab) -> None:
    for name, subject in (("no-capacity", "cnode"), ("throttled", "cloud")):
        lab.json("lab", "fault", name, subject, "--lab", lab.name)
    assert [(one.name, one.subject) for one in read(lab.places.faults)] == [
        ("no-capacity", "cnode"),
        ("throttled", "cloud"),
    ]
    lab.json("lab", "fault", "clear", "--lab", lab.name)
    assert read(lab.places.faults) == ()


def test_one_more_than_the_cloud_holds_is_refused_and_nothing_is_made(lab: CloudLab) -> None:
    most = read_world(lab.places).cloud[0].most_instances
    for number in range(2, most + 1):
        lab.ask(Request(Verb.LAUNCH, launch=cloud.launch(number, lab.prefix)))
    too_many = cloud.launch(most + 1, lab.prefix)
    with pytest.raises(LaunchRefused) as refused:
        lab.ask(Request(Verb.LAUNCH, launch=too_many))
    assert refused.value.refusal is Refusal.NO_CAPACITY
    assert lab.traces(too_many.instance) == []


def _reaches(lab: CloudLab, size: int) -> bool:
    """Whether a packet of so many bytes comes back from the first instance, unfragmented."""
    address = f"{lab.prefix}.32.16"
    payload = str(max(0, size - HEADERS))
    ping = ["ping", "-q", "-M", "do", "-c", "1", "-W", "2", "-s", payload, address]
    return subprocess.run(ping, capture_output=True, check=False).returncode == 0


def _network(lab: CloudLab) -> list[str]:
    """Links, routes and packet filters of both routers, without what only time changes."""
    found = []
    for who in ("router", "router.cloud"):
        router = Namespace(lab.places.netns(who))
        found += [str(link) for link in router.links().values()]
        found += sorted(router.ip("-4", "route", "show", "table", "all").splitlines())
        found.append(router.nft("list ruleset"))
    return found
