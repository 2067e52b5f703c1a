"""Every call that the emulator answers; any other is refused with its name.

What is in ``OURS`` is ours, in `launches` and `placement`; the rest is moto's own, as far as a test in
tests/unit/lab/aws shows that it does what AWS does there. docs/emulator.md lists them; a test compares.
"""

from __future__ import annotations

OURS = frozenset(
    {
        "RunInstances",
        "TerminateInstances",
        "DescribeInstances",
        "GetConsoleOutput",
        "DescribeInstanceTypes",
        "CreatePlacementGroup",
        "DescribePlacementGroups",
        "DeletePlacementGroup",
        "CreateCapacityReservation",
        "DescribeCapacityReservations",
        "CancelCapacityReservation",
        "CreateSubnet",
        "DeleteSubnet",
        "DeleteSecurityGroup",
        "DeleteVpc",
        "CreateLaunchTemplate",
    }
)
"""EC2 calls that moto does not know, or answers otherwise than EC2."""

ANSWERED: dict[str, frozenset[str]] = {
    "ec2": OURS
    | {
        "DescribeInstanceStatus",
        "DescribeNetworkInterfaces",
        "DescribeAvailabilityZones",
        "DescribeRegions",
        "DescribeVolumes",
        "CreateTags",
        "DeleteTags",
        "DescribeTags",
        "CreateVpc",
        "DescribeVpcs",
        "DescribeVpcAttribute",
        "ModifyVpcAttribute",
        "AssociateVpcCidrBlock",
        "DisassociateVpcCidrBlock",
        "DescribeSubnets",
        "ModifySubnetAttribute",
        "CreateSecurityGroup",
        "DescribeSecurityGroups",
        "DescribeSecurityGroupRules",
        "AuthorizeSecurityGroupIngress",
        "AuthorizeSecurityGroupEgress",
        "RevokeSecurityGroupIngress",
        "RevokeSecurityGroupEgress",
        "CreateRouteTable",
        "DescribeRouteTables",
        "DeleteRouteTable",
        "CreateRoute",
        "DeleteRoute",
        "AssociateRouteTable",
        "DisassociateRouteTable",
        "CreateVpnGateway",
        "AttachVpnGateway",
        "DescribeVpnGateways",
        "DetachVpnGateway",
        "DeleteVpnGateway",
        "CreateVpcEndpoint",
        "DescribeVpcEndpoints",
        "DeleteVpcEndpoints",
        "ModifyVpcEndpoint",
        "CreateLaunchTemplateVersion",
        "ModifyLaunchTemplate",
        "DescribeLaunchTemplates",
        "DescribeLaunchTemplateVersions",
        "DeleteLaunchTemplate",
    },
    "iam": frozenset(
        {
            "CreateRole",
            "GetRole",
            "DeleteRole",
            "UpdateAssumeRolePolicy",
            "TagRole",
            "UntagRole",
            "ListRoleTags",
            "ListRolePolicies",
            "ListAttachedRolePolicies",
            "PutRolePolicy",
            "GetRolePolicy",
            "DeleteRolePolicy",
            "AttachRolePolicy",
            "DetachRolePolicy",
            "CreateInstanceProfile",
            "GetInstanceProfile",
            "DeleteInstanceProfile",
            "TagInstanceProfile",
            "UntagInstanceProfile",
            "AddRoleToInstanceProfile",
            "RemoveRoleFromInstanceProfile",
            "ListInstanceProfilesForRole",
        }
    ),
    "sts": frozenset({"GetCallerIdentity", "AssumeRole"}),
}
"""Service → calls."""

DRY_RUN = frozenset(
    {
        "RunInstances",
        "TerminateInstances",
        "CreatePlacementGroup",
        "DeletePlacementGroup",
        "CreateCapacityReservation",
        "CancelCapacityReservation",
        "CreateTags",
        "DeleteTags",
        "CreateSecurityGroup",
        "DeleteSecurityGroup",
        "AuthorizeSecurityGroupIngress",
        "AuthorizeSecurityGroupEgress",
        "RevokeSecurityGroupIngress",
        "RevokeSecurityGroupEgress",
        "CreateLaunchTemplate",
        "CreateLaunchTemplateVersion",
        "ModifyLaunchTemplate",
        "DeleteLaunchTemplate",
    }
)
"""Calls that change something and stop short of it where DryRun is asked; moto does the others."""

_READING = ("Describe", "Get", "List")


def answered(service: str, call: str) -> bool:
    """Whether the emulator answers it."""
    return call in ANSWERED.get(service, frozenset())


def dry_runs(call: str) -> bool:
    """Whether a call with DryRun changes nothing."""
    return call in DRY_RUN or not changes(call)


def changes(call: str) -> bool:
    """Whether a call may change anything."""
    return not call.startswith(_READING)
