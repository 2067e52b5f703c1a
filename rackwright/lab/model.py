"""The lab's world as a value: hosts, their BMCs and NICs, bridges, the leg of the machine, and its clouds."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from rackwright.lab.cloud.wire import Launch
from rackwright.lab.places import LINK_NAME_LIMIT, ROUTER, Places
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


class Chassis(Model):
    """A machine with its cables, in a hall or in the cloud."""

    number: int
    """From 0, unique among its kind in the lab; names its cables."""
    site: str
    console: str
    """File that its console is written to."""
    nics: Annotated[tuple[Nic, ...], Field(min_length=1)]
    """The one that boots comes first."""
    cables: ClassVar[str]
    """How the names of its cables begin."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What labd calls it; unique in the lab."""

    @property
    def rails(self) -> tuple[Nic, ...]:
        """Those that carry a fabric."""
        return self.nics[1:]

    def cable(self, nic: Nic) -> str:
        """The router's end of a cable."""
        return f"{self.cables}{self.number}.{nic.interface}"[:LINK_NAME_LIMIT]


class Host(Chassis):
    """A machine with its management controller."""

    slot: str
    pool: str
    roles: tuple[str, ...]
    serial: str
    uuid: str
    bmc_address: str
    bmc_port: int
    cables: ClassVar[str] = "h"

    @property
    def name(self) -> str:
        """Its slot."""
        return self.slot


class CloudHost(Chassis):
    """A machine that the cloud has launched; it is gone when that terminates it."""

    launch: Launch
    """What was asked for."""
    cables: ClassVar[str] = "c"

    @property
    def name(self) -> str:
        """Its instance id."""
        return self.launch.instance

    @property
    def address(self) -> str:
        """Its private address."""
        return self.launch.interfaces[0].address


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


class Rail(Model):
    """A rail that machines of a pool have, whatever EC2 knows of it."""

    interface: LinkName
    segment: LinkName
    rate_mbit: int


class CloudPool(Model):
    """What instances of one pool are, once they are launched."""

    type: str
    """Name of their platform."""
    primary: LinkName
    """The interface that has the private address."""
    rails: tuple[Rail, ...]


class Line(Model):
    """The routed link between the halls and a cloud: a bridge at the halls' end, a cable to the cloud's."""

    link: str
    """Its name in the spec."""
    bridge: Segment
    """In the router of the halls, with that one's address."""
    address: str
    """The cloud's end, with prefix length."""
    routes: tuple[str, ...]
    """Ranges of the halls that the cloud reaches over it."""

    @property
    def cable(self) -> str:
        """The cable's end in the bridge; the other end is named as the bridge."""
        return f"{self.bridge.name}.far"


class CloudSite(Model):
    """A zone of the emulated cloud: a router of its own, with a subnet, rails, and the line to the halls."""

    site: str
    subnet: Segment
    rails: tuple[Segment, ...]
    line: Line
    pools: dict[str, CloudPool]
    most_instances: int
    """More are refused for lack of capacity."""

    @property
    def router(self) -> str:
        """Who its router is, among those that have a namespace; no slot has a dot in its name."""
        return f"{ROUTER}.{self.site}"

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All its bridges."""
        return (self.subnet, *self.rails)


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
    cloud: tuple[CloudSite, ...] = ()

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

    @property
    def ranges(self) -> tuple[Segment, ...]:
        """Bridges of all sites, each with the range it carries."""
        return (*self.segments, *(segment for site in self.cloud for segment in site.segments))

    def cloud_site(self, name: str) -> CloudSite:
        """The cloud of a site.

        Raises:
            KeyError: no such cloud.
        """
        for site in self.cloud:
            if site.site == name:
                return site
        raise KeyError(name)
