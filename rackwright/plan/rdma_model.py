"""RDMA interfaces of hosts as they are planned."""

from __future__ import annotations

from typing import Literal

from rackwright.spec.base import Model


class RdmaNic(Model):
    """One interface of a slot on an Ethernet fabric with RDMA."""

    fabric: str
    rail: int
    interface: str
    pci: str | None
    """By which the interface is named; None where the spec does not say."""
    address: str
    """With prefix length."""
    network: str
    mtu: int
    table: int
    """Routing table of what leaves by this address, so that an answer goes out where it was asked."""
    kind: Literal["nic", "soft"]
    priority: int
    dscp: int
    ecn: bool


class RdmaHost(Model):
    """All of a slot."""

    nics: tuple[RdmaNic, ...]
