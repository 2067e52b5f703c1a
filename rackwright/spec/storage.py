"""Storage: file systems and caches, who serves them and where they are mounted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model, Name, forbidden, form, in_place, rolling
from rackwright.spec.nvmeof import Device
from rackwright.spec.nvmeof import MountPoint as MountPoint  # noqa: PLC0414 (others have it from here)
from rackwright.spec.nvmeof import NvmeOverFabrics as NvmeOverFabrics  # noqa: PLC0414 (one of the kinds of storage)

_DATA = "it would lose the data; make a second file system and copy"
_FSX = "FSx API: CreateFileSystem, and no later call"
_MOUNT = "hosts mount it anew, drained first"


class Lustre(Model):
    """A Lustre file system on servers of the cluster, or one that is there already."""

    kind: Annotated[Literal["lustre"], forbidden(_DATA)]
    site: Annotated[Name, forbidden(_DATA)]
    mount: Annotated[MountPoint, rolling(_MOUNT)]
    fabric: Annotated[Name | None, rolling(_MOUNT)] = None
    """Fabric that LNet uses; unset means the management network."""
    mds: Annotated[list[Name], forbidden(_DATA)] = []
    """Pools that serve metadata."""
    oss: Annotated[list[Name], in_place("new servers add targets")] = []
    """Pools that serve objects."""
    existing: Annotated[str | None, rolling(_MOUNT)] = None
    """``mgs-nid:/name`` of a file system that somebody else runs."""


class LocalNvme(Model):
    """Scratch on each node's own NVMe; lost with the node."""

    kind: Annotated[Literal["local-nvme"], forbidden(_DATA)]
    pools: Annotated[list[Name], Field(min_length=1), rolling(_MOUNT)]
    mount: Annotated[MountPoint, rolling(_MOUNT)]
    layout: Annotated[Literal["striped", "linear"], forbidden(_DATA)] = "striped"
    """Of the one volume over all drives; striped is RAID 0: as fast as all of them, and lost with any."""
    file_system: Annotated[Literal["xfs", "ext4"], forbidden(_DATA)] = "xfs"
    devices: Annotated[list[Device], rolling("drives are added to a volume that is made anew")] = []
    """Drives of each node; unset: all NVMe drives that hold nothing."""
    wipe_after_job: Annotated[bool, in_place("read at each job's end")] = False
    """Whether all files are deleted when the last job of a node has ended."""


class FsxLustre(Model):
    """Amazon FSx for Lustre, made here or there already."""

    kind: Annotated[Literal["fsx-lustre"], forbidden(_DATA)]
    site: Annotated[Name, forbidden(_DATA)]
    mount: Annotated[MountPoint, rolling(_MOUNT)]
    capacity_gib: Annotated[int | None, Field(ge=1200), in_place("FSx API: grows only")] = None
    mbps_per_tib: Annotated[Literal[125, 250, 500, 1000] | None, forbidden(_FSX)] = None
    efa: Annotated[bool, forbidden(_FSX)] = False
    existing: Annotated[
        str | None, form(r"^fs-[0-9a-f]{8,17}$", "a file system id: `fs-0123456789abcdef0`"), rolling(_MOUNT)
    ] = None


Storage = Annotated[Lustre | NvmeOverFabrics | LocalNvme | FsxLustre, Field(discriminator="kind")]
