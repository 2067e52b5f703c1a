"""What still needs a stack that is to go: stacks that read its outputs, and instances in its zone.

A `destroy` that could not end some instances, as those with jobs, must leave them their network and roles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.errors import Failure
from rackwright.provision.aws.nodeset import leftover
from rackwright.provision.aws.nodeset.ec2 import Ec2
from rackwright.provision.events import standing
from rackwright.provision.stacks import COMPUTE, exported, readers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwright.plan.model import Plan
    from rackwright.provision.stacks import Open, StackName

STILL_READ = "UP013"
"""A stack on whose outputs something stands."""


def needed_by(opened: Open, plan: Plan) -> list[Failure]:
    """What a stack cannot go for: one failure for each other stack that stands on it; none where it can go.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    found = ((reader, _left(opened, reader, plan)) for reader in readers(opened.name))
    return [_failure(opened.name, reader, left) for reader, left in found if left]


def _left(opened: Open, reader: StackName, plan: Plan) -> list[str]:
    """What a reader has by its state; or, where no state knows of them, the instances of its pools."""
    known = [change.slot for change in standing(exported(opened, reader))]
    zone = plan.stacks.aws_compute.get(reader.site) if reader.project == COMPUTE else None
    if known or zone is None:
        return known
    return sorted(one.slot or one.id for one in leftover.there(zone, Ec2(zone.region)))


def _failure(name: StackName, reader: StackName, left: Sequence[str]) -> Failure:
    others = f" and {len(left) - 1} more" if len(left) > 1 else ""
    cause = f"{reader} stands on it, and still has {left[0]}{others}"
    return Failure(str(name), STILL_READ, cause, f"rackwright destroy SPEC --stack {reader}, then this one")
