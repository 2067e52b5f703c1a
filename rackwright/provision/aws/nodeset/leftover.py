"""What a destroyed zone still has by tag: instances of an `up` that was killed before the engine noted them.

Those of the zone's own pools are terminated as the rest of a pool is. One whose pool no plan has is named
and left: who tagged it is not known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    BotoCoreError,
    ClientError,
)

from rackwright.errors import Failure
from rackwright.provision.aws import failures
from rackwright.provision.aws.nodeset.ec2 import cannot_be_asked
from rackwright.provision.aws.nodeset.reconcile import GONE_WITHIN_S, at_work, stayed
from rackwright.provision.notes import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from rackwright.plan.aws_model import AwsComputeStack
    from rackwright.provision.aws.nodeset.ec2 import Ec2, Instance

TERMINATED = "terminated"


def cleared(
    zone: AwsComputeStack, ec2: Ec2, busy: Mapping[str, str], seconds: float = GONE_WITHIN_S
) -> Iterator[Change | Failure]:
    """Terminate what the pools of a zone still have; what stays is a failure.

    Args:
        zone: slice of the stack that was destroyed.
        ec2: of its region.
        busy: slot → job that runs on it: a pool with one is left as a whole.
        seconds: within which a terminated instance must be gone.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    try:
        for pool, planned in zone.node_sets.items():
            there = [one for one in ec2.instances(zone.cluster, pool) if one.there]
            held = at_work({one.slot for one in there} | planned.nodes.keys(), busy) if there else []
            yield from held
            if there and not held:
                yield from _terminated(zone.cluster, pool, there, ec2, seconds)
    except (BotoCoreError, ClientError) as error:
        raise cannot_be_asked(error, zone.site) from None


def there(zone: AwsComputeStack, ec2: Ec2) -> list[Instance]:
    """Instances of a zone's pools, those on demand and those that no state knows among them.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    try:
        return [one for pool in zone.node_sets for one in ec2.instances(zone.cluster, pool) if one.there]
    except (BotoCoreError, ClientError) as error:
        raise cannot_be_asked(error, zone.site) from None


def _terminated(
    cluster: str, pool: str, there: Collection[Instance], ec2: Ec2, seconds: float
) -> Iterator[Change | Failure]:
    ec2.terminate(one.id for one in there)
    left = ec2.gone(cluster, pool, seconds)
    staying = {one.id for one in left}
    yield from stayed(left, seconds)
    for one in there:
        if one.id not in staying:
            yield Change(one.slot or one.id, "instance", one.id, TERMINATED)


def strangers(zone: AwsComputeStack, pools: Collection[str], ec2: Ec2) -> Iterator[Failure]:
    """Instances that carry the cluster's tag and are of no pool that is planned.

    Args:
        zone: slice of the stack that was destroyed.
        pools: of all zones of the plan.
        ec2: of its region.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    try:
        for one in ec2.instances(zone.cluster):
            if one.there and one.pool not in pools:
                yield Failure(one.slot or one.id, failures.STRANGER, _stranger(one, zone.cluster), _LOOK)
    except (BotoCoreError, ClientError) as error:
        raise cannot_be_asked(error, zone.site) from None


def _stranger(one: Instance, cluster: str) -> str:
    pool = f"pool {one.pool}, which is not planned" if one.pool else "no pool"
    return f"{one.id} carries the tag of cluster {cluster}, and of {pool}"


_LOOK = "look whose it is, and terminate it in EC2: it keeps its subnet from going"
