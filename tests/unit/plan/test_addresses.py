"""Addresses by arithmetic."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network

import pytest

from rackwright.plan.addresses import AddressRange, power_of_two


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
