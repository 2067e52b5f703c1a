"""Schedulers: which pools a Slurm runs jobs on, in which order, and who goes first."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model, Name, forbidden, form, in_place, replace
from rackwright.spec.storage import MountPoint

_SLURM = "scontrol reconfigure (scontrol(1))"
_TOPOLOGY = "slurmctld is started again: jobs go on (topology.conf(5))"
_LOGINS = "sshd reads it anew; who is logged in stays (sshd_config(5), pam_slurm_adopt)"
_ACCOUNTING = "sacctmgr modify: jobs that wait follow at once"
_ASSOCIATIONS = "sacctmgr add: what an earlier name was charged with stays under it"


class Partition(Model):
    """A Slurm partition."""

    pools: Annotated[list[Name], Field(min_length=1), in_place(_SLURM)]
    default: Annotated[bool, in_place(_SLURM)] = False
    max_hours: Annotated[float | None, Field(gt=0), in_place(_SLURM)] = None


class Qos(Model):
    """A quality of service: how soon its jobs start, and whose jobs make way for them."""

    priority: Annotated[int, Field(ge=0), in_place(_ACCOUNTING)] = 0
    preempts: Annotated[list[Name], in_place(_ACCOUNTING)] = []
    """Quality of service whose jobs are requeued where one of this needs their nodes."""
    max_hours: Annotated[float | None, Field(gt=0), in_place(_ACCOUNTING)] = None


class BurstTimes(Model):
    """How long Slurm waits while slots are filled on demand and given back, seconds."""

    idle_s: Annotated[int, Field(ge=1), in_place(_SLURM)] = 600
    """Without a job until a node is given back."""
    resume_within_s: Annotated[int, Field(ge=10), in_place(_SLURM)] = 1800
    """From the launch until its slurmd has registered; else it is terminated and its job requeued."""
    suspend_within_s: Annotated[int, Field(ge=5), in_place(_SLURM)] = 120
    """From giving back until it may be launched again."""
    retry_after_s: Annotated[int, Field(ge=1), in_place(_SLURM)] = 600
    """A slot for which EC2 has no capacity stays down so long (ParallelCluster's default)."""


Positive = Annotated[int, Field(ge=1)]
Logins = Literal["job", "open"]


class TreeTopology(Model):
    """Jobs are kept within as few units as will do."""

    kind: Annotated[Literal["tree"], in_place(_TOPOLOGY)] = "tree"


class BlockTopology(Model):
    """Jobs are kept within blocks: scale-up domains, or units where there are none."""

    kind: Annotated[Literal["block"], in_place(_TOPOLOGY)]
    sizes: Annotated[list[Positive] | None, Field(min_length=1), in_place(_TOPOLOGY)] = None
    """BlockSizes, the smallest first; unset means a block, and its doublings up to all of them."""


Placement = Annotated[TreeTopology | BlockTopology, Field(discriminator="kind")]


class Slurm(Model):
    """One Slurm over one or more sites."""

    kind: Annotated[Literal["slurm"], replace("another scheduler")]
    sites: Annotated[list[Name], Field(min_length=1), in_place(_SLURM)]
    partitions: Annotated[dict[Name, Partition], Field(min_length=1), in_place(_SLURM)]
    slurmd_timeout_s: Annotated[int, Field(ge=5), in_place(_SLURM)] = 300
    """Seconds without a node's answer until it is DOWN."""
    logins: Annotated[Logins, in_place(_LOGINS)] = "job"
    """Who may log in to a compute node: who has a job there, which the login then belongs to, or all."""
    topology: Annotated[Placement, in_place(_TOPOLOGY)] = TreeTopology()
    """What jobs are kept together by; see docs/slurm.md."""
    burst: Annotated[BurstTimes, in_place(_SLURM)] = BurstTimes()
    """Of pools in the cloud with ``nodes: {burst: …}``."""
    state_folder: Annotated[MountPoint, forbidden("slurmctld loses its jobs: move it by hand, stopped")] = (
        "/var/lib/slurm/slurmctld"
    )
    """StateSaveLocation. A second controller needs it on a file system that both mount."""
    qos: Annotated[dict[Name, Qos], Field(min_length=1), in_place(_ACCOUNTING)] = {
        "low": Qos(),
        "normal": Qos(priority=100, preempts=["low"]),
    }
    default_qos: Annotated[Name, in_place(_ACCOUNTING)] = "normal"
    """What a job has that names none."""
    account: Annotated[Name, in_place(_ASSOCIATIONS)] = "cluster"
    """Account that the login users of its sites charge; others are made with sacctmgr."""
    settings: Annotated[
        dict[
            Annotated[str, form(r"^[A-Za-z][A-Za-z0-9]*$", "a key of slurm.conf: `KillWait`")],
            Annotated[str | int, Field(union_mode="left_to_right")],
        ],
        in_place(_SLURM),
    ] = {}
    """Keys of slurm.conf on top of those that the plan writes."""
