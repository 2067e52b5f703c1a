"""Sites: where nodes stand, on-prem halls and AWS zones, and the links between them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from rackwright.spec.base import Cidr, Model, Mtu, Name, Port, forbidden, form, in_place, replace, rolling
from rackwright.spec.references import FileReference, SecretReference

_SLOT = "a slot's rack, addresses and cables are its identity (docs/decisions/0003)"
_READ = "read by rackwright at run time, no node holds it"
_VPC = "EC2 API: CreateVpc and CreateSubnet fix it at creation"
_POWER = "bounds the plan; running nodes do not see it"
_JUMP = Annotated[
    str | None,
    form(
        r"^([A-Za-z_][A-Za-z0-9_.-]*@)?[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[1-9][0-9]{0,4})?$",
        "a jump host as ssh takes it: `host`, `user@host` or `user@host:port`",
    ),
    in_place(_READ),
]
_LOGIN = Annotated[Name, rolling("the login user of every host")]
MANAGEMENT, BMC = "management", "bmc"
"""Networks of every hall: hosts are reached on the one, and powered on by the other. Of an instance, the
network of its first interface is `MANAGEMENT` too."""
VPC_MTU = 9001
"""Largest packet within a VPC, bytes (EC2 User Guide, network MTU)."""


class Cooling(StrEnum):
    """How a rack sheds heat."""

    AIR = "air"
    LIQUID = "liquid"


class RackGrid(Model):
    """Equal racks in rows of one hall."""

    rows: Annotated[int, Field(ge=1, le=1000), in_place("new rows are appended; slots stay in their racks")]
    per_row: Annotated[int, Field(ge=1, le=1000), in_place("racks are named by row and place; slots stay")]
    units: Annotated[int, Field(ge=1, le=100), forbidden(_SLOT)] = 48
    power_kw: Annotated[float, Field(gt=0), in_place(_POWER)]
    """Power one rack may draw, kW of IT load."""
    cooling: Annotated[Cooling, in_place(_POWER)] = Cooling.AIR


class PowerFeed(Model):
    """Power of a hall."""

    feed_kw: Annotated[float, Field(gt=0), in_place(_POWER)]
    """What the feed delivers, kW, cooling included."""
    pue: Annotated[float, Field(ge=1), in_place(_POWER)]
    """Power usage effectiveness: facility power / IT power."""


class Access(Model):
    """How the controller reaches hosts, and where console servers write what hosts print."""

    bastion: _JUMP = None
    user: _LOGIN = "rackwright"
    console_logs: Annotated[
        str,
        form(r"^(/|file:|state:).", "a folder: an absolute path, `file:PATH` or `state:PATH`"),
        in_place(_READ),
    ]
    """Folder with one log file per host, named after it; host keys are read from here."""


class Network(Model):
    """One address range of a site."""

    cidr: Annotated[Cidr, forbidden(_SLOT)]
    mtu: Annotated[Mtu, rolling("set on the hosts' interfaces")] = 1500


class Bmc(Model):
    """Management controllers of a hall."""

    protocol: Annotated[Literal["redfish"], in_place(_READ)] = "redfish"
    port: Annotated[Port, in_place(_READ)] = 443
    credentials: Annotated[SecretReference, in_place(_READ)]
    """CSV of slot, user, password; the slot ``*`` stands for all that are not named."""
    ca: Annotated[FileReference, in_place(_READ)]
    """PEM of the authority that signed the BMCs' certificates."""


class OnpremSite(Model):
    """A hall of racks."""

    kind: Annotated[Literal["onprem"], forbidden("a site is a place")]
    racks: Annotated[RackGrid, in_place("by its own fields")]
    power: Annotated[PowerFeed | None, in_place(_POWER)] = None
    access: Annotated[Access, in_place("by its own fields")]
    networks: Annotated[dict[Name, Network], in_place("a new network is added to the hosts")]
    """``management`` and ``bmc`` are needed."""
    bmc: Annotated[Bmc, in_place("by its own fields")]


class NewVpc(Model):
    """A VPC that rackwright makes."""

    cidrs: Annotated[list[Cidr], Field(min_length=1, max_length=5), replace(_VPC)]
    """The first is the subnet of the nodes."""


class ExistingVpc(Model):
    """Bring your own: a VPC and subnets made by somebody else, never changed."""

    existing: Annotated[
        str, form(r"^vpc-[0-9a-f]{8,17}$", "a VPC id: `vpc-0123456789abcdef0`"), replace(_VPC)
    ]
    subnets: Annotated[
        dict[
            Name, Annotated[str, form(r"^subnet-[0-9a-f]{8,17}$", "a subnet id: `subnet-0123456789abcdef0`")]
        ],
        replace(_VPC),
    ]


def _which_vpc(value: object) -> str:
    """Tag of a VPC, so that a mistake is reported against the one form that was meant."""
    brought = isinstance(value, ExistingVpc) or (isinstance(value, dict) and "existing" in value)
    return "existing VPC" if brought else "new VPC"


Vpc = Annotated[
    Annotated[NewVpc, Tag("new VPC")] | Annotated[ExistingVpc, Tag("existing VPC")],
    Discriminator(_which_vpc),
]


class CloudAccess(Model):
    """How the controller reaches instances; what they print is read by GetConsoleOutput."""

    bastion: _JUMP = None
    user: _LOGIN = "rackwright"


class AwsSite(Model):
    """One availability zone of an AWS account."""

    kind: Annotated[Literal["aws"], forbidden("a site is a place")]
    account: Annotated[
        str, form(r"^[0-9]{12}$", '12 digits in quotes: `"123456789012"`'), forbidden("a site is one account")
    ]
    """12 digits, in quotes; compared with GetCallerIdentity before anything."""
    region: Annotated[
        str, form(r"^[a-z]{2}(-[a-z]+)+-[0-9]$", "a region: `us-east-2`"), forbidden("a site is a place")
    ]
    zone_id: Annotated[
        str, form(r"^[a-z0-9]+-az[0-9]+$", "a zone *id*, not a zone name: `use2-az2`"), replace(_VPC)
    ]
    """Zone *id* (``use2-az2``): zone names differ between accounts."""
    vpc: Annotated[Vpc, replace(_VPC)]
    access: Annotated[CloudAccess, in_place("by its own fields")] = CloudAccess()
    tags: Annotated[dict[str, str], in_place("EC2 API: CreateTags")] = {}


Site = Annotated[OnpremSite | AwsSite, Field(discriminator="kind")]


class LinkKind(StrEnum):
    """How two sites are joined."""

    VPN = "vpn"
    DIRECT_CONNECT = "direct-connect"
    ROUTED = "routed"


class Link(Model):
    """A routed path between two sites."""

    between: Annotated[tuple[Name, Name], replace("a link is its two ends")]
    via: Annotated[LinkKind, replace("another path is another link")]
    mtu: Annotated[Mtu, rolling("hosts' path MTU follows")] = 1400
