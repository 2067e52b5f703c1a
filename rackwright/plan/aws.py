"""Slices of the plan for the AWS stacks: what surrounds a zone's nodes, and which slots it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from rackwright.plan.aws_model import (
    CLUSTER_TAG,
    EVERY_PROTOCOL,
    NODE_GROUP,
    AwsAccessStack,
    AwsComputeStack,
    AwsNetworkStack,
    CapacityPlan,
    ExistingVpcPlan,
    GroupRule,
    LinkedSite,
    NewVpcPlan,
    NodePlan,
    NodeSetPlan,
    TemplatePlan,
)
from rackwright.spec.fabrics import Efa
from rackwright.spec.pools import CapacityBlock, OnDemand, Reservation, Role
from rackwright.spec.sites import MANAGEMENT, AwsSite, ExistingVpc, LinkKind, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Literal

    from rackwright.plan.aws_model import VpcPlan
    from rackwright.plan.model import PoolPlan, Slot
    from rackwright.spec.cluster import ClusterSpec

NODES = "nodes"
"""Name of the subnet that nodes go to, among those that somebody else made."""
GATEWAY_ENDPOINTS = ("s3",)
"""Free of charge, and a subnet without a way to the internet still reads its buckets."""
INTERFACE_ENDPOINTS = ("ec2",)
"""What a controller in the zone calls to fill and empty burst slots."""
ANYWHERE = "0.0.0.0/0"
_OWN_PLACE = (CapacityBlock, Reservation)
"""Capacity whose place is fixed: a placement group it was not made in would leave it unused."""


class ZoneGround(TypedDict):
    """Fields of a `ZoneStack`."""

    site: str
    cluster: str
    account: str
    region: str
    zone_id: str
    tags: dict[str, str]


def zones(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> Iterator[tuple[str, AwsSite]]:
    """AWS sites that have a pool, by name."""
    used = {pool.site for pool in pools.values()}
    for name, site in sorted(spec.sites.items()):
        if isinstance(site, AwsSite) and name in used:
            yield name, site


def network_stacks(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> dict[str, AwsNetworkStack]:
    """Site → slice of its stack `aws-network`."""
    return {
        name: _network(spec, name, site) for name, site in zones(spec, pools) if subnet_of(site) is not None
    }


def _network(spec: ClusterSpec, name: str, site: AwsSite) -> AwsNetworkStack:
    links = dict(_links(spec, name))
    return AwsNetworkStack(**_zone(spec, name, site), vpc=_vpc(site), links=links, rules=dict(_rules(links)))


def access_stacks(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> dict[str, AwsAccessStack]:
    """Site → slice of its stack `aws-access`."""
    return {
        name: AwsAccessStack(**_zone(spec, name, site), controller=_controller(pools, name))
        for name, site in zones(spec, pools)
    }


def compute_stacks(spec: ClusterSpec, pools: Mapping[str, PoolPlan]) -> dict[str, AwsComputeStack]:
    """Site → slice of its stack `aws-compute`."""
    return {
        name: AwsComputeStack(**_zone(spec, name, site), node_sets=dict(_node_sets(spec, pools, name)))
        for name, site in zones(spec, pools)
    }


def _zone(spec: ClusterSpec, name: str, site: AwsSite) -> ZoneGround:
    cluster = spec.cluster.name
    return {
        "site": name,
        "cluster": cluster,
        "account": site.account,
        "region": site.region,
        "zone_id": site.zone_id,
        "tags": dict(sorted({**site.tags, CLUSTER_TAG: cluster}.items())),
    }


def subnet_of(site: AwsSite) -> str | None:
    """Id of somebody else's subnet that nodes go to, ``""`` where ours is made; None where none is meant."""
    if not isinstance(site.vpc, ExistingVpc):
        return ""
    subnets = site.vpc.subnets
    return subnets.get(NODES) or (next(iter(subnets.values())) if len(subnets) == 1 else None)


def _vpc(site: AwsSite) -> VpcPlan:
    if isinstance(site.vpc, ExistingVpc):
        return ExistingVpcPlan(vpc=site.vpc.existing, subnet=subnet_of(site) or "")
    return NewVpcPlan(
        cidrs=tuple(site.vpc.cidrs),
        gateway_endpoints=GATEWAY_ENDPOINTS,
        interface_endpoints=INTERFACE_ENDPOINTS,
        public_addresses=False,
    )


def _rules(links: Mapping[str, LinkedSite]) -> Iterator[tuple[str, GroupRule]]:
    """Nodes to nodes both ways, out to anywhere, and in from the linked sites."""
    yield "from-nodes", GroupRule(direction="in", protocol=EVERY_PROTOCOL, peer=NODE_GROUP)
    yield "to-nodes", GroupRule(direction="out", protocol=EVERY_PROTOCOL, peer=NODE_GROUP)
    yield "to-anywhere", GroupRule(direction="out", protocol=EVERY_PROTOCOL, peer=ANYWHERE)
    for name, linked in links.items():
        for number, cidr in enumerate(linked.cidrs, start=1):
            yield f"from-{name}-{number}", GroupRule(direction="in", protocol=EVERY_PROTOCOL, peer=cidr)


def _links(spec: ClusterSpec, name: str) -> Iterator[tuple[str, LinkedSite]]:
    for link_name, link in sorted(spec.links.items()):
        others = [end for end in link.between if end != name]
        there = spec.sites.get(others[0]) if name in link.between and others else None
        if isinstance(there, OnpremSite):
            cidrs = (there.networks[MANAGEMENT].cidr,)
            yield link_name, LinkedSite(site=others[0], via=link.via, mtu=link.mtu, cidrs=cidrs)


def _controller(pools: Mapping[str, PoolPlan], site: str) -> Literal["instance", "account"] | None:
    """Who fills burst slots of a zone: its scheduler's controller is in the zone, or elsewhere."""
    if not any(slot.burst for pool in pools.values() if pool.site == site for slot in pool.slots.values()):
        return None
    here = any(_controls(pool) for pool in pools.values() if pool.site == site)
    return "instance" if here else "account"


def _controls(pool: PoolPlan) -> bool:
    return Role.SLURM_CONTROLLER in pool.roles


def _node_sets(
    spec: ClusterSpec, pools: Mapping[str, PoolPlan], site: str
) -> Iterator[tuple[str, NodeSetPlan]]:
    """Pools whose image is pinned; the others are named by `limits`."""
    burst = _controller(pools, site) is not None
    for name, pool in pools.items():
        ami = spec.images[pool.image].ami if pool.image in spec.images else None
        if pool.site == site and pool.provisioning == "ec2" and ami is not None:
            yield (
                name,
                NodeSetPlan(
                    template=_template(spec, name, pool, ami, controller=burst and _controls(pool)),
                    all_or_nothing=spec.pools[name].all_or_nothing,
                    nodes={slot.name: _node(slot) for slot in pool.slots.values()},
                ),
            )


def _template(spec: ClusterSpec, name: str, pool: PoolPlan, ami: str, *, controller: bool) -> TemplatePlan:
    wanted = spec.pools[name]
    capacity = wanted.capacity or OnDemand()
    efa = any(isinstance(spec.fabrics[fabric], Efa) for fabric in wanted.fabrics)
    return TemplatePlan(
        instance_type=pool.platform,
        ami=ami,
        interfaces=pool.nics,
        capacity=CapacityPlan(kind=capacity.kind, reservation=getattr(capacity, "reservation", None)),
        placement_group=efa and not isinstance(capacity, _OWN_PLACE),
        controller=controller,
    )


def _node(slot: Slot) -> NodePlan:
    address = slot.addresses.get(MANAGEMENT)
    return NodePlan(address=address.partition("/")[0] if address else None, burst=slot.burst)


BESIDE_RESOURCES = 3
"""Resources of every stack of a zone: the stack itself, its component and the provider of its account."""
GATEWAY_LINKS = (LinkKind.VPN, LinkKind.DIRECT_CONNECT)
"""Links that end at a gateway of the VPC; a routed path is its owner's."""


def network_resources(stack: AwsNetworkStack) -> int:
    """Pulumi resources of a stack `aws-network`."""
    group = 1 + len(stack.rules)
    if isinstance(stack.vpc, ExistingVpcPlan):
        return BESIDE_RESOURCES + group
    routes = [len(link.cidrs) for link in stack.links.values() if link.via in GATEWAY_LINKS]
    gateway = 1 + sum(routes) if routes else 0
    subnet_with_table = 3
    endpoints = len(stack.vpc.gateway_endpoints) + len(stack.vpc.interface_endpoints)
    return BESIDE_RESOURCES + group + len(stack.vpc.cidrs) + subnet_with_table + endpoints + gateway


def access_resources(stack: AwsAccessStack) -> int:
    """Pulumi resources of a stack `aws-access`: roles with their profiles, and one policy."""
    nodes = 2
    return BESIDE_RESOURCES + nodes + {None: 0, "account": 2, "instance": 3}[stack.controller]


def compute_resources(stack: AwsComputeStack) -> int:
    """Pulumi resources of a stack `aws-compute`: a template and a node set a pool, a group for some."""
    references = 3  # the two stacks that it reads, and the engine's provider of them
    provider_of_ours = 1 if stack.node_sets else 0
    pools = sum(2 + one.template.placement_group for one in stack.node_sets.values())
    return BESIDE_RESOURCES + references + provider_of_ours + pools
