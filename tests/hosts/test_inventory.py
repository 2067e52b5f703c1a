"""Real hosts through the inventory: reached when their key is known, never when it is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab

HOSTS = ("node-001", "node-002")
ABSENT = "node-003"
WITHIN_S = 300


@dataclass(frozen=True)
class Controller:
    """A controller of the lab's hosts with a state and console logs of its own.

    What a test does to what is known of a host, it does here, and no other test sees it.
    """

    lab: Lab
    folder: Path

    def __post_init__(self) -> None:
        shutil.copytree(self.lab.spec.parent, self.folder / "clusters")
        spec = self.spec.read_text().replace('"state:console"', '"file:console"')
        self.spec.write_text(spec)
        self.consoles.mkdir()
        shutil.copytree(self.lab.places.state / "secrets", self.state / "secrets")

    @property
    def spec(self) -> Path:
        return self.folder / "clusters" / self.lab.spec.name

    @property
    def consoles(self) -> Path:
        return self.spec.parent / "console"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "rackwright" / self.lab.name

    @property
    def inventory_folder(self) -> Path:
        return self.state / "inventory"

    def sees(self, *slots: str) -> None:
        """The console server now has what these hosts have printed so far."""
        for slot in slots:
            (self.consoles / f"{slot}.log").write_text(self.lab.console(slot))

    def run(self, *words: str | Path, config: str = "") -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "XDG_STATE_HOME": str(self.folder / "state"),
            "ANSIBLE_CONFIG": config or str(self.inventory_folder / "ansible.cfg"),
            "ANSIBLE_HOME": str(self.folder / "ansible"),
            "LC_ALL": "C.UTF-8",
        }
        program = Path(sys.executable).with_name(str(words[0]))
        return subprocess.run(
            [program, *words[1:]],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
        )

    def inventory(self, *options: str) -> subprocess.CompletedProcess[str]:
        return self.run("rackwright", "inventory", self.spec, *options)

    def ping(self, hosts: str = "all") -> subprocess.CompletedProcess[str]:
        return self.run("ansible", hosts, "-m", "ansible.builtin.ping", "-o")

    def ping_by_the_hosts_file_alone(self) -> subprocess.CompletedProcess[str]:
        """As somebody does who has a configuration of their own."""
        own = self.folder / "own.cfg"
        own.write_text("[defaults]\n")
        hosts = self.inventory_folder / "hosts.yml"
        words = ("ansible", "-i", hosts, "all", "-m", "ansible.builtin.ping", "-o")
        return self.run(*words, config=str(own))


@pytest.fixture
def controller(lab: Lab, tmp_path: Path) -> Controller:
    lab.boot(*HOSTS, ABSENT)
    return Controller(lab, tmp_path)


def _connections(lab: Lab, slot: str) -> int:
    """TCP connections that a host has taken so far (RFC 4022, tcpPassiveOpens)."""
    table = subprocess.run(
        ["ip", "netns", "exec", lab.places.netns(slot), "cat", "/proc/net/snmp"],
        capture_output=True,
        text=True,
        check=True,
    )
    names, values = (line.split() for line in table.stdout.splitlines() if line.startswith("Tcp:"))
    return int(values[names.index("PassiveOpens")])


def test_every_host_answers_ansible_through_the_inventory(controller: Controller) -> None:
    controller.sees(*HOSTS, ABSENT)
    done = controller.inventory()
    assert done.returncode == 3, done.stderr
    assert "head-001: error KEY001" in done.stderr
    pinged = controller.ping()
    assert pinged.returncode == 0, pinged.stdout + pinged.stderr
    assert pinged.stdout.count('"ping": "pong"') == 3


def test_the_hosts_file_alone_brings_the_keys_and_their_checking(controller: Controller) -> None:
    controller.sees(*HOSTS)
    controller.inventory()
    known = controller.inventory_folder / "known_hosts"
    mine, other = (controller.lab.host_key(slot) for slot in HOSTS)
    right = known.read_text()
    known.write_text(right.replace(mine, other))
    assert f"{HOSTS[0]} | UNREACHABLE!" in controller.ping_by_the_hosts_file_alone().stdout
    known.write_text(right)
    pinged = controller.ping_by_the_hosts_file_alone()
    assert pinged.returncode == 0, pinged.stdout + pinged.stderr


def test_groups_are_those_of_pool_site_rack_and_host_set(controller: Controller) -> None:
    controller.sees(*HOSTS, ABSENT)
    controller.inventory()
    for group, count in {"pool_node": 3, "site_hall": 3, "rack_hall_r01p01": 1, "unit_node_u01": 3}.items():
        listed = json.loads(controller.run("ansible-inventory", "--list").stdout)
        assert len(listed[group]["hosts"]) >= count, group


def test_login_has_sudo_and_rails_have_their_planned_addresses(controller: Controller) -> None:
    controller.sees(*HOSTS)
    controller.inventory()
    told = controller.run(
        "ansible", "node-001", "-b", "-o", "-m", "ansible.builtin.command", "-a", "ip -br -4 address"
    )
    ports = controller.lab.plan.pools["node"].slots["node-001"].ports
    assert told.returncode == 0, told.stdout + told.stderr
    assert all(port.address and port.address in told.stdout for port in ports)


def test_host_without_a_known_key_is_sent_not_one_packet(controller: Controller) -> None:
    controller.sees(*HOSTS)
    done = controller.inventory()
    assert done.returncode == 3
    assert f"{ABSENT}" in done.stdout
    before = {slot: _connections(controller.lab, slot) for slot in (*HOSTS, ABSENT)}
    assert controller.ping().returncode == 0
    controller.ping(ABSENT)
    after = {slot: _connections(controller.lab, slot) for slot in (*HOSTS, ABSENT)}
    assert after[ABSENT] == before[ABSENT]
    assert all(after[slot] > before[slot] for slot in HOSTS), "the counter counts"


def test_host_with_another_key_than_the_known_one_is_refused(controller: Controller) -> None:
    controller.sees(*HOSTS)
    controller.inventory()
    known = controller.inventory_folder / "known_hosts"
    mine, other = (controller.lab.host_key(slot) for slot in HOSTS)
    right = known.read_text()
    known.write_text(right.replace(mine, other))
    pinged = controller.ping()
    assert pinged.returncode != 0
    assert f"{HOSTS[0]} | UNREACHABLE!" in pinged.stdout
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in pinged.stdout
    assert f"{HOSTS[1]} | SUCCESS" in pinged.stdout
    known.write_text(right)
    assert controller.ping().returncode == 0, "nothing but the key was in the way"


def test_reboot_prints_the_same_key_and_changes_nothing(controller: Controller) -> None:
    controller.sees(*HOSTS)
    controller.inventory()
    before = (controller.inventory_folder / "known_hosts").read_bytes()
    blocks = controller.lab.console(HOSTS[0]).count("BEGIN SSH HOST KEY KEYS")
    controller.lab.reset(HOSTS[0], "GracefulShutdown")
    controller.lab.wait(HOSTS[0], "off")
    controller.lab.boot(HOSTS[0])
    assert controller.lab.console(HOSTS[0]).count("BEGIN SSH HOST KEY KEYS") == blocks + 1
    controller.sees(*HOSTS)
    controller.inventory()
    assert (controller.inventory_folder / "known_hosts").read_bytes() == before


def test_reinstalled_host_is_not_connected_to_until_its_key_is_accepted(controller: Controller) -> None:
    controller.sees(*HOSTS)
    controller.inventory()
    _reinstall(controller.lab, HOSTS[0])
    controller.sees(*HOSTS)
    done = controller.inventory()
    assert done.returncode == 3
    assert f"{HOSTS[0]}: error KEY007" in done.stderr
    before = _connections(controller.lab, HOSTS[0])
    controller.ping()
    assert _connections(controller.lab, HOSTS[0]) == before
    controller.inventory("--accept-changed-key", HOSTS[0], "--reason", "disk replaced in a test")
    assert "SUCCESS" in controller.ping(HOSTS[0]).stdout


def _reinstall(lab: Lab, slot: str) -> None:
    """Make a host forget its key, as a new disk does; its next boot makes another."""
    before = lab.host_key(slot)
    lab.ssh(slot, "sudo rm /etc/ssh/ssh_host_ed25519_key")
    lab.reset(slot, "GracefulShutdown")
    lab.wait(slot, "off")
    lab.boot(slot)
    assert lab.host_key(slot) != before
    lab.accept_key(slot)
