"""Fabrics: the networks between nodes, with their topology and who manages them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Cidr, Model, Mtu, Name, forbidden, form, replace, rolling
from rackwright.spec.rdma import Rdma

_SWITCHES = "switches are configured one by one, by who runs them"
_CABLES = "cables are pulled by it (docs/decisions/0006)"


class Attach(StrEnum):
    """Which switch a node's NICs go to."""

    RAIL = "rail"
    """NIC r of every node of a unit goes to leaf r of that unit."""
    TOR = "tor"
    DUAL_TOR = "dual-tor"


LinkSpeed = Annotated[
    str, form(r"^(hdr|ndr|xdr|[1-9][0-9]{0,3}[mg])$", "a link rate: `800g` is 800 Gb/s, `ndr` 400 Gb/s")
]


class Oversubscription(Model):
    """Downlink bandwidth / uplink bandwidth of each tier; below 1 is undersubscribed."""

    leaf: Annotated[float, Field(gt=0), replace(_CABLES)] = 1
    spine: Annotated[float, Field(gt=0), replace(_CABLES)] = 1


class FatTree(Model):
    """Two or three tiers of equal switches."""

    kind: Annotated[Literal["fat-tree"], replace(_CABLES)]
    attach: Annotated[Attach, replace(_CABLES)] = Attach.RAIL
    unit_nodes: Annotated[int, Field(ge=1), replace(_CABLES)]
    """Nodes of a scalable unit."""
    switch: Annotated[str, replace(_CABLES)]
    """Key into the catalogue."""
    oversubscription: Annotated[Oversubscription, replace(_CABLES)] = Oversubscription()
    tiers: Annotated[Literal[2, 3] | None, replace(_CABLES)] = None
    """Unset means as few as carry the endpoints."""
    planes: Annotated[int, Field(ge=1, le=8), replace(_CABLES)] = 1
    breakout: Annotated[int, Field(ge=1, le=8), replace(_CABLES)] = 1
    """Node links that share one port of a leaf; an uplink has the rate of all of them."""
    uplink_speed: Annotated[LinkSpeed | None, replace(_CABLES)] = None
    """Of links between switches, where it is another: ``800g`` above nodes of ``400g``."""
    pod_units: Annotated[int | None, Field(ge=1), replace(_CABLES)] = None
    """Units of a pod, with three tiers; unset means what gives the fewest switches."""
    partial: Annotated[bool, replace(_CABLES)] = False
    """The last unit may have fewer nodes; its switches are planned in full."""


class Rails(Model):
    """One switch for each rail and nothing above: for small clusters and the lab."""

    kind: Annotated[Literal["rails"], replace(_CABLES)]


NODE = "node"
"""Role of what is no switch, in a custom topology."""


class CustomCables(Model):
    """Cables between two roles of a custom topology."""

    between: Annotated[list[Name], Field(min_length=2, max_length=2), replace(_CABLES)]
    """Two roles, or one twice; ``node`` is a node."""
    count: Annotated[int, Field(ge=1), replace(_CABLES)]

    @property
    def ends(self) -> tuple[str, str]:
        """Both roles."""
        one, other = self.between
        return one, other


class Custom(Model):
    """Any other hierarchy, told by its counts: a torus, a dragonfly. No cable of it is planned."""

    kind: Annotated[Literal["custom"], replace(_CABLES)]
    switch: Annotated[str | None, replace(_CABLES)] = None
    """Key into the catalogue: what its ports are counted by. None where nodes are cabled to one another."""
    switches: Annotated[dict[Name, Annotated[int, Field(ge=1)]], replace(_CABLES)] = {}
    """Role → how many."""
    cables: Annotated[list[CustomCables], Field(min_length=1), replace(_CABLES)]


Topology = Annotated[FatTree | Rails | Custom, Field(discriminator="kind")]


class SubnetManager(Model):
    """Who routes an InfiniBand fabric."""

    kind: Annotated[Literal["opensm", "ufm"], rolling("managers change over one by one")]
    uplinks: Annotated[int, Field(ge=0), replace(_CABLES)] = 0
    """Node ports given up to the manager's own links."""


class InfiniBandSpeed(StrEnum):
    """4x link rates: 200, 400 and 800 Gb/s."""

    HDR = "hdr"
    NDR = "ndr"
    XDR = "xdr"


class InfiniBand(Model):
    """An InfiniBand fabric."""

    kind: Annotated[Literal["infiniband"], forbidden("another fabric")]
    speed: Annotated[InfiniBandSpeed, replace(_CABLES)]
    manager: Annotated[SubnetManager, rolling("by its own fields")]
    topology: Annotated[Topology, replace(_CABLES)]


class SwitchSettings(Model):
    """What the switches of an Ethernet fat tree are configured with."""

    os: Annotated[Literal["sonic", "cumulus"], rolling(_SWITCHES)]
    loopbacks: Annotated[Cidr, forbidden("a switch's router id and tunnel end")]
    """An address for each switch; a quarter of it is for each tier of a plane."""
    first_asn: Annotated[int, Field(ge=4_200_000_000, le=4_280_000_000), rolling(_SWITCHES)] = 4_200_000_000
    """First of the private AS numbers (RFC 6996) that the fabric takes."""
    mtu: Annotated[int, Field(ge=1500, le=9216), rolling(_SWITCHES)] = 9216
    """Of every port; hosts' packets go through tunnels, whose heads add 50 bytes."""
    dscp: Annotated[int, Field(ge=0, le=63), rolling(_SWITCHES)] = 26
    """Mark of RoCE packets, which are never dropped for a full queue."""
    cnp_dscp: Annotated[int, Field(ge=0, le=63), rolling(_SWITCHES)] = 48
    """Mark of congestion notifications."""


class Ethernet(Model):
    """An Ethernet fabric, RoCE or plain."""

    kind: Annotated[Literal["ethernet"], forbidden("another fabric")]
    speed: Annotated[
        str,
        form(r"^[1-9][0-9]{0,3}[mg]$", "a link rate: `100m` is 100 Mb/s, `200g` is 200 Gb/s"),
        replace(_CABLES),
    ]
    """Link rate: ``100m`` is 100 Mb/s, ``200g`` is 200 Gb/s."""
    topology: Annotated[Topology, replace(_CABLES)]
    cidr: Annotated[Cidr | None, forbidden("addresses of a slot are its identity (docs/decisions/0003)")] = (
        None
    )
    """Split into one network of equal size for each rail; unset means no addresses are planned."""
    mtu: Annotated[Mtu, rolling("set on the hosts' interfaces")] = 9000
    rdma: Annotated[
        Rdma | None, Field(exclude_if=lambda rdma: rdma is None), rolling("by its own fields")
    ] = None
    """Unset means plain Ethernet, and is not written in a plan."""
    switches: Annotated[SwitchSettings | None, rolling("by its own fields")] = None
    """Unset means that nothing is rendered for them."""


class Efa(Model):
    """Elastic Fabric Adapter: AWS runs the network, the NIC plan is the platform's."""

    kind: Annotated[Literal["efa"], forbidden("another fabric")]
    scheme: Annotated[Literal["recommended", "efa", "ena-max"], replace("EC2 API: RunInstances fixes it")] = (
        "recommended"
    )


Fabric = Annotated[InfiniBand | Ethernet | Efa, Field(discriminator="kind")]

_INFINIBAND_GBPS = {InfiniBandSpeed.HDR: 200, InfiniBandSpeed.NDR: 400, InfiniBandSpeed.XDR: 800}
"""Of a 4x link (InfiniBand Trade Association, roadmap)."""


def rate_gbps(fabric: InfiniBand | Ethernet) -> float:
    """Rate of one link of a node, Gb/s."""
    return _gbps(fabric.speed)


def uplink_gbps(fabric: InfiniBand | Ethernet) -> float:
    """Rate of one link between switches, Gb/s."""
    if not isinstance(fabric.topology, FatTree):
        return rate_gbps(fabric)
    told = fabric.topology.uplink_speed
    return rate_gbps(fabric) * fabric.topology.breakout if told is None else _gbps(told)


def _gbps(speed: str) -> float:
    if speed in _INFINIBAND_GBPS:
        return _INFINIBAND_GBPS[InfiniBandSpeed(speed)]
    number, unit = int(speed[:-1]), speed[-1]
    return number / 1000 if unit == "m" else number
