"""Inputs of a pool's launch template: plain values of the plan in, `pulumi_aws` arguments out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_aws import ec2

from rackwright.plan.aws_model import TAGGED_AT_LAUNCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pulumi

    from rackwright.plan.aws_model import CapacityPlan, TemplatePlan

_MARKET = {"capacity-block": "capacity-block", "spot": "spot"}
"""Kinds of capacity that RunInstances takes as a market; the others are none."""


def interfaces(
    plan: TemplatePlan, subnet: pulumi.Input[str], group: pulumi.Input[str]
) -> Sequence[ec2.LaunchTemplateNetworkInterfaceArgs]:
    """Each interface as planned; groups only here, and none outlives its instance.

    No public address is asked for: EC2 refuses one with several interfaces.

    Source: pulumi-aws#2506, pulumi-eks#194, aws-ofi-nccl#53.
    """
    return [
        ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=nic.network_card_index,
            device_index=nic.device_index,
            interface_type=nic.interface_type.value,
            subnet_id=subnet,
            security_groups=[group],
            delete_on_termination="true",
        )
        for nic in plan.interfaces
    ]


def market(capacity: CapacityPlan) -> ec2.LaunchTemplateInstanceMarketOptionsArgs | None:
    """A capacity block is a market of its own, beside being a reservation (EC2 User Guide)."""
    kind = _MARKET.get(capacity.kind)
    return ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type=kind) if kind else None


def reservation(capacity: CapacityPlan) -> ec2.LaunchTemplateCapacityReservationSpecificationArgs | None:
    """Out of the reservation and nothing beside it: on-demand is never bought silently.

    A capacity block names its target alone: its market already excludes anything else.
    """
    if capacity.reservation is None:
        return None
    target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=capacity.reservation
    )
    only = "capacity-reservations-only" if capacity.kind == "reservation" else None
    return ec2.LaunchTemplateCapacityReservationSpecificationArgs(
        capacity_reservation_preference=only, capacity_reservation_target=target
    )


def metadata() -> ec2.LaunchTemplateMetadataOptionsArgs:
    """IMDSv2 alone, whatever the account has by default; tags are served: an instance knows its slot."""
    return ec2.LaunchTemplateMetadataOptionsArgs(
        http_endpoint="enabled", http_tokens="required", instance_metadata_tags="enabled"
    )


def tag_specifications(
    tags: Mapping[str, str],
) -> Sequence[ec2.LaunchTemplateTagSpecificationArgs]:
    """Of all that a launch makes."""
    return [
        ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=dict(tags))
        for kind in TAGGED_AT_LAUNCH
    ]
