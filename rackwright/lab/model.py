"""The lab's world as a value: hosts, their BMCs and NICs, bridges, and the leg of the machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from rackwright.lab.places import LINK_NAME_LIMIT, Places
from rackwright.spec.base import Model

LinkName = Annotated[str, Field(min_length=1, max_length=LINK_NAME_LIMIT)]


class Nic(Model):
    """A network interface of a host, and the cable in it."""

    interface: LinkName
    mac: str
    segment: LinkName
    """The bridge at the cable's other end."""
    rate_mbit: int = 0
    """Line rate; 0 for as fast as it goes."""


class Host(Model):
    """A machine with its management controller."""

    slot: str
    number: int
    """From 0, unique in the lab; names its cables."""
    pool: str
    site: str
    roles: tuple[str, ...]
    serial: str
    uuid: str
    bmc_address: str
    bmc_port: int
    console: str
    """File that its console is written to."""
    nics: Annotated[tuple[Nic, ...], Field(min_length=1)]
    """The one that boots comes first."""

    @property
    def rails(self) -> tuple[Nic, ...]:
        """Those that carry a fabric."""
        return self.nics[1:]

    def cable(self, nic: Nic) -> str:
        """The router's end of a cable."""
        return f"h{self.number}.{nic.interface}"[:LINK_NAME_LIMIT]


class Segment(Model):
    """A bridge."""

    name: LinkName
    what: str
    mac: str
    """A bridge without one of its own takes that of a port, and another when that port goes."""
    mtu: int
    cidr: str
    """The range it carries; empty where no addresses are planned."""
    addresses: tuple[str, ...] = ()
    """The router's own on it, with prefix length."""


class Leg(Model):
    """The link between the machine and the lab."""

    segment: LinkName
    address: str
    """The machine's own, with prefix length."""
    gateway: str
    routes: tuple[str, ...]
    """Ranges behind the router."""


class World(Model):
    """All that a lab is made of."""

    cluster: str
    state: str
    run: str
    spec: str
    image: str
    """Root of the hosts' image, which no host ever writes to."""
    disk_mib: int
    """Of each host, for its changes to the image."""
    memory_mib: int
    """Of each host at most."""
    segments: tuple[Segment, ...]
    leg: Leg
    hosts: tuple[Host, ...]

    @property
    def places(self) -> Places:
        """Where this lab keeps things."""
        return Places(self.cluster, Path(self.state), Path(self.run))

    def host(self, slot: str) -> Host:
        """The host of a slot.

        Raises:
            KeyError: no such slot.
        """
        for host in self.hosts:
            if host.slot == slot:
                return host
        raise KeyError(slot)
