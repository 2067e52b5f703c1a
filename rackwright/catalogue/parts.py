"""What nodes are made of: accelerators and network adapters."""

from __future__ import annotations

from rackwright.catalogue.model import Entry, FabricKind, Positive, Rate


class Accelerator(Entry):
    """A GPU or another training chip."""

    maker: str
    power_w: Positive | None = None
    memory_gb: Rate | None = None
    """Of one, in 10⁹ bytes."""
    memory_gb_s: Rate | None = None
    """Bandwidth of that memory, 10⁹ bytes a second."""
    device: str | None = None
    """Device files on the host, without the number, which counts from 0: ``/dev/nvidia``."""


class Nic(Entry):
    """A network adapter."""

    maker: str
    kinds: tuple[FabricKind, ...]
    rate_gbps: Rate
    """Of one port at most."""
