"""Pools: ordered sets of named slots of one platform, and the images they run."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rackwright.spec.base import Misfit, Model, Name, forbidden, form, in_place, replace, rolling
from rackwright.spec.rdma import PciAddress
from rackwright.spec.references import FileReference
from rackwright.spec.tuning import Tuning

_IMAGE = "nodes of an image are reinstalled or relaunched a few at a time, drained first"
_SLOT = "a slot's rack, addresses and cables are its identity (docs/decisions/0003)"
_CAPACITY = "EC2 API: RunInstances fixes it; the next launch follows"
_RESERVATION = r"^cr-[0-9a-f]{17}$"


class Image(Model):
    """Software of a pool; every key but ``os`` is a key of the compatibility matrix."""

    os: Annotated[str, rolling(_IMAGE)]
    ami: Annotated[
        str | None, form(r"^ami-[0-9a-f]{8,17}$", "an image id: `ami-0123456789abcdef0`"), rolling(_IMAGE)
    ] = None
    """Pinned: a moving lookup stops fleets."""
    kernel: Annotated[str | None, rolling(_IMAGE)] = None
    driver: Annotated[str | None, rolling(_IMAGE)] = None
    ofed: Annotated[str | None, rolling(_IMAGE)] = None
    cuda: Annotated[str | None, rolling(_IMAGE)] = None
    nccl: Annotated[str | None, rolling(_IMAGE)] = None
    neuron: Annotated[str | None, rolling(_IMAGE)] = None
    efa: Annotated[str | None, rolling(_IMAGE)] = None
    lustre: Annotated[str | None, rolling(_IMAGE)] = None
    slurm: Annotated[str | None, rolling(_IMAGE)] = None


class Nodes(Model):
    """How many slots a pool has, and which of them are given up."""

    static: Annotated[int, Field(ge=0), in_place("slots are added at the end")] = 0
    """Slots that are always filled."""
    burst: Annotated[int, Field(ge=0), in_place("slots are added at the end")] = 0
    """Slots that Slurm fills on demand."""
    retired: Annotated[frozenset[Annotated[int, Field(ge=1)]], in_place("retiring a slot moves no other")] = (
        frozenset()
    )
    """Numbers of slots taken out by name; numbers are never used again."""

    @model_validator(mode="after")
    def _has_slots(self) -> Self:
        slots = self.static + self.burst
        if slots == 0:
            raise Misfit(
                "a pool without slots",
                got="static and burst are both 0",
                expected="static + burst at least 1",
                hint="take the pool away, or give it nodes",
            )
        beyond = sorted(number for number in self.retired if number > slots)
        if beyond:
            raise Misfit(
                "a retired slot that does not exist",
                got=", ".join(map(str, beyond)),
                expected=f"numbers from 1 to {slots}",
                hint="static + burst counts retired slots too: their numbers are never used again",
            )
        return self


class FabricUse(Model):
    """A pool's place on a fabric."""

    nics: Annotated[int | None, Field(ge=1), replace("recables every node of the pool")] = None
    """NICs of each node on this fabric; unset means all that the platform has for it."""
    ports: Annotated[Name | None, replace("recables every node of the pool")] = None
    """Group of ports of the platform; unset means the one with the fabric's name, or the only one."""
    pci: Annotated[list[PciAddress], rolling("interfaces are named by it")] = []
    """PCI addresses of the interfaces, in the order of rails; unset leaves their names to the system."""


class OnDemand(Model):
    """Bought by the hour."""

    kind: Annotated[Literal["on-demand"], replace(_CAPACITY)] = "on-demand"


class Reservation(Model):
    """An on-demand capacity reservation; nothing is launched beside it."""

    kind: Annotated[Literal["reservation"], replace(_CAPACITY)]
    reservation: Annotated[
        str, form(_RESERVATION, "a reservation id: `cr-0123456789abcdef0`"), replace(_CAPACITY)
    ]


class CapacityBlock(Model):
    """A capacity block, paid for in advance."""

    kind: Annotated[Literal["capacity-block"], replace(_CAPACITY)]
    reservation: Annotated[
        str, form(_RESERVATION, "a reservation id: `cr-0123456789abcdef0`"), replace(_CAPACITY)
    ]


class Spot(Model):
    """Spare capacity that may be taken back."""

    kind: Annotated[Literal["spot"], replace(_CAPACITY)]


Capacity = Annotated[OnDemand | Reservation | CapacityBlock | Spot, Field(discriminator="kind")]


class Role(StrEnum):
    """What a pool's nodes do beside (or instead of) computing."""

    SLURM_CONTROLLER = "slurm-controller"
    SLURMDBD = "slurmdbd"
    MONITORING = "monitoring"
    BOOT = "boot"
    SUBNET_MANAGER = "subnet-manager"
    LOGIN = "login"
    STORAGE = "storage"


class Pool(Model):
    """An ordered set of equal slots."""

    site: Annotated[Name, forbidden(_SLOT)]
    platform: Annotated[str, replace("another machine in every slot")]
    """Key into the catalogue for everything that depends on hardware."""
    nodes: Annotated[Nodes, in_place("by its own fields")]
    image: Annotated[Name, rolling(_IMAGE)]
    roles: Annotated[frozenset[Role], rolling("roles are converged")] = frozenset()
    fabrics: Annotated[dict[Name, FabricUse], replace("recables every node of the pool")] = {}
    assets: Annotated[
        FileReference | None, in_place("replacing hardware changes the asset behind a slot")
    ] = None
    """CSV of what the factory delivers, one row a slot."""
    nodes_per_rack: Annotated[int | None, Field(ge=1), forbidden(_SLOT)] = None
    """On-prem: how many nodes share a rack; unset means as many as units and power take."""
    capacity: Annotated[Capacity | None, replace(_CAPACITY)] = None
    all_or_nothing: Annotated[bool, in_place("read at each launch")] = False
    tuning: Annotated[Tuning, rolling("written to the hosts")] = Tuning()
