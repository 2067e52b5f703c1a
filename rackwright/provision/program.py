"""What a stack's program calls: its slice of the plan in, its typed outputs out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import pulumi

from rackwright.errors import RackwrightError
from rackwright.provision import plan_file
from rackwright.provision.engine_errors import line_of

if TYPE_CHECKING:
    from rackwright.plan.aws_model import AwsAccessStack, AwsComputeStack, AwsNetworkStack
    from rackwright.plan.model import OnpremStack, Plan

    Slice = OnpremStack | AwsNetworkStack | AwsAccessStack | AwsComputeStack

PLAN = "plan"
"""Key of the stack's configuration that holds the path of `plan.json`."""
OUTPUTS = "outputs"
"""The one stack output, typed and versioned."""
Project = Literal["onprem", "aws-network", "aws-access", "aws-compute"]


class Exporting(Protocol):
    """A component with one output object."""

    outputs: pulumi.Output[dict[str, Any]]


@overload
def load_slice(project: Literal["onprem"]) -> OnpremStack: ...
@overload
def load_slice(project: Literal["aws-network"]) -> AwsNetworkStack: ...
@overload
def load_slice(project: Literal["aws-access"]) -> AwsAccessStack: ...
@overload
def load_slice(project: Literal["aws-compute"]) -> AwsComputeStack: ...


def load_slice(project: Project) -> Slice:
    """The slice of this stack, from the plan whose path is configured.

    The stack's name is ``<cluster>-<site>``.
    """
    plan = load_plan(project)
    slices: dict[str, Slice] = getattr(plan.stacks, project.replace("-", "_"))
    return slices[pulumi.get_stack().removeprefix(f"{plan.cluster.name}-")]


def load_plan(project: Project) -> Plan:
    """The whole plan whose path is configured.

    Raises:
        pulumi.RunError: it cannot be read, or is not the run's; the engine prints it and no traceback.
    """
    try:
        return plan_file.read_of_run(Path(pulumi.Config(project).require(PLAN)))
    except RackwrightError as error:
        raise pulumi.RunError(line_of(error)) from None


def outputs_of(project: Project) -> pulumi.Output[dict[str, Any]]:
    """Outputs of the stack of another project for the same site, by its full name.

    A backend that is no service has one organization, called ``organization``.
    """
    name = f"{pulumi.get_organization()}/{project}/{pulumi.get_stack()}"
    outputs: pulumi.Output[dict[str, Any]] = pulumi.StackReference(name).require_output(OUTPUTS)
    return outputs


def export(component: Exporting) -> None:
    """Make the component's outputs those of the stack."""
    pulumi.export(OUTPUTS, component.outputs)
