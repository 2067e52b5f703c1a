"""Plan and setting in, the pools out that have slots on demand and were built."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rackwright.burst.instances import Instances
from rackwright.provision.aws.nodeset.ec2 import Ec2
from rackwright.provision.aws.nodeset.model import wanted_nodes
from rackwright.provision.aws.nodeset.reconcile import Means
from rackwright.render.cloud import user_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.burst.model import Setting
    from rackwright.plan.model import Plan


def pools(plan: Plan, setting: Setting) -> Iterator[Instances]:
    """Each with its EC2 and what its instances boot with."""
    for zone in plan.stacks.aws_compute.values():
        for name, planned in zone.node_sets.items():
            nodes = {slot: node for slot, node in wanted_nodes(planned).items() if node.burst}
            ground = setting.grounds.get(name)
            if nodes and ground is not None:
                boots = partial(_boots, plan, name, setting.authorized_keys)
                yield Instances(ground, nodes, Means(Ec2(ground.region), boots))


def _boots(plan: Plan, pool: str, keys: tuple[str, ...], slot: str) -> str:
    return user_data(plan, pool, slot, keys)
