"""Scratch on nodes' own NVMe drives as it is planned."""

from __future__ import annotations

from typing import Literal

from rackwright.spec.base import Model


class LocalScratch(Model):
    """Of each node of a pool."""

    storage: str
    mount: str
    layout: Literal["striped", "linear"]
    file_system: Literal["xfs", "ext4"]
    devices: tuple[str, ...]
    """Empty is all NVMe drives of the node that hold nothing."""
    wipe_after_job: bool
