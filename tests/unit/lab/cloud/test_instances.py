"""What a cloud takes in and what it refuses, and the record of it; no root is needed, nothing is made."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import cgroups, disks, network, stale
from rackwright.lab.cloud import records
from rackwright.lab.cloud.instances import Instances
from rackwright.lab.cloud.wire import Instance, Interface, Refusal
from rackwright.lab.hosts import Hosts
from rackwright.lab.protocol import LaunchRefused
from tests.doubles import cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.cloud.wire import Launch
    from rackwright.lab.model import Chassis, World


class Usage(NamedTuple):
    """As `shutil.disk_usage` has it, bytes."""

    total: int
    used: int
    free: int


PREFIX = "10.77"
ID = cloud.instance(1)


class _Ground:
    """Stands for the kernel: what was made and powered on, by name."""

    def __init__(self, world: World) -> None:
        self._places = world.places
        self.made: list[str] = []
        self.breaks = False

    def make(self, _: World, what: Chassis | str) -> Iterator[str]:
        if self.breaks:
            raise EnvironmentUnfit("no", where="kernel")
        yield str(what)

    def on(self, slot: str) -> None:
        self.made.append(slot)
        records.console(self._places, slot).touch()


@pytest.fixture
def ground(cloud_world: World, monkeypatch: pytest.MonkeyPatch) -> _Ground:
    ground = _Ground(cloud_world)
    monkeypatch.setattr(disks, "build_one", ground.make)
    monkeypatch.setattr(network, "host", ground.make)
    monkeypatch.setattr(network, "remove_host", lambda *_: None)
    monkeypatch.setattr(cgroups, "hierarchies", list)
    return ground


@pytest.fixture
def instances(cloud_world: World, ground: _Ground, monkeypatch: pytest.MonkeyPatch) -> Instances:
    hosts = Hosts(cloud_world)
    monkeypatch.setattr(hosts, "on", ground.on)
    return Instances(cloud_world, hosts)


def test_what_is_launched_is_there_once_and_powered_on_once(
    instances: Instances, ground: _Ground, cloud_world: World
) -> None:
    launch = cloud.launch(1, PREFIX, "#cloud-config\nhostname: cnode-001\n", "cnode-001")
    expected = Instance(ID, cloud.TYPE, "cloud", "cnode", "cnode-001", "10.77.32.16", "off")
    assert instances.launch(launch) == instances.launch(launch) == expected
    assert instances.now() == (expected,)
    assert ground.made == [ID]
    seed = records.seed(cloud_world.places, ID)
    assert (seed / "etc/hostname").read_text() == "cnode-001\n"
    instances.terminate(ID)
    instances.terminate(ID)
    assert instances.now() == ()
    assert not list(cloud_world.places.cloud.iterdir())


def test_its_interfaces_are_those_of_ec2_and_the_rails_that_ec2_was_not_told_of(
    instances: Instances, cloud_world: World
) -> None:
    second = Interface("02:bb:00:00:00:01", card=1, device=1)
    plain, more = cloud.launch(1, PREFIX), cloud.launch(2, PREFIX)
    instances.launch(plain)
    instances.launch(replace(more, interfaces=(*more.interfaces, second)))
    first, other = records.read_all(cloud_world.places)
    assert [(nic.interface, nic.segment, nic.rate_mbit) for nic in first.nics] == [
        ("mgmt0", "subnet", 0),
        ("r0", "rail0", 100),
        ("r1", "rail1", 100),
    ]
    assert first.nics[0].mac == plain.interfaces[0].mac
    assert other.nics[1].mac == second.mac
    macs = [nic.mac for host in (first, other) for nic in host.nics]
    assert len(set(macs)) == len(macs)
    assert {first.cable(nic) for nic in first.nics}.isdisjoint({other.cable(nic) for nic in other.nics})


def _on(number: int, address: str) -> Launch:
    return replace(cloud.launch(number, PREFIX), interfaces=(Interface("02:aa:00:00:00:01", address),))


FIVE_NICS = tuple(Interface(f"02:aa:00:00:00:{n:02x}", "10.77.32.30" if not n else "") for n in range(5))


@pytest.mark.parametrize(
    ("launch", "refusal", "got"),
    [
        (replace(cloud.launch(2, PREFIX), type="p5.48xlarge"), Refusal.NO_SUCH_TYPE, "lab1.2rail"),
        (replace(cloud.launch(2, PREFIX), interfaces=FIVE_NICS), Refusal.NO_SUCH_TYPE, "has 3"),
        (_on(2, "10.77.0.30"), Refusal.NO_SUBNET, "10.77.32.0/24"),
        (_on(2, ""), Refusal.NO_SUBNET, "10.77.32.0/24"),
        (_on(2, "10.77.32.1"), Refusal.ADDRESS_IN_USE, "router"),
        (_on(2, "10.77.32.16"), Refusal.ADDRESS_IN_USE, ID),
        (cloud.launch(2, PREFIX, "#!/bin/sh\n"), Refusal.USER_DATA, "#cloud-config"),
        (replace(cloud.launch(1, PREFIX), slot="cnode-009"), Refusal.CHANGED, "is there"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing(
    instances: Instances, launch: Launch, refusal: Refusal, got: str
) -> None:
    instances.launch(cloud.launch(1, PREFIX))
    with pytest.raises(LaunchRefused) as refused:
        instances.launch(launch)
    assert refused.value.refusal is refusal
    assert got in refused.value.got
    assert [one.instance for one in instances.now()] == [ID]


def test_a_cloud_is_full_with_its_slots_and_two_more(instances: Instances) -> None:
    for number in range(1, 5):
        instances.launch(cloud.launch(number, PREFIX))
    with pytest.raises(LaunchRefused) as refused:
        instances.launch(cloud.launch(5, PREFIX))
    assert (refused.value.refusal, refused.value.got) == (
        Refusal.NO_CAPACITY,
        "4 of 4 instances are there",
    )
    instances.terminate(ID)
    instances.launch(cloud.launch(5, PREFIX))


def test_a_full_disk_is_no_capacity(instances: Instances, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1 << 40, 0, 1 << 30))
    with pytest.raises(LaunchRefused) as refused:
        instances.launch(cloud.launch(1, PREFIX))
    assert refused.value.refusal is Refusal.NO_CAPACITY
    assert instances.now() == ()


def test_what_breaks_while_it_is_made_is_not_there(
    instances: Instances, ground: _Ground, cloud_world: World
) -> None:
    ground.breaks = True
    with pytest.raises(EnvironmentUnfit):
        instances.launch(cloud.launch(1, PREFIX))
    assert instances.now() == ()
    assert not list(cloud_world.places.cloud.iterdir())


def test_one_that_was_cut_off_is_made_and_switched_on_by_asking_again(
    cloud_world: World, instances: Instances, ground: _Ground
) -> None:
    launch = cloud.launch(1, PREFIX)
    instances.launch(launch)
    records.console(cloud_world.places, ID).unlink()
    instances.launch(launch)
    assert ground.made == [ID, ID]


def test_a_record_is_no_slot_and_a_slot_no_record(cloud_world: World, instances: Instances) -> None:
    instances.launch(cloud.launch(1, PREFIX))
    hosts = Hosts(cloud_world)
    assert hosts.find(ID).site == "cloud"
    assert hosts.find("node-001").site == "hall"
    assert records.read(cloud_world.places, "../../etc") is None
    for unknown in ("node-009", cloud.instance(9)):
        with pytest.raises(KeyError):
            hosts.state(unknown)


def test_what_a_crash_left_is_told_from_what_is_an_instances(
    cloud_world: World, instances: Instances
) -> None:
    instances.launch(cloud.launch(1, PREFIX))
    kept, stray = (cloud_world.places.disk(cloud.instance(number)) for number in (1, 2))
    kept.parent.mkdir(parents=True)
    kept.touch()
    stray.touch()
    nobodys = cloud_world.model_copy(update={"cluster": f"unit-{os.getpid()}"})  # no lab of this machine
    assert [line for line in stale.clear(nobodys) if "ext4" in line] == [f"file {stray}"]
    assert kept.exists()


def test_an_instance_that_goes_while_all_are_listed_is_not_there_and_hides_no_other(
    instances: Instances, cloud_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = cloud.launch(1, PREFIX), cloud.launch(2, PREFIX)
    instances.launch(first)
    instances.launch(second)
    listed = records.read_all(cloud_world.places)
    instances.terminate(first.instance)
    monkeypatch.setattr(records, "read_all", lambda _: listed)
    assert [one.instance for one in instances.now()] == [second.instance]
