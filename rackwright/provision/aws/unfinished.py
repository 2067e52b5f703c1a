"""What a run that was cut off was making in a zone, and never heard of: the state in, the state with it out.

The engine notes what it begins to make, and learns its id from the answer. One that is killed in between
leaves a thing that no state has, and the next run would make another beside it. Nothing depends on such a
thing yet, and it may be half made; so it enters the state, for the engine to take away before it is made
anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import boto3  # type: ignore[import-untyped]  # (boto3 has no types)
from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    BotoCoreError,
    ClientError,
)

from rackwright.provision.aws import failures
from rackwright.provision.aws.identity import CONFIG
from rackwright.provision.aws.nodeset.ec2 import cannot_be_asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rackwright.plan.aws_model import ZoneStack

    Client: TypeAlias = Any
    """One of boto3's, which have no types."""
    Inputs: TypeAlias = Mapping[str, Any]
    """Of a resource, as the engine has them."""

CREATING = "creating"
"""Type of an operation whose result the engine does not know."""
_TAGGED = {
    "aws:ec2/vpc:Vpc": ("describe_vpcs", "Vpcs", "VpcId"),
    "aws:ec2/subnet:Subnet": ("describe_subnets", "Subnets", "SubnetId"),
    "aws:ec2/securityGroup:SecurityGroup": ("describe_security_groups", "SecurityGroups", "GroupId"),
    "aws:ec2/routeTable:RouteTable": ("describe_route_tables", "RouteTables", "RouteTableId"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId"),
    "aws:ec2/vpnGateway:VpnGateway": ("describe_vpn_gateways", "VpnGateways", "VpnGatewayId"),
    **dict.fromkeys(
        (
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
        ),
        ("describe_security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId"),
    ),
}
"""Type → call of EC2 that lists all of it, its list, its id; all are tagged by the call that makes them."""
_NONE = frozenset(
    {
        "NoSuchEntity",
        "InvalidLaunchTemplateName.NotFoundException",
        "InvalidPlacementGroup.Unknown",
        "InvalidVpcID.NotFound",
        "InvalidRouteTableID.NotFound",
    }
)
"""What AWS says of a thing that is not there, or of one that it would be a part of."""
_LEAVING = frozenset({"deleting", "deleted"})


def noted(zone: ZoneStack, state: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Mapping[str, Any]]]:
    """A stack's state with what was made and never noted; and what of its resources that is.

    One that was to replace another, of the same URN, enters as to be deleted: no state has two of one.

    Args:
        zone: where.
        state: of the stack, as exported; an operation that left nothing is dropped from it.

    Raises:
        EnvironmentUnfit: AWS cannot be asked.
    """
    pending = state.get("pending_operations") or []
    looked_up = [one for one in pending if one["type"] == CREATING and one["resource"]["type"] in KNOWN]
    if not looked_up:
        return state, []
    there = list(state.get("resources") or ())
    services = {KNOWN[one["resource"]["type"]][0] for one in looked_up}
    try:
        clients = {service: _client(service, zone) for service in services}
        made = [each for one in looked_up for each in _made(clients, one["resource"], there)]
    except (BotoCoreError, ClientError) as error:
        raise cannot_be_asked(error, zone.site) from None
    left = [one for one in pending if one not in looked_up]
    return {**state, "resources": there + made, "pending_operations": left}, made


def _client(service: str, zone: ZoneStack) -> Client:
    return boto3.Session().client(service, region_name=zone.region, config=CONFIG)


def _made(
    clients: Mapping[str, Client], resource: Mapping[str, Any], there: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    """The resource, once for each thing that is there and that none of the state's stands for."""
    service, find = KNOWN[resource["type"]]
    known, replaced = {one.get("id") for one in there}, {one.get("urn") for one in there}
    try:
        ids = list(find(clients[service], resource["inputs"]))
    except ClientError as error:
        if failures.code_of(error) not in _NONE:
            raise
        return
    for number, name in enumerate(one for one in ids if one not in known):
        doubled = {"delete": True} if number or resource["urn"] in replaced else {}
        yield {**resource, "id": name, "outputs": resource["inputs"], **doubled}


def _tagged(call: str, listed: str, name: str) -> Callable[[Client, Inputs], Iterator[str]]:
    def find(ec2: Client, inputs: Inputs) -> Iterator[str]:
        filters = [{"Name": f"tag:{key}", "Values": [value]} for key, value in inputs["tags"].items()]
        for one in getattr(ec2, call)(Filters=filters)[listed]:
            if str(one.get("State", "")).lower() not in _LEAVING:
                yield one[name]

    return find


def _named(ask: Callable[[Client, str], object]) -> Callable[[Client, Inputs], Iterator[str]]:
    """Of one whose id is its name, which the engine has given it before."""

    def find(client: Client, inputs: Inputs) -> Iterator[str]:
        ask(client, inputs["name"])
        yield inputs["name"]

    return find


def _template(ec2: Client, inputs: Inputs) -> Iterator[str]:
    for one in ec2.describe_launch_templates(LaunchTemplateNames=[inputs["name"]])["LaunchTemplates"]:
        yield one["LaunchTemplateId"]


def _policy(iam: Client, inputs: Inputs) -> Iterator[str]:
    iam.get_role_policy(RoleName=inputs["role"], PolicyName=inputs["name"])
    yield f"{inputs['role']}:{inputs['name']}"


def _range(ec2: Client, inputs: Inputs) -> Iterator[str]:
    [vpc] = ec2.describe_vpcs(VpcIds=[inputs["vpcId"]])["Vpcs"]
    for one in vpc.get("CidrBlockAssociationSet", ()):
        if one["CidrBlock"] == inputs["cidrBlock"] and one["CidrBlockState"]["State"] == "associated":
            yield one["AssociationId"]


def _table(ec2: Client, inputs: Inputs) -> Mapping[str, Any]:
    [table] = ec2.describe_route_tables(RouteTableIds=[inputs["routeTableId"]])["RouteTables"]
    found: Mapping[str, Any] = table
    return found


def _association(ec2: Client, inputs: Inputs) -> Iterator[str]:
    for one in _table(ec2, inputs)["Associations"]:
        if one.get("SubnetId") == inputs["subnetId"]:
            yield one["RouteTableAssociationId"]


def _route(ec2: Client, inputs: Inputs) -> Iterator[str]:
    """EC2 gives a route no id; it is deleted by its table and range."""
    to = inputs["destinationCidrBlock"]
    if any(one.get("DestinationCidrBlock") == to for one in _table(ec2, inputs)["Routes"]):
        yield f"{inputs['routeTableId']} {to}"


KNOWN: Mapping[str, tuple[str, Callable[[Client, Inputs], Iterator[str]]]] = {
    **{kind: ("ec2", _tagged(*asked)) for kind, asked in _TAGGED.items()},
    "aws:ec2/placementGroup:PlacementGroup": (
        "ec2",
        _named(lambda ec2, name: ec2.describe_placement_groups(GroupNames=[name])),
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": ("ec2", _template),
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": ("ec2", _range),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ("ec2", _association),
    "aws:ec2/route:Route": ("ec2", _route),
    "aws:iam/role:Role": ("iam", _named(lambda iam, name: iam.get_role(RoleName=name))),
    "aws:iam/instanceProfile:InstanceProfile": (
        "iam",
        _named(lambda iam, name: iam.get_instance_profile(InstanceProfileName=name)),
    ),
    "aws:iam/rolePolicy:RolePolicy": ("iam", _policy),
}
"""Type → service, and how what was made of it is found."""
