"""Rules on EFA and the network interfaces of EC2 nodes: what EC2 refuses, or lets stand and not work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.catalogue.model import InterfaceType, NetworkCard
from rackwright.checks.pools import pools_in
from rackwright.checks.registry import Breach, plan_rule, rule
from rackwright.findings import SpecPath
from rackwright.plan.aws_model import EVERY_PROTOCOL, NODE_GROUP
from rackwright.plan.nics import with_efa
from rackwright.spec.fabrics import Efa
from rackwright.spec.sites import AwsSite, OnpremSite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.checks.registry import PlanSubject, SpecSubject
    from rackwright.plan.aws_model import AwsNetworkStack, NodeSetPlan
    from rackwright.plan.model import PoolPlan
    from rackwright.plan.nics import NicPlan
    from rackwright.spec.pools import FabricUse, Pool

_ONE = NetworkCard(interfaces=1, carries=(InterfaceType.INTERFACE,))
_EFA = "EC2 User Guide, EFA: supported instance types"


def _efa_uses(subject: SpecSubject, pool_name: str, pool: Pool) -> Iterator[tuple[SpecPath, FabricUse]]:
    for name, use in pool.fabrics.items():
        if isinstance(subject.spec.fabrics.get(name), Efa):
            yield SpecPath() / "pools" / pool_name / "fabrics" / name, use


def _efa_interfaces(subject: SpecSubject, pool: Pool) -> int | None:
    """EFA interfaces of a pool's platform; None where it, or its cards, are not known."""
    platform = subject.catalogue.platforms.get(pool.platform)
    cards = platform.network_cards if platform else None
    return None if cards is None else cards.efa_interfaces


@rule("EFA001", remedy="choose a platform with EFA, or take the pool off the fabric", source=_EFA)
def efa_needs_a_platform_with_efa(subject: SpecSubject) -> Iterator[Breach]:
    """A pool on an EFA fabric has a platform with EFA interfaces."""
    for name, pool in pools_in(subject, AwsSite):
        for at, _ in _efa_uses(subject, name, pool):
            if _efa_interfaces(subject, pool) == 0:
                platforms = subject.catalogue.platforms.values()
                able = [
                    one.name for one in platforms if one.network_cards and one.network_cards.efa_interfaces
                ]
                yield Breach(
                    at,
                    f"{pool.platform} has no EFA interface",
                    got=pool.platform,
                    expected=f"a platform with EFA: {', '.join(able)}",
                )


@rule("EFA002", remedy="use an InfiniBand or Ethernet fabric in a hall", source=_EFA)
def efa_is_in_the_cloud(subject: SpecSubject) -> Iterator[Breach]:
    """An EFA fabric is in AWS: no on-prem pool is on one."""
    for name, pool in pools_in(subject, OnpremSite):
        for at, _ in _efa_uses(subject, name, pool):
            yield Breach(
                at,
                f"pool {name} stands in {pool.site}, and EFA is only in AWS",
                got="an EFA fabric on-prem",
                expected="a fabric of kind infiniband or ethernet",
            )


@rule("EFA003", remedy="leave `nics` out for all that there are", source=_EFA)
def efa_interfaces_are_there(subject: SpecSubject) -> Iterator[Breach]:
    """A pool asks for no more EFA interfaces than its platform has."""
    for name, pool in pools_in(subject, AwsSite):
        most = _efa_interfaces(subject, pool)
        for at, use in _efa_uses(subject, name, pool):
            if most and use.nics is not None and use.nics > most:
                yield Breach(
                    at / "nics",
                    f"{pool.platform} has fewer EFA interfaces",
                    got=str(use.nics),
                    expected=f"at most {most}",
                )


@plan_rule(
    "EFA004",
    remedy="plan again; a plan made with another catalogue has interfaces that these cards do not take",
    source="EC2 API, RunInstances; github.com/eksctl-io/eksctl/issues/7520",
)
def device_indexes_fit_their_cards(subject: PlanSubject) -> Iterator[Breach]:
    """Each interface is on a card of its node's type, at a device index below the card's limit, once."""
    for name, pool in _launched(subject):
        seen: set[tuple[int, int]] = set()
        for nic in pool.nics:
            card = _card(subject, pool, nic)
            place = (nic.network_card_index, nic.device_index)
            if card is not None and (card.interfaces or 1) > nic.device_index and place not in seen:
                seen.add(place)
                continue
            yield Breach(
                _platform_of(name),
                f"an interface of pool {name} has no place on a card of {pool.platform}",
                got=_interface(nic),
                expected=f"a device index below {card.interfaces or 1}, once"
                if card
                else "a card that the type has",
            )


@plan_rule(
    "EFA005",
    remedy="keep card 0, device 0 as an interface with an IP address, and put EFA beside it",
    source="EC2 User Guide, create and attach an EFA",
)
def the_first_interface_has_an_address(subject: PlanSubject) -> Iterator[Breach]:
    """Card 0, device 0 of every node is an interface with an IP address, never efa-only."""
    for name, pool in _launched(subject):
        first = [nic for nic in pool.nics if (nic.network_card_index, nic.device_index) == (0, 0)]
        if not first or first[0].interface_type is InterfaceType.EFA_ONLY:
            yield Breach(
                _platform_of(name),
                f"nodes of pool {name} would have no address",
                got=_interface(first[0]) if first else "nothing at card 0, device 0",
                expected="interface or efa",
            )


@rule(
    "EFA006",
    remedy="give each zone an EFA fabric of its own; jobs do not span them",
    source="EC2 User Guide, EFA limitations",
)
def efa_stays_in_one_zone(subject: SpecSubject) -> Iterator[Breach]:
    """All pools on an EFA fabric stand in one availability zone: EFA traffic never leaves it."""
    first: dict[str, tuple[str, str]] = {}
    for name, pool in pools_in(subject, AwsSite):
        zone = _zone_of(subject, pool)
        for fabric in sorted(pool.fabrics):
            if not isinstance(subject.spec.fabrics.get(fabric), Efa):
                continue
            other, its_zone = first.setdefault(fabric, (name, zone))
            if its_zone != zone:
                yield Breach(
                    SpecPath() / "pools" / name / "fabrics" / fabric,
                    f"pools {other} and {name} are on fabric {fabric} in different zones",
                    got=f"{zone}, where {other} is in {its_zone}",
                    expected="one zone",
                )


@rule(
    "EFA007",
    remedy="take all but one away; a node's interfaces are laid out once",
    source="EC2 API, RunInstances: one list of network interfaces",
)
def a_pool_is_on_one_efa_fabric(subject: SpecSubject) -> Iterator[Breach]:
    """A pool is on one EFA fabric at most."""
    for name, pool in pools_in(subject, AwsSite):
        for at, _ in list(_efa_uses(subject, name, pool))[1:]:
            yield Breach(
                at,
                f"pool {name} is on several EFA fabrics",
                got=", ".join(
                    sorted(str(one).rpartition(".")[2] for one, _ in _efa_uses(subject, name, pool))
                ),
                expected="one",
            )


@plan_rule(
    "EFA008",
    remedy="plan again; 0.0.0.0/0 is no substitute: EFA looks for the group itself",
    source="EC2 User Guide, EFA-enabled security group; github.com/aws/aws-ofi-nccl/issues/663",
)
def the_group_of_efa_nodes_lets_itself_in_and_out(subject: PlanSubject) -> Iterator[Breach]:
    """Where nodes have EFA, their security group lets itself in and out with every protocol."""
    for name, pool in _launched(subject):
        network = subject.plan.stacks.aws_network.get(pool.site)
        if network is None or not with_efa(pool.nics):
            continue
        missing = _shut(network)
        if missing:
            yield Breach(
                _platform_of(name),
                f"EFA interfaces of pool {name} would not reach one another",
                got=f"no rule {' and none '.join(missing)} for the group itself",
                expected="one in and one out, every protocol",
            )


@plan_rule(
    "EFA009",
    remedy="take the addresses away; nodes reach the internet by NAT, and a link or bastion reaches them",
    source="EC2 API, RunInstances: AssociatePublicIpAddress",
)
def several_interfaces_have_no_public_address(subject: PlanSubject) -> Iterator[Breach]:
    """Nodes with several interfaces are in a subnet that gives no public address: EC2 refuses it."""
    for name, pool in _launched(subject):
        network = subject.plan.stacks.aws_network.get(pool.site)
        public = network is not None and network.vpc.kind == "new" and network.vpc.public_addresses
        if public and len(pool.nics) > 1:
            yield Breach(
                _platform_of(name),
                f"nodes of pool {name} would get a public address",
                got=f"{len(pool.nics)} interfaces, and a subnet that gives public addresses",
                expected="one interface, or no public address",
            )


@plan_rule(
    "CAP003",
    remedy="plan again; the block has its place already, and a group it was not made in leaves it unused",
    source="EC2 User Guide, Capacity Blocks for ML: launch",
)
def a_capacity_block_has_no_placement_group(subject: PlanSubject) -> Iterator[Breach]:
    """A pool in a capacity block is launched without a placement group."""
    for name, planned in _node_sets(subject):
        if planned.template.capacity.kind == "capacity-block" and planned.template.placement_group:
            yield Breach(
                SpecPath() / "pools" / name / "capacity",
                f"pool {name} would be launched into a placement group of its own",
                got="a placement group",
                expected="none",
            )


def _launched(subject: PlanSubject) -> Iterator[tuple[str, PoolPlan]]:
    """Pools that EC2 launches."""
    return ((name, pool) for name, pool in subject.plan.pools.items() if pool.provisioning == "ec2")


def _node_sets(subject: PlanSubject) -> Iterator[tuple[str, NodeSetPlan]]:
    for stack in subject.plan.stacks.aws_compute.values():
        yield from stack.node_sets.items()


def _shut(network: AwsNetworkStack) -> list[str]:
    """Directions in which the group of the nodes does not let itself through."""
    own = {
        rule.direction
        for rule in network.rules.values()
        if rule.peer == NODE_GROUP and rule.protocol == EVERY_PROTOCOL
    }
    return [way for way in ("in", "out") if way not in own]


def _card(subject: PlanSubject, pool: PoolPlan, nic: NicPlan) -> NetworkCard | None:
    """The card an interface is on; one for one interface where the catalogue does not know the type's."""
    cards = subject.catalogue.platforms[pool.platform].network_cards
    by_index = cards.by_index if cards else (_ONE,)
    return by_index[nic.network_card_index] if nic.network_card_index < len(by_index) else None


def _zone_of(subject: SpecSubject, pool: Pool) -> str:
    site = subject.spec.sites[pool.site]
    return site.zone_id if isinstance(site, AwsSite) else ""


def _platform_of(pool: str) -> SpecPath:
    return SpecPath() / "pools" / pool / "platform"


def _interface(nic: NicPlan) -> str:
    return f"{nic.interface_type} at card {nic.network_card_index}, device {nic.device_index}"
