"""The inventory: the hosts that may be connected to, and the others with the reason why not."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rackwright.plan.model import RailPort
from rackwright.plan.observed import HostKey
from rackwright.spec.base import Model
from rackwright.spec.pools import Role
from rackwright.spec.schedulers import Logins

SCHEMA: Literal["rackwright/inventory/1"] = "rackwright/inventory/1"


class SlurmDuty(StrEnum):
    """What a host does in its Slurm; also the name of the group of all that do."""

    NODE = "slurm_nodes"
    CONTROLLER = "slurm_controllers"
    ACCOUNTING = "slurm_accounting"
    BURST = "slurm_burst"
    """Fills and empties the slots that are filled on demand."""


class StorageDuty(StrEnum):
    """What a host does with storage and its network; also the name of the group of all that do."""

    RDMA = "rdma_nics"
    TARGET = "nvmeof_targets"
    HOST = "nvmeof_hosts"
    SCRATCH = "local_nvme"


class SlurmPart(Model):
    """A host's part in the Slurm it belongs to."""

    scheduler: str
    duties: tuple[SlurmDuty, ...]
    logins: Logins = "open"
    """Whether a login here needs a job here."""


class Host(Model):
    """A host whose keys are known."""

    kind: Literal["onprem", "aws"]
    """Of its site."""
    site: str
    pool: str
    platform: str
    image: str
    roles: tuple[Role, ...]
    slurm: SlurmPart | None = None
    """None where it is in no Slurm."""
    subnets: tuple[str, ...] = ()
    """InfiniBand subnets that it manages."""
    storage: tuple[StorageDuty, ...] = ()
    user: str
    """Login, with sudo."""
    bastion: str | None
    """Jump host of the site."""
    address: str
    """In the management network, where ssh goes."""
    addresses: dict[str, str]
    """Network → address with prefix length."""
    rails: tuple[RailPort, ...]
    rack: str | None
    unit: int | None
    """Lowest rack unit, from 1."""
    host_set: str
    """The hosts that are reconciled together: a failure domain of at most 32."""
    serial: str
    """Empty in the cloud."""
    instance: str
    """Id of the instance that fills the slot; empty on-prem."""
    host_keys: Annotated[tuple[HostKey, ...], Field(min_length=1)]


class Absence(StrEnum):
    """Why a host is not connected to."""

    NO_KEY = "no-key"
    """It should be there, and no trustworthy key of it is known: an error."""
    NO_INSTANCE = "no-instance"
    """No instance fills it, though it is to be always filled: an error."""
    HELD = "held"
    """In maintenance."""
    UNDELIVERED = "undelivered"
    """The factory has not delivered: there is no asset behind the slot."""
    ON_DEMAND = "on-demand"
    """Filled when Slurm asks for it, and not filled now."""

    @property
    def incomplete(self) -> bool:
        """Whether something that was asked for is missing."""
        return self in (Absence.NO_KEY, Absence.NO_INSTANCE)


class Absent(Model):
    """A host of the plan that is not connected to."""

    site: str
    pool: str
    absence: Absence
    code: str
    """Of the fault, stable; empty where it is none."""
    reason: str
    got: str
    hint: str


class Inventory(Model):
    """All hosts of a cluster, each exactly once."""

    schema_: Annotated[Literal["rackwright/inventory/1"], Field(alias="schema")] = SCHEMA
    cluster: str
    domain: str
    hosts: dict[str, Host]
    absent: dict[str, Absent]
