"""Hosts of a zone: by their instances, with the keys that EC2 says they printed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.inventory import files, store
from rackwright.inventory.model import Absence
from tests.doubles.fake_ec2 import CONSOLE, One
from tests.doubles.hall import host_key

if TYPE_CHECKING:
    from tests.doubles.hall import Hall

SLOT, BURST = "cloud-001", "cloud-002"


def instance(number: int, slot: str, seed: str = "", state: str = "running") -> One:
    key = host_key(seed or slot)
    console = CONSOLE.format(type=key.type, key=key.key, name=slot)
    return One(f"i-{number:017x}", slot, f"10.128.0.{15 + number}", console, state)


@pytest.fixture
def zone(hall: Hall) -> Hall:
    hall.with_zone, hall.zone_burst = True, 1
    hall.ec2.instances = [instance(1, SLOT)]
    return hall


def test_a_host_of_a_zone_has_its_planned_address_and_its_instance(zone: Hall) -> None:
    inventory = zone.inventory()
    host = inventory.hosts[SLOT]
    assert (host.kind, host.address, host.instance) == ("aws", "10.128.0.16", "i-00000000000000001")
    assert host.host_keys == (host_key(SLOT),)
    assert (host.serial, host.rack, host.bastion, host.user) == ("", None, None, "rackwright")
    groups = files.groups(inventory)
    assert groups["aws"] == groups["site_use2"] == groups["pool_cloud"] == groups["unit_cloud_u01"] == [SLOT]
    assert SLOT not in groups["onprem"]


def test_a_slot_without_an_instance_is_missing_and_one_on_demand_is_not(zone: Hall) -> None:
    zone.ec2.instances = []
    absent = zone.inventory().absent
    assert (absent[SLOT].absence, absent[SLOT].code) == (Absence.NO_INSTANCE, "KEY010")
    assert absent[SLOT].absence.incomplete
    assert absent[BURST].absence is Absence.ON_DEMAND
    assert not absent[BURST].absence.incomplete


def test_a_slot_on_demand_that_is_filled_is_a_host(zone: Hall) -> None:
    zone.ec2.instances.append(instance(2, BURST))
    assert set(zone.inventory().hosts) >= {SLOT, BURST}


def test_instances_that_are_gone_or_another_clusters_fill_nothing(zone: Hall) -> None:
    other = instance(3, SLOT)
    other.cluster = "borealis"
    zone.ec2.instances = [
        instance(1, SLOT, state="terminated"),
        instance(2, SLOT, state="shutting-down"),
        other,
    ]
    assert zone.inventory().absent[SLOT].absence is Absence.NO_INSTANCE


def test_no_output_yet_is_no_key(zone: Hall) -> None:
    zone.ec2.instances[0].console = ""
    absent = zone.inventory().absent[SLOT]
    assert (absent.absence, absent.code) == (Absence.NO_KEY, "KEY002")


def test_keys_of_another_host_are_refused_as_in_a_hall(zone: Hall) -> None:
    zone.ec2.instances[0].console = instance(1, "cloud-009").console
    assert zone.inventory().absent[SLOT].code == "KEY005"


def test_two_instances_of_one_slot_are_not_connected_to(zone: Hall) -> None:
    zone.ec2.instances.append(instance(2, SLOT, seed="other"))
    absent = zone.inventory().absent[SLOT]
    assert (absent.absence, absent.code) == (Absence.NO_KEY, "KEY011")
    assert absent.got == "i-00000000000000001, i-00000000000000002"


def test_another_instance_is_another_machine_and_needs_nobodys_word(zone: Hall) -> None:
    zone.inventory()
    zone.ec2.instances = [instance(7, SLOT, seed="new machine")]
    host = zone.inventory().hosts[SLOT]
    assert host.host_keys == (host_key("new machine"),)
    seen = store.load(zone.observed_file, "atlas").slots[SLOT]
    assert (seen.instance, seen.address) == ("i-00000000000000007", "10.128.0.22")


def test_the_same_instance_with_other_keys_does(zone: Hall) -> None:
    zone.inventory()
    zone.ec2.instances = [instance(1, SLOT, seed="somebody in between")]
    assert zone.inventory().absent[SLOT].code == "KEY007"


def test_keys_of_an_instance_that_is_gone_are_forgotten(zone: Hall) -> None:
    zone.inventory()
    zone.ec2.instances = []
    zone.inventory()
    assert SLOT not in store.load(zone.observed_file, "atlas").slots


def test_an_output_that_may_not_be_read_is_a_fault_of_its_host(zone: Hall) -> None:
    zone.ec2.refused = {"GetConsoleOutput": "UnauthorizedOperation"}
    inventory = zone.inventory()
    assert inventory.absent[SLOT].code == "KEY012"
    assert "UnauthorizedOperation" in inventory.absent[SLOT].got
    assert len(inventory.hosts) == 3


@pytest.mark.parametrize(
    ("theirs", "ours"), [("ExpiredToken", "AWS003"), ("AuthFailure", "AWS002"), ("InternalError", "EC2004")]
)
def test_a_zone_that_cannot_be_asked_stops_everything(zone: Hall, theirs: str, ours: str) -> None:
    zone.ec2.refused = {"DescribeInstances": theirs}
    with pytest.raises(EnvironmentUnfit) as error:
        zone.inventory()
    assert (error.value.code, error.value.where) == (ours, "sites.use2")
    assert theirs in error.value.got


def test_an_address_that_ec2_gave_is_where_ssh_goes(zone: Hall) -> None:
    zone.own_vpc = False
    host = zone.inventory().hosts[SLOT]
    assert (host.address, host.addresses) == ("10.128.0.16", {"management": "10.128.0.16/32"})
