"""Plans with one mistake that the planner does not make: what a rule on plans is there to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rackwright.catalogue.model import InterfaceType
from rackwright.plan.nics import NicPlan
from rackwright.spec.assets import Asset

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.model import Plan


class Spoiled(NamedTuple):
    """One mistake in the plan of an example: the rule that sees it, and where it says it is."""

    code: str
    path: str
    example: str
    spoil: Callable[[Plan], Plan]


def nic(card: int, device: int, kind: InterfaceType) -> NicPlan:
    return NicPlan(network_card_index=card, device_index=device, interface_type=kind)


def with_nics(pool: str, *nics: NicPlan) -> Callable[[Plan], Plan]:
    """Each node of a pool with these interfaces."""

    def spoil(plan: Plan) -> Plan:
        changed = plan.pools[pool].model_copy(update={"nics": nics})
        return plan.model_copy(update={"pools": {**plan.pools, pool: changed}})

    return spoil


def with_placement_group(pool: str) -> Callable[[Plan], Plan]:
    """A pool whose template asks for a group."""

    def spoil(plan: Plan) -> Plan:
        stacks = dict(plan.stacks.aws_compute)
        for site, stack in stacks.items():
            sets = dict(stack.node_sets)
            if pool in sets:
                template = sets[pool].template.model_copy(update={"placement_group": True})
                sets[pool] = sets[pool].model_copy(update={"template": template})
                stacks[site] = stack.model_copy(update={"node_sets": sets})
        return plan.model_copy(update={"stacks": plan.stacks.model_copy(update={"aws_compute": stacks})})

    return spoil


def _with_network(plan: Plan, site: str, **update: object) -> Plan:
    networks = plan.stacks.aws_network
    stack = networks[site].model_copy(update=update)
    stacks = plan.stacks.model_copy(update={"aws_network": {**networks, site: stack}})
    return plan.model_copy(update={"stacks": stacks})


def without_rule(site: str, name: str) -> Callable[[Plan], Plan]:
    """A group of nodes that lacks one of its rules."""

    def spoil(plan: Plan) -> Plan:
        rules = dict(plan.stacks.aws_network[site].rules)
        del rules[name]
        return _with_network(plan, site, rules=rules)

    return spoil


def with_tcp_alone(site: str, name: str) -> Callable[[Plan], Plan]:
    """A group of nodes that lets only TCP through one of its rules."""

    def spoil(plan: Plan) -> Plan:
        rules = plan.stacks.aws_network[site].rules
        return _with_network(
            plan, site, rules={**rules, name: rules[name].model_copy(update={"protocol": "tcp"})}
        )

    return spoil


def with_public_addresses(site: str) -> Callable[[Plan], Plan]:
    """A subnet that gives public addresses."""

    def spoil(plan: Plan) -> Plan:
        vpc = plan.stacks.aws_network[site].vpc
        return _with_network(plan, site, vpc=vpc.model_copy(update={"public_addresses": True}))

    return spoil


FIRST = nic(0, 0, InterfaceType.INTERFACE)


def delivered(pool: str, slot: str, *guids: str) -> Callable[[Plan], Plan]:
    """A slot whose machine is there, with the GUIDs that its asset row tells."""
    asset = Asset(serial="1", bmc_mac="02:00:00:00:00:01", boot_mac="02:00:00:00:00:02", hca_guids=guids)

    def spoil(plan: Plan) -> Plan:
        slots = plan.pools[pool].slots
        changed = slots[slot].model_copy(update={"asset": asset})
        here = plan.pools[pool].model_copy(update={"slots": {**slots, slot: changed}})
        return plan.model_copy(update={"pools": {**plan.pools, pool: here}})

    return spoil


SPOILED = [
    Spoiled("IB002", "pools.mgmt", "onprem-dgx-h100", delivered("mgmt", "mgmt-001")),
    Spoiled(
        "EFA004",
        "pools.p5.platform",
        "aws-p5",
        with_nics("p5", FIRST, nic(1, 2, InterfaceType.EFA_ONLY)),
    ),
    Spoiled(
        "EFA004",
        "pools.p5.platform",
        "aws-p5",
        with_nics("p5", FIRST, nic(32, 0, InterfaceType.EFA_ONLY)),
    ),
    Spoiled("EFA004", "pools.p5.platform", "aws-p5", with_nics("p5", FIRST, FIRST)),
    Spoiled(
        "EFA004",
        "pools.head.platform",
        "aws-p5",
        with_nics("head", FIRST, nic(0, 8, InterfaceType.INTERFACE)),
    ),
    Spoiled(
        "EFA005", "pools.trn2.platform", "aws-trn2", with_nics("trn2", nic(0, 0, InterfaceType.EFA_ONLY))
    ),
    Spoiled("EFA005", "pools.trn2.platform", "aws-trn2", with_nics("trn2", nic(1, 0, InterfaceType.EFA))),
    Spoiled("EFA008", "pools.p5.platform", "aws-p5", without_rule("use2", "from-nodes")),
    Spoiled("EFA008", "pools.p5.platform", "aws-p5", without_rule("use2", "to-nodes")),
    Spoiled("EFA008", "pools.p5en.platform", "aws-p5en", with_tcp_alone("apne1", "to-nodes")),
    Spoiled("EFA009", "pools.b300.platform", "aws-p6-b300", with_public_addresses("usw2")),
    Spoiled("CAP003", "pools.trn2.capacity", "aws-trn2", with_placement_group("trn2")),
]
