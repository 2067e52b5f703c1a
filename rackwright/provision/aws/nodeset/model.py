"""What passes between the stack, the engine's state and the reconciler: wanted and found nodes.

Both are flat and hold no secret: they lie in the engine's state as they are here.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from rackwright.plan.aws_model import NodePlan, NodeSetPlan
from rackwright.provision.notes import FailureNote  # noqa: TC001 (pydantic reads annotations at run time)
from rackwright.spec.base import Model

NODE_SET = "rackwright:aws:NodeSet"
"""Type of the resource."""

State: TypeAlias = Literal["running", "on-demand", "held", "stopped", "gone", "unknown"]
"""Wanted: ``running``, or ``on-demand`` for a slot that Slurm fills. Found: also ``held`` by its jobs,
``stopped``, ``gone``, or ``unknown`` where its instance could not be launched or read."""
Unknown: TypeAlias = Literal["04da6b54-80e4-46f7-96ec-b56ff0331ba9"]
"""What the engine sends for a value that a preview cannot know."""


class WantedNode(NodePlan):
    """One slot as the plan wants it."""

    state: State


class FoundNode(WantedNode):
    """One slot as it was last found; a slot that Slurm fills is not looked at here."""

    instance: str = ""
    """Id of the instance that fills it, or that filled it last."""
    private_address: str = ""
    launched: str = ""
    """When EC2 took the launch, ISO 8601."""
    version: int = 0
    """Of the launch template it was launched from; 0 where that is not known."""
    failure: FailureNote | None = None


class Ground(Model):
    """Where and from what the nodes of a pool are launched."""

    site: str
    cluster: str
    pool: str
    account: str
    region: str
    zone_id: str
    subnet: str
    template: str
    """Id of the launch template."""
    version: int | Unknown
    """Of the template; a number, never ``$Latest``."""
    tags: dict[str, str]
    """Of every instance, volume and interface."""
    all_or_nothing: bool


class WantedNodes(Ground):
    """Inputs of a NodeSet."""

    nodes: dict[str, WantedNode]


class FoundNodes(Ground):
    """State of a NodeSet: per slot, so that what was done is kept when another slot fails."""

    nodes: dict[str, FoundNode]
    orphans: dict[str, str]
    """Instance of this pool that fills no slot → why; none is terminated by `up`."""


def wanted_nodes(plan: NodeSetPlan) -> dict[str, WantedNode]:
    """Slot → node of the plan, with the state it wants."""
    return {
        slot: WantedNode(**node.model_dump(), state="on-demand" if node.burst else "running")
        for slot, node in plan.nodes.items()
    }
