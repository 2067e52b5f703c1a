"""What a stack's program calls: its slice of the plan in, its typed outputs out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Protocol

import pulumi

from rackwright.plan.model import OnpremStack, Plan

PLAN = "plan"
"""Key of the stack's configuration that holds the path of `plan.json`."""
OUTPUTS = "outputs"
"""The one stack output, typed and versioned."""


class Exporting(Protocol):
    """A component with one output object."""

    outputs: pulumi.Output[dict[str, Any]]


def load_slice(project: Literal["onprem"]) -> OnpremStack:
    """The slice of this stack, from the plan whose path is configured.

    The stack's name is ``<cluster>-<site>``.
    """
    path = Path(pulumi.Config(project).require(PLAN))
    plan = Plan.model_validate_json(path.read_text(encoding="utf-8"))
    site = pulumi.get_stack().removeprefix(f"{plan.cluster.name}-")
    return plan.stacks.onprem[site]


def export(component: Exporting) -> None:
    """Make the component's outputs those of the stack."""
    pulumi.export(OUTPUTS, component.outputs)
