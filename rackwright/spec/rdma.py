"""RDMA over an Ethernet fabric: who does it, and how its packets are marked so that none is dropped."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model, form, rolling

_LINK = "links are made anew, drained first"

PciAddress = Annotated[
    str, form(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$", "a PCI address: `0000:18:00.0`")
]


class Rdma(Model):
    """RDMA on an Ethernet fabric (RoCE v2)."""

    kind: Annotated[Literal["nic", "soft"], rolling(_LINK)]
    """By the adapter, or by the kernel's own ``rdma_rxe`` on any Ethernet interface."""
    priority: Annotated[int, Field(ge=0, le=7), rolling("switches and hosts together")] = 3
    """Priority whose packets are paused instead of dropped (PFC, IEEE 802.1Qbb)."""
    dscp: Annotated[int, Field(ge=0, le=63), rolling("switches and hosts together")] = 26
    """Mark of its packets; the one that switches sort them by."""
    ecn: Annotated[bool, rolling("switches and hosts together")] = True
    """Whether congestion is told by marks (ECN, DCQCN) before queues are full."""
