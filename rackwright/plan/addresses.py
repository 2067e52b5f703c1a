"""Addresses by arithmetic: every address of a slot is its network's base plus 16 plus its index."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network

RESERVED = 16
"""First addresses of every network: .0 the network, .1 the gateway, .2 the controller, the rest spare."""
BROADCAST = 1
KEPT = RESERVED + BROADCAST
"""Addresses of a network that no slot gets."""


@dataclass(frozen=True, slots=True)
class AddressRange:
    """One IPv4 network; integers, because a big plan asks it a hundred thousand times."""

    base: int
    prefix: int

    @classmethod
    def of(cls, cidr: str) -> AddressRange:
        """The range of ``10.77.0.0/24``; the spec's model has checked the text."""
        network = IPv4Network(cidr)
        return cls(int(network.network_address), network.prefixlen)

    @property
    def capacity(self) -> int:
        """How many indexes have an address here."""
        return max(0, (1 << (32 - self.prefix)) - KEPT)

    def address(self, index: int) -> str:
        """Address of a slot, with prefix length: ``10.77.0.17/24``."""
        return f"{dotted(self.base + RESERVED + index)}/{self.prefix}"

    @property
    def gateway(self) -> str:
        """First address."""
        return dotted(self.base + 1)

    def split(self, networks: int) -> tuple[AddressRange, ...]:
        """Equal networks.

        Args:
            networks: how many, a power of two.
        """
        prefix = self.prefix + networks.bit_length() - 1
        return tuple(
            AddressRange(self.base + (number << (32 - prefix)), prefix) for number in range(networks)
        )


def prefix_for(slots: int) -> int:
    """The longest prefix whose network has an address for so many slots."""
    return 32 - (slots + KEPT - 1).bit_length()


def dotted(address: int) -> str:
    """An address as text."""
    return f"{address >> 24}.{address >> 16 & 255}.{address >> 8 & 255}.{address & 255}"


def power_of_two(count: int) -> int:
    """The least power of two that is not below a count."""
    return 1 << (count - 1).bit_length()
