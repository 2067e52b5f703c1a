"""What the catalogue says of a switch."""

from __future__ import annotations

from typing import Literal

from rackwright.catalogue.model import Entry, FabricKind, Positive, Power, Rate


class Switch(Entry):
    """A fixed-port switch."""

    maker: str
    kinds: tuple[FabricKind, ...]
    ports: Positive
    rate_gbps: Rate
    """Of one port."""
    split: Positive | None = None
    """Ports of each cage: 2 where all of them are split in two; None where none is."""
    lanes: Positive | None = None
    """Of a cage; SONiC numbers its ports by them."""
    systems: tuple[Literal["sonic", "cumulus"], ...] | None = None
    """Network operating systems that run on it, of those whose configuration is rendered."""
    units: Positive | None = None
    power_kw: Power | None = None
