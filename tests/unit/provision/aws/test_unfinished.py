"""What a run that was cut off was making: each kind of resource is found where it was made, never else."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.aws.unfinished import KNOWN, noted
from tests.doubles.ec2 import ACCOUNT, REGION, ZONE

with warnings.catch_warnings():  # `pulumi_aws` warns of its own old names when it is first used
    warnings.simplefilter("ignore", DeprecationWarning)
    from rackwright.lab.aws.plugin import lives
    from rackwright.lab.aws.plugin.resource import Clients
    from rackwright.lab.aws.plugin.table import RESOURCES

if TYPE_CHECKING:
    from tests.doubles.ec2 import Cloud
    from tests.unit.provision.aws.conftest import Pool

Props = dict[str, Any]
_TRUST = '{"Version": "2012-10-17", "Statement": []}'
_POLICY = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "ec2:*", "Resource": "*"}}'
_RULE = {"ipProtocol": "-1", "cidrIpv4": "10.9.0.0/16"}
INPUTS: dict[str, Props] = {
    "aws:ec2/vpc:Vpc": {"cidrBlock": "10.64.0.0/16"},
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": {
        "vpcId": "Vpc",
        "cidrBlock": "10.65.0.0/16",
    },
    "aws:ec2/subnet:Subnet": {"vpcId": "Vpc", "cidrBlock": "10.64.0.0/24", "availabilityZoneId": ZONE},
    "aws:ec2/securityGroup:SecurityGroup": {"vpcId": "Vpc", "name": "nodes", "description": "nodes"},
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {
        "securityGroupId": "SecurityGroup",
        **_RULE,
    },
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": {"securityGroupId": "SecurityGroup", **_RULE},
    "aws:ec2/routeTable:RouteTable": {"vpcId": "Vpc"},
    "aws:ec2/routeTableAssociation:RouteTableAssociation": {
        "routeTableId": "RouteTable",
        "subnetId": "Subnet",
    },
    "aws:ec2/vpcEndpoint:VpcEndpoint": {
        "vpcId": "Vpc",
        "serviceName": f"com.amazonaws.{REGION}.s3",
        "vpcEndpointType": "Gateway",
    },
    "aws:ec2/vpnGateway:VpnGateway": {"vpcId": "Vpc"},
    "aws:ec2/route:Route": {
        "routeTableId": "RouteTable",
        "destinationCidrBlock": "10.77.0.0/16",
        "gatewayId": "VpnGateway",
    },
    "aws:ec2/placementGroup:PlacementGroup": {"name": "close", "strategy": "cluster"},
    "aws:ec2/launchTemplate:LaunchTemplate": {"name": "pool", "imageId": "ami-0123456789abcdef0"},
    "aws:iam/role:Role": {"name": "nodes", "assumeRolePolicy": _TRUST},
    "aws:iam/rolePolicy:RolePolicy": {"name": "nodes", "role": "Role", "policy": _POLICY},
    "aws:iam/instanceProfile:InstanceProfile": {"name": "nodes", "role": "Role"},
}
"""In an order in which they can be made; one that names another by its type gets its id."""


def _pending(kind: str, inputs: Props) -> Props:
    return {
        "type": "creating",
        "resource": {"urn": f"urn:pulumi:s::p::{kind}::x", "type": kind, "inputs": inputs},
    }


@pytest.fixture
def aws(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Clients:
    for name, value in cloud.environment().items():
        monkeypatch.setenv(name, value)
    return Clients(ec2=cloud.client(), iam=cloud.client("iam"), region=REGION, account=ACCOUNT)


def _inputs(kind: str, ids: Props) -> Props:
    """Inputs of a kind, with ids in place of types, and tags where it has some."""
    plain = {name: ids.get(value, value) for name, value in INPUTS[kind].items()}
    tags = {"rackwright:cluster": "atlas", "Name": f"atlas-cloud-{kind.rpartition(':')[2]}"}
    return plain | ({"tags": tags} if "tags" in RESOURCES[kind].imitated else {})


def test_each_kind_is_found_once_it_is_made_and_where_no_state_has_it(aws: Clients, pool: Pool) -> None:
    ids: Props = {}
    for kind in INPUTS:
        inputs = _inputs(kind, ids)
        before = {"resources": [], "pending_operations": [_pending(kind, inputs)]}
        assert noted(pool.zone, before) == ({"resources": [], "pending_operations": []}, []), kind
        made, _ = lives.create(aws, f"urn:pulumi:s::p::{kind}::x", inputs)
        after, [one] = noted(pool.zone, before)
        assert after == {"resources": [one], "pending_operations": []}
        assert (one["id"], one["type"], one["outputs"]) == (made, kind, inputs)
        assert "delete" not in one
        assert noted(pool.zone, {**before, "resources": [{"id": made}]})[1] == []
        ids[kind.rpartition(":")[2]] = made


def test_one_that_was_to_replace_another_is_to_be_deleted_beside_it(aws: Clients, pool: Pool) -> None:
    kind = "aws:ec2/vpc:Vpc"
    inputs = _inputs(kind, {})
    pending = _pending(kind, inputs)
    old, new = (lives.create(aws, pending["resource"]["urn"], inputs)[0] for _ in range(2))
    state = {"resources": [{"urn": pending["resource"]["urn"], "id": old}], "pending_operations": [pending]}
    [one] = noted(pool.zone, state)[1]
    assert (one["id"], one["delete"]) == (new, True)


def test_no_resource_of_a_zone_is_of_a_kind_that_is_not_looked_for() -> None:
    assert set(INPUTS) == set(KNOWN) == set(RESOURCES)


def test_other_operations_and_other_peoples_resources_stay(pool: Pool) -> None:
    ours = {"type": "updating", "resource": {"type": "aws:ec2/vpc:Vpc", "inputs": {}}}
    other = {"type": "creating", "resource": {"type": "rackwright:aws:NodeSet", "inputs": {}}}
    state = {"pending_operations": [ours, other]}
    assert noted(pool.zone, state) == (state, [])


@pytest.mark.usefixtures("aws")
def test_an_aws_that_cannot_be_asked_is_named(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "")
    monkeypatch.setenv("HOME", "/nowhere")
    vpc = _pending("aws:ec2/vpc:Vpc", _inputs("aws:ec2/vpc:Vpc", {}))
    with pytest.raises(EnvironmentUnfit) as refused:
        noted(pool.zone, {"pending_operations": [vpc]})
    assert refused.value.code == "AWS002"
