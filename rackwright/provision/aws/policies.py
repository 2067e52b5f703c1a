"""IAM documents: who may take a role, and the least that filling and emptying slots needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rackwright.plan.aws_model import CLUSTER_TAG, TAGGED_AT_LAUNCH

if TYPE_CHECKING:
    from rackwright.canonical import Json
    from rackwright.plan.aws_model import ZoneStack

_VERSION = "2012-10-17"
READ = ("ec2:DescribeInstances", "ec2:DescribeLaunchTemplateVersions", "ec2:GetConsoleOutput")
"""Actions that know no resource-level permissions, or change nothing."""
_USED = (
    "image",
    "launch-template",
    "network-interface",
    "security-group",
    "subnet",
    "placement-group",
    "capacity-reservation",
    "key-pair",
)
"""Resource types that RunInstances takes beside what it makes (Service Authorization Reference, EC2)."""


def trust_of_instances() -> str:
    """Instances may take the role, by their profile."""
    return _document([_assume({"Service": "ec2.amazonaws.com"})])


def trust_of_controller(zone: ZoneStack, controller: str) -> str:
    """A controller may: by its profile in the zone, else by a login that the account's own IAM lets in."""
    if controller == "instance":
        return trust_of_instances()
    return _document([_assume({"AWS": f"arn:aws:iam::{zone.account}:root"})])


def filling(zone: ZoneStack, node_role: str) -> str:
    """Launch instances of this cluster, and terminate or tag those and no others.

    Args:
        zone: where.
        node_role: ARN of the role that the launched instances get.
    """
    ours: Json = {"StringEquals": {f"aws:RequestTag/{CLUSTER_TAG}": zone.cluster}}
    tagged: Json = {"StringEquals": {f"ec2:ResourceTag/{CLUSTER_TAG}": zone.cluster}}
    at_launch: Json = {"StringEquals": {"ec2:CreateAction": "RunInstances"}}
    role: Json = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    instances = _arns(zone, ("instance",))
    return _document(
        [
            _allow("Read", READ, ["*"], {"StringEquals": {"aws:RequestedRegion": zone.region}}),
            _allow("Use", ("ec2:RunInstances",), _arns(zone, _USED)),
            _allow("Make", ("ec2:RunInstances",), _arns(zone, ("instance", "volume")), ours),
            _allow("TagAtLaunch", ("ec2:CreateTags",), _arns(zone, TAGGED_AT_LAUNCH), at_launch),
            _allow("TagOurs", ("ec2:CreateTags",), instances, tagged),
            _allow("Terminate", ("ec2:TerminateInstances",), instances, tagged),
            _allow("PassRole", ("iam:PassRole",), [node_role], role),
        ]
    )


def _arns(zone: ZoneStack, kinds: tuple[str, ...]) -> list[Json]:
    """Of all resources of some types; an image may be another account's, so none is named."""
    return [
        f"arn:aws:ec2:{zone.region}:*:{kind}/*" if kind != "image" else f"arn:aws:ec2:{zone.region}::image/*"
        for kind in kinds
    ]


def _allow(name: str, actions: tuple[str, ...], resources: list[Json], condition: Json = None) -> Json:
    statement: dict[str, Json] = {
        "Sid": name,
        "Effect": "Allow",
        "Action": list(actions),
        "Resource": resources,
    }
    return {**statement, "Condition": condition} if condition else statement


def _assume(principal: dict[str, Json]) -> Json:
    return {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": principal}


def _document(statements: list[Json]) -> str:
    return json.dumps({"Version": _VERSION, "Statement": statements}, sort_keys=True)
