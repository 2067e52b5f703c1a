"""Addresses by arithmetic."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.plan.addresses import AddressRange, power_of_two
from tests.doubles.refusals import the_finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.lock import Lock
    from rackwright.plan.model import Plan

    Values = dict[str, Any]
    PlanOf = Callable[..., tuple[Plan, Lock]]


@pytest.mark.parametrize(
    "cidr", ["10.77.0.0/24", "10.2.0.0/18", "192.168.255.0/27", "0.0.0.0/8", "255.0.0.0/9"]
)
def test_the_arithmetic_is_that_of_ipaddress(cidr: str) -> None:
    network, one = IPv4Network(cidr), AddressRange.of(cidr)
    last = one.capacity - 1
    for index in (0, 1, last):
        address = IPv4Interface(one.address(index))
        assert address.network == network
        assert address.ip == network.network_address + 16 + index
    assert network.broadcast_address == network.network_address + 16 + last + 1
    assert one.gateway == str(network.network_address + 1)


def test_the_first_sixteen_addresses_and_the_broadcast_are_nobodys() -> None:
    assert AddressRange.of("10.0.0.0/24").capacity == 239
    assert AddressRange.of("10.0.0.0/28").capacity == 0
    assert AddressRange.of("10.0.0.0/32").capacity == 0


def test_a_range_splits_into_equal_networks() -> None:
    halves = AddressRange.of("10.77.16.0/23").split(2)
    assert [one.address(1) for one in halves] == ["10.77.16.17/24", "10.77.17.17/24"]
    assert [str(IPv4Network((one.base, one.prefix))) for one in AddressRange.of("10.0.0.0/16").split(8)] == [
        str(network) for network in IPv4Network("10.0.0.0/16").subnets(new_prefix=19)
    ]


@pytest.mark.parametrize(("count", "power"), [(1, 1), (2, 2), (3, 4), (8, 8), (9, 16)])
def test_power_of_two(count: int, power: int) -> None:
    assert power_of_two(count) == power


def test_more_nodes_than_addresses_are_refused_at_once(plan_of: PlanOf, hall: Values, zone: Values) -> None:
    hall["pools"]["node"]["nodes"]["static"] = 10_000_000
    finding = the_finding(plan_of, hall)
    assert (finding.code, str(finding.path)) == ("ADDR001", "pools.node.nodes")
    assert "10000001 nodes" in finding.got
    assert "at most 239" in finding.expected
    zone["pools"]["trn2"]["nodes"]["burst"] = 10_000_000
    assert "at most 239" in the_finding(plan_of, zone).expected
    zone["sites"]["use2"]["vpc"] = {"existing": "vpc-01234567", "subnets": {"a": "subnet-01234567"}}
    assert "at most 327680" in the_finding(plan_of, zone).expected


def test_the_last_address_is_used_and_one_more_is_refused(plan_of: PlanOf, hall: Values) -> None:
    hall["sites"]["hall"]["racks"] = {"rows": 10, "per_row": 30, "units": 12, "power_kw": 4}
    hall["pools"]["node"]["nodes"]["static"] = 238
    plan, _ = plan_of(hall)
    assert plan.pools["node"].slots["node-238"].addresses["management"] == "10.0.0.254/24"
    hall["pools"]["node"]["nodes"]["static"] = 239
    finding = the_finding(plan_of, hall)
    assert finding.code == "ADDR001"
    assert "/23 holds them, and the 17 addresses that no node gets" in finding.hint


def test_the_network_that_would_do_is_named_where_there_is_one(plan_of: PlanOf, hall: Values) -> None:
    for extra, named in ((511 - 17, "/23"), (512 - 17, "/23"), (513 - 17, "/22")):
        hall["pools"]["node"]["nodes"]["static"] = extra - 1  # (the head is one)
        assert f"network: {named} holds" in the_finding(plan_of, hall).hint
    hall["pools"]["node"]["nodes"]["static"] = 1 << 24
    assert the_finding(plan_of, hall).hint.endswith("a larger network")
