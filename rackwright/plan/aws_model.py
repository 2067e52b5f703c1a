"""Slices of the plan for the AWS stacks of one zone: network, access, compute."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.plan.nics import NicPlan
from rackwright.spec.base import Model
from rackwright.spec.sites import LinkKind

CLUSTER_TAG, POOL_TAG, SLOT_TAG = "rackwright:cluster", "rackwright:pool", "rackwright:slot"
"""Tags of every instance; the first is on every resource of ours."""
TAGGED_AT_LAUNCH = ("instance", "volume", "network-interface")
"""Resource types that RunInstances makes, and tags (EC2 API, TagSpecification)."""


class ZoneStack(Model):
    """What the slices of all stacks of a zone have in common."""

    site: str
    cluster: str
    account: str
    """12 digits; compared with GetCallerIdentity before anything."""
    region: str
    zone_id: str
    tags: dict[str, str]
    """Of every resource, `CLUSTER_TAG` among them."""


NODE_GROUP = "nodes"
"""The security group of every interface of a zone's nodes."""
EVERY_PROTOCOL = "-1"
"""As EC2 writes it; EFA has no number of its own, so nothing less lets it through."""


class GroupRule(Model):
    """What the security group of the nodes lets through; none of them is inline (pulumi-aws#2947)."""

    direction: Literal["in", "out"]
    protocol: str
    peer: str
    """`NODE_GROUP`, or an address range."""


class NewVpcPlan(Model):
    """A VPC of ours with one subnet for the nodes."""

    kind: Literal["new"] = "new"
    cidrs: tuple[str, ...]
    """The first is the subnet of the nodes too."""
    gateway_endpoints: tuple[str, ...]
    """AWS services reached by a route, short names: ``s3``."""
    interface_endpoints: tuple[str, ...]
    """AWS services reached at addresses of the subnet: ``ec2``."""
    public_addresses: bool
    """Whether the subnet gives its instances one each; EC2 refuses that with several interfaces."""


class ExistingVpcPlan(Model):
    """A VPC that somebody else made; nothing of it is changed."""

    kind: Literal["existing"] = "existing"
    vpc: str
    subnet: str
    """Where the nodes go: the one called ``nodes``, or the only one."""


VpcPlan = Annotated[NewVpcPlan | ExistingVpcPlan, Field(discriminator="kind")]


class LinkedSite(Model):
    """A site at the other end of a link."""

    site: str
    via: LinkKind
    mtu: int
    """Bytes."""
    cidrs: tuple[str, ...]
    """Ranges that its hosts are managed by."""


class AwsNetworkStack(ZoneStack):
    """Slice of the stack `aws-network` of one site."""

    vpc: VpcPlan
    links: dict[str, LinkedSite]
    rules: dict[str, GroupRule]


class AwsAccessStack(ZoneStack):
    """Slice of the stack `aws-access` of one site."""

    controller: Literal["instance", "account"] | None
    """Who fills burst slots: a controller that is an instance of this zone, one elsewhere that a login of
    the account lets in, or nobody."""


class CapacityPlan(Model):
    """How instances are paid for."""

    kind: Literal["on-demand", "reservation", "capacity-block", "spot"]
    reservation: str | None = None


class TemplatePlan(Model):
    """The launch template of one pool."""

    instance_type: str
    ami: str
    interfaces: tuple[NicPlan, ...]
    """The first is the primary one, which has the slot's address."""
    capacity: CapacityPlan
    placement_group: bool
    """Nodes of an EFA fabric close together; never with a capacity block or a reservation, which have
    their place already."""
    controller: bool
    """Its instances may fill and empty burst slots."""


class NodePlan(Model):
    """One slot of a pool, as the reconciler of instances needs it."""

    address: str | None = None
    """Private address, without prefix length; None where EC2 gives it."""
    burst: bool
    """Filled on demand: `up` neither fills nor empties it."""


class NodeSetPlan(Model):
    """All slots of one pool."""

    template: TemplatePlan
    all_or_nothing: bool
    """Launch all missing static slots, or none."""
    nodes: dict[str, NodePlan]


class AwsComputeStack(ZoneStack):
    """Slice of the stack `aws-compute` of one site."""

    node_sets: dict[str, NodeSetPlan]
    """By pool."""
