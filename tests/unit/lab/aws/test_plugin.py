"""The plugin of package `aws` without an engine: inputs by `pulumi_aws`'s own classes, drift, endpoints."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import UsageError
from rackwright.lab.aws.plugin.install import install, launcher
from tests.doubles.ec2 import ACCOUNT, REGION, ZONE

with warnings.catch_warnings():  # `pulumi_aws` warns of its own old names when it is first used
    warnings.simplefilter("ignore", DeprecationWarning)
    from rackwright.lab.aws.plugin import lives
    from rackwright.lab.aws.plugin.inputs import UNKNOWN
    from rackwright.lab.aws.plugin.resource import Clients
    from rackwright.lab.aws.plugin.server import clients

if TYPE_CHECKING:
    from pathlib import Path

    from tests.doubles.ec2 import Cloud
    from tests.unit.lab.aws.conftest import Net

VPC = "urn:pulumi:s::p::rackwright:aws:ClusterNetwork$aws:ec2/vpc:Vpc::vpc"
SUBNET = "urn:pulumi:s::p::aws:ec2/subnet:Subnet::nodes"
TEMPLATE = "urn:pulumi:s::p::aws:ec2/launchTemplate:LaunchTemplate::pool"
GROUP = "urn:pulumi:s::p::aws:ec2/securityGroup:SecurityGroup::nodes"
PROFILE = "urn:pulumi:s::p::aws:iam/instanceProfile:InstanceProfile::p"
RULE = "urn:pulumi:s::p::aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule::within"


@pytest.fixture
def aws(cloud: Cloud) -> Clients:
    return Clients(ec2=cloud.client(), iam=cloud.client("iam"), region=REGION, account=ACCOUNT)


def wrong(urn: str, **inputs: Any) -> dict[str, str]:  # noqa: ANN401 (JSON)
    return dict(lives.checked(urn, {}, inputs, b"seed")[1])


@pytest.mark.parametrize(
    ("urn", "inputs", "path", "words"),
    [
        (VPC, {"cidrBlok": "10.0.0.0/16"}, "cidrBlok", "VpcArgs of pulumi_aws has no such input"),
        (VPC, {"enableDnsSupport": "yes"}, "enableDnsSupport", "'yes' is not true or false"),
        (VPC, {"tags": {"a": 1.0}}, "tags.a", "1.0 is not a text"),
        (VPC, {"tags": ["a"]}, "tags", "['a'] is not a map"),
        (VPC, {"instanceTenancy": "dedicated"}, "instanceTenancy", "does not imitate"),
        (SUBNET, {"cidrBlock": "10.0.0.0/24"}, "vpcId", "SubnetArgs of pulumi_aws needs it"),
        (
            TEMPLATE,
            {"networkInterfaces": [{"deviceIndex": 0.0}, {"deviceIndex": 0.5}]},
            "networkInterfaces[1].deviceIndex",
            "0.5 is not a whole number",
        ),
        (
            TEMPLATE,
            {"networkInterfaces": [{"cardIndex": 0.0}]},
            "networkInterfaces[0].cardIndex",
            "LaunchTemplateNetworkInterfaceArgs of pulumi_aws has no such input",
        ),
        (TEMPLATE, {"placement": "close"}, "placement", "is not an object of LaunchTemplatePlacementArgs"),
        (GROUP, {"ingress": []}, "ingress", "does not imitate aws:ec2/securityGroup:SecurityGroup.ingress"),
    ],
)
def test_an_input_that_pulumi_aws_or_the_plugin_does_not_know_is_named(
    urn: str, inputs: dict[str, Any], path: str, words: str
) -> None:
    assert words in wrong(urn, **inputs)[path]


def test_inputs_as_they_should_be_have_no_fault_and_what_is_not_known_yet_fits_everywhere() -> None:
    assert wrong(VPC, cidrBlock="10.0.0.0/16", enableDnsSupport=True, tags={"a": "b"}) == {}
    assert wrong(SUBNET, vpcId=UNKNOWN, cidrBlock="10.0.0.0/24", mapPublicIpOnLaunch=UNKNOWN) == {}
    assert wrong(TEMPLATE, networkInterfaces=[{"deviceIndex": 0.0, "securityGroups": [UNKNOWN]}]) == {}


def test_a_resource_that_is_not_imitated_is_named_with_those_that_are() -> None:
    with pytest.raises(lives.NotImitated) as refused:
        lives.kind_of("urn:pulumi:s::p::aws:ec2/natGateway:NatGateway::x")
    assert refused.value.got == "aws:ec2/natGateway:NatGateway"
    assert "aws:ec2/vpc:Vpc" in refused.value.expected


def test_a_name_of_its_own_comes_from_the_engines_seed_and_stays() -> None:
    named, _ = lives.checked(GROUP, {}, {"vpcId": "vpc-1"}, b"seed")
    assert named["name"].startswith("nodes-")
    assert lives.checked(GROUP, {}, {}, b"other")[0]["name"] != named["name"]
    assert lives.checked(GROUP, named, {}, b"other")[0]["name"] == named["name"]
    assert lives.checked(GROUP, {}, {"name": "mine"}, b"seed")[0]["name"] == "mine"


def test_what_a_change_replaces() -> None:
    before = {"cidrBlock": "10.0.0.0/16", "enableDnsSupport": True}
    assert lives.difference(VPC, before, before).changed == ()
    moved = lives.difference(VPC, before, {**before, "cidrBlock": "10.1.0.0/16"})
    assert (moved.changed, moved.replacing) == (("cidrBlock",), ("cidrBlock",))
    tagged = lives.difference(VPC, before, {**before, "tags": {"a": "b"}})
    assert (tagged.changed, tagged.replacing) == (("tags",), ())


def test_a_preview_of_another_template_does_not_know_its_version() -> None:
    before = {"imageId": "ami-1", "latestVersion": 1, "__inputs": {"imageId": "ami-1"}}
    assert lives.foreseen(TEMPLATE, before, {"imageId": "ami-2"})["latestVersion"] == UNKNOWN
    assert lives.foreseen(TEMPLATE, before, {"imageId": "ami-1", "tags": {}})["latestVersion"] == 1


def test_drift_is_in_inputs_too_and_what_is_gone_is_none(aws: Clients) -> None:
    inputs = {"cidrBlock": "10.9.0.0/16", "enableDnsHostnames": True}
    name, _ = lives.create(aws, VPC, inputs)
    same = lives.read(aws, VPC, name, inputs)
    assert same is not None
    assert same[1] == inputs
    aws.ec2.modify_vpc_attribute(VpcId=name, EnableDnsHostnames={"Value": False})
    aws.ec2.create_tags(Resources=[name], Tags=[{"Key": "by", "Value": "hand"}])
    drifted = lives.read(aws, VPC, name, inputs)
    assert drifted is not None
    assert drifted[1] == {**inputs, "enableDnsHostnames": False, "tags": {"by": "hand"}}
    state = lives.update(aws, VPC, name, drifted[1], inputs)
    assert (state["enableDnsHostnames"], state["tagsAll"]) == (True, {})
    lives.delete(aws, VPC, name)
    lives.delete(aws, VPC, name)
    assert lives.read(aws, VPC, name, inputs) is None


def test_an_instance_profile_may_lose_its_role_and_get_another(aws: Clients) -> None:
    for role in ("one", "other"):
        aws.iam.create_role(RoleName=role, AssumeRolePolicyDocument="{}")
    name, _ = lives.create(aws, PROFILE, {"name": "p", "role": "one"})
    without = lives.update(aws, PROFILE, name, {"name": "p", "role": "one"}, {"name": "p"})
    assert without["role"] == ""
    assert lives.update(aws, PROFILE, name, {"name": "p"}, {"name": "p", "role": "other"})["role"] == "other"


def test_a_group_of_the_plugin_lets_nothing_out_until_a_rule_says_so(aws: Clients, net: Net) -> None:
    """As AWS's provider: it takes away the rule that EC2 gives each group."""
    group, _ = lives.create(aws, GROUP, {"name": "g", "vpcId": net.vpc, "description": "d"})
    wanted = [{"Name": "group-id", "Values": [group]}]
    assert aws.ec2.describe_security_group_rules(Filters=wanted)["SecurityGroupRules"] == []
    inputs = {"securityGroupId": group, "referencedSecurityGroupId": group, "ipProtocol": "-1"}
    rule, _ = lives.create(aws, RULE, inputs)
    found = lives.read(aws, RULE, rule, inputs)
    assert found is not None
    assert found[1] == inputs
    [one] = aws.ec2.describe_security_group_rules(Filters=wanted)["SecurityGroupRules"]
    assert one["ReferencedGroupInfo"]["GroupId"] == group


def test_a_subnet_and_its_zone(aws: Clients, net: Net) -> None:
    inputs = {"vpcId": net.vpc, "cidrBlock": "10.64.9.0/24", "availabilityZoneId": ZONE}
    _, state = lives.create(aws, SUBNET, inputs)
    assert (state["availabilityZoneId"], state["availabilityZone"]) == (ZONE, "us-east-1b")


@pytest.mark.parametrize("url", ["", "https://ec2.us-east-1.amazonaws.com", "http://127.0.0.1:1"])
def test_any_endpoint_but_the_labs_is_refused(cloud: Cloud, url: str) -> None:
    with pytest.raises(UsageError, match="the lab's own emulator alone") as refused:
        clients({"region": REGION}, {"AWS_ENDPOINT_URL": url}, frozenset({cloud.url}))
    assert refused.value.code == "LAB031"


def test_the_launcher_names_the_labs_endpoints_and_is_written_once(tmp_path: Path) -> None:
    assert install(tmp_path, ["http://127.0.0.1:1", "http://10.0.0.2:1"])
    script = launcher(tmp_path).read_text()
    assert "--lab-endpoint=http://127.0.0.1:1 --lab-endpoint=http://10.0.0.2:1 " in script
    assert launcher(tmp_path).stat().st_mode & 0o777 == 0o755
    assert not install(tmp_path, ["http://127.0.0.1:1", "http://10.0.0.2:1"])
    assert install(tmp_path, ["http://127.0.0.1:2"])


def test_a_launch_template_that_is_gone_is_deleted_once_more_without_harm(aws: Clients) -> None:
    name, _ = lives.create(aws, TEMPLATE, {"name": "pool", "imageId": "ami-0123456789abcdef0"})
    lives.delete(aws, TEMPLATE, name)
    assert lives.read(aws, TEMPLATE, name, {}) is None
    lives.delete(aws, TEMPLATE, name)
