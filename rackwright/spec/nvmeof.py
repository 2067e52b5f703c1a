"""NVMe over fabrics: what a target serves, to which hosts and how they reach it and hold on to it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model, Name, Port, forbidden, form, in_place, rolling
from rackwright.spec.references import SecretReference
from rackwright.spec.sites import MANAGEMENT

_DATA = "it would lose the data; make a second namespace and copy"
_MOUNT = "hosts mount it anew, drained first"
_RECONNECT = "hosts reconnect"

MountPoint = Annotated[str, form(r"^/[A-Za-z0-9._/-]+$", "an absolute path: `/scratch`")]
Device = Annotated[
    str, form(r"^/[A-Za-z0-9._:/+-]+$", "a path on the target: `/dev/disk/by-id/nvme-eui.0025388b710116a1`")
]
Slots = Annotated[list[Name], Field(min_length=1)]
AnaGroup = Annotated[int, Field(ge=1, le=128)]
"""NVMET_MAX_ANAGRPS is 128 (Linux, drivers/nvme/target/nvmet.h)."""


class NvmePath(Model):
    """A network over which a target is reached: a port of it, and a path of every host."""

    non_optimized: Annotated[frozenset[AnaGroup], in_place("hosts read the state of groups anew")] = (
        frozenset()
    )
    """ANA groups whose namespaces are worse reached here: hosts come this way where no other is left."""
    inaccessible: Annotated[frozenset[AnaGroup], in_place("hosts read the state of groups anew")] = (
        frozenset()
    )
    """ANA groups whose namespaces are not reached here."""


class NvmeNamespace(Model):
    """A device of the target, as hosts see it."""

    nsid: Annotated[int, Field(ge=1, le=1024), forbidden(_DATA)]
    """Number that hosts know it by; unique in its subsystem, never used again."""
    device: Annotated[Device, forbidden(_DATA)]
    """Block device, or file, on the target."""
    ana_group: Annotated[AnaGroup, rolling(_RECONNECT)] = 1
    holds_data: Annotated[bool, in_place("asked when the namespace is made")] = False
    """Whether the device may hold something already; else one with a signature is refused."""
    file_system: Annotated[Literal["ext4", "xfs"] | None, forbidden(_DATA)] = None
    """Made by its host where the namespace is blank; unset leaves that to somebody else."""
    mount: Annotated[MountPoint | None, rolling(_MOUNT)] = None


class NvmeSubsystem(Model):
    """Namespaces of one target that the same hosts may connect to."""

    target: Annotated[Name, forbidden(_DATA)]
    """Slot that serves it."""
    hosts: Annotated[Slots, in_place("allowed hosts are added and removed")]
    """Slots that may connect; nobody else can."""
    namespaces: Annotated[dict[Name, NvmeNamespace], Field(min_length=1), in_place("by its own fields")]
    use: Annotated[Literal["data", "scratch"], rolling(_RECONNECT)] = "data"
    """What time-outs are for: data waits for its target for ever, scratch gives up and tells the job."""
    reconnect_s: Annotated[int | None, Field(ge=1, le=3600), rolling(_RECONNECT)] = None
    """Between two tries of a lost path; unset is 10 s."""
    loss_timeout_s: Annotated[int | None, Field(ge=-1, le=86400), rolling(_RECONNECT)] = None
    """Until a lost path is given up; -1 is never. Unset: -1 for data, 600 s for scratch."""
    policy: Annotated[Literal["numa", "round-robin", "queue-depth"], in_place("written to the hosts")] = (
        "round-robin"
    )
    """How I/O is spread over optimised paths (Linux, admin-guide/nvme-multipath)."""


class NvmeOverFabrics(Model):
    """Remote NVMe namespaces."""

    kind: Annotated[Literal["nvmeof"], forbidden(_DATA)]
    site: Annotated[Name, forbidden(_DATA)]
    targets: Annotated[list[Name], Field(min_length=1), forbidden(_DATA)]
    """Pools whose slots may serve."""
    hosts: Annotated[list[Name], Field(min_length=1), in_place("allowed hosts are added and removed")]
    """Pools whose slots may connect."""
    transport: Annotated[Literal["tcp", "rdma"], rolling(_RECONNECT)] = "tcp"
    service: Annotated[Port, rolling(_RECONNECT)] = 4420
    networks: Annotated[dict[Name, NvmePath], Field(min_length=1), rolling(_RECONNECT)] = {
        MANAGEMENT: NvmePath()
    }
    """Networks of the site, or fabrics with addresses, each of whose rails is a path."""
    dhchap: Annotated[SecretReference | None, rolling(_RECONNECT)] = None
    """CSV of slot, host_key, controller_key, each as `nvme gen-dhchap-key` prints it; unset: no host proves
    who it is."""
    subsystems: Annotated[dict[Name, NvmeSubsystem], in_place("by its own fields")] = {}
