"""Storage: file systems and caches, who serves them and where they are mounted."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model, Name, forbidden, form, in_place, rolling

_DATA = "it would lose the data; make a second file system and copy"
_FSX = "facts/fabric.md §5.2: creation only"
_MOUNT = "hosts mount it anew, drained first"

MountPoint = Annotated[str, form(r"^/[A-Za-z0-9._/-]+$", "an absolute path: `/scratch`")]


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
    osts_per_server: Annotated[int, Field(ge=1, le=32), forbidden(_DATA)] = 4
    existing: Annotated[str | None, rolling(_MOUNT)] = None
    """``mgs-nid:/name`` of a file system that somebody else runs."""


class NvmeOverFabrics(Model):
    """Remote NVMe namespaces."""

    kind: Annotated[Literal["nvmeof"], forbidden(_DATA)]
    site: Annotated[Name, forbidden(_DATA)]
    targets: Annotated[list[Name], Field(min_length=1), forbidden(_DATA)]
    hosts: Annotated[list[Name], Field(min_length=1), in_place("allowed hosts are added and removed")]
    transport: Annotated[Literal["tcp", "rdma"], rolling("hosts reconnect")] = "tcp"


class LocalNvme(Model):
    """Scratch on each node's own NVMe; lost with the node."""

    kind: Annotated[Literal["local-nvme"], forbidden(_DATA)]
    pools: Annotated[list[Name], Field(min_length=1), rolling(_MOUNT)]
    mount: Annotated[MountPoint, rolling(_MOUNT)]


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
