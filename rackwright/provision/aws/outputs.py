"""Outputs of the AWS stacks: one typed, versioned object each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.provision.aws.nodeset.model import FoundNodes
from rackwright.spec.base import Model


class NetworkOutputs(Model):
    """Of the stack `aws-network`."""

    schema_: Annotated[Literal["rackwright/stack-outputs/aws-network/1"], Field(alias="schema")] = (
        "rackwright/stack-outputs/aws-network/1"
    )
    site: str
    vpc: str
    subnet: str
    node_group: str
    """Security group of every interface of every node."""


class AccessOutputs(Model):
    """Of the stack `aws-access`."""

    schema_: Annotated[Literal["rackwright/stack-outputs/aws-access/1"], Field(alias="schema")] = (
        "rackwright/stack-outputs/aws-access/1"
    )
    site: str
    node_profile: str
    """Name of the instance profile of nodes."""
    controller_profile: str | None
    """Name of the instance profile of a controller in this zone that fills burst slots."""
    controller_role: str | None
    """ARN of the role by which burst slots are filled."""


class ComputeOutputs(Model):
    """Of the stack `aws-compute`."""

    schema_: Annotated[Literal["rackwright/stack-outputs/aws-compute/1"], Field(alias="schema")] = (
        "rackwright/stack-outputs/aws-compute/1"
    )
    site: str
    node_sets: dict[str, FoundNodes]
    """By pool; with the launch template that Slurm's resume program needs."""
