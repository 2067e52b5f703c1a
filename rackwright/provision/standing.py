"""Node sets of zones as the engine's state has them, for those who work beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi.automation import CommandError

from rackwright.provision.aws.nodeset.model import FoundNodes
from rackwright.provision.engine_errors import refused
from rackwright.provision.kinds import sets
from rackwright.provision.stacks import COMPUTE, open_stack, stacks

if TYPE_CHECKING:
    from rackwright.plan.model import Plan
    from rackwright.provision.places import Folders


def node_sets(plan: Plan, folders: Folders) -> dict[str, FoundNodes]:
    """Pool → its node set; none of a pool that was never brought up.

    Raises:
        EnvironmentUnfit: the engine is missing, or cannot open a stack.
    """
    found: dict[str, FoundNodes] = {}
    for name in stacks(plan):
        if name.project != COMPUTE:
            continue
        opened = open_stack(name, plan, folders)
        try:
            deployment = opened.stack.export_stack().deployment
        except CommandError as error:
            raise refused(str(name), error) from None
        for _, one in sets(deployment):
            if isinstance(one, FoundNodes):
                found[one.pool] = one
    return found
