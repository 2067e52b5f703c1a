"""The plugin of package `aws` under the real engine: a small network, from nothing to nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.aws.plugin.install import install
from rackwright.provision.places import engine
from tests.doubles.ec2 import ACCOUNT, ZONE, Cloud, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROGRAM = f"""
import json

import pulumi
import pulumi_aws as aws

lab = aws.Provider("lab", region="us-east-1", allowed_account_ids=["{ACCOUNT}"])
own = pulumi.ResourceOptions(provider=lab)
vpc = aws.ec2.Vpc(
    "vpc", cidr_block="10.64.0.0/16", enable_dns_hostnames=True, tags={{"owner": "ml"}}, opts=own,
)
subnet = aws.ec2.Subnet(
    "nodes", vpc_id=vpc.id, cidr_block="10.64.0.0/24", availability_zone_id="{ZONE}",
    map_public_ip_on_launch=False, opts=own,
)
group = aws.ec2.SecurityGroup("nodes", description="nodes", vpc_id=vpc.id, opts=own)
aws.vpc.SecurityGroupIngressRule(
    "within", security_group_id=group.id, referenced_security_group_id=group.id, ip_protocol="-1", opts=own,
)
aws.vpc.SecurityGroupEgressRule(
    "out", security_group_id=group.id, cidr_ipv4="0.0.0.0/0", ip_protocol="-1", opts=own,
)
table = aws.ec2.RouteTable("nodes", vpc_id=vpc.id, opts=own)
aws.ec2.RouteTableAssociation("nodes", route_table_id=table.id, subnet_id=subnet.id, opts=own)
aws.ec2.VpcEndpoint(
    "s3", vpc_id=vpc.id, service_name="com.amazonaws.us-east-1.s3", vpc_endpoint_type="Gateway",
    route_table_ids=[table.id], opts=own,
)
gateway = aws.ec2.VpnGateway("links", vpc_id=vpc.id, opts=own)
aws.ec2.Route(
    "hall", route_table_id=table.id, destination_cidr_block="10.77.0.0/16", gateway_id=gateway.id, opts=own,
)
def document(action, **more):
    statement = {{"Effect": "Allow", "Action": action, **more}}
    return json.dumps({{"Version": "2012-10-17", "Statement": [statement]}})


trust = document("sts:AssumeRole", Principal={{"Service": "ec2.amazonaws.com"}})
role = aws.iam.Role("nodes", assume_role_policy=trust, opts=own)
policy = document("ec2:Describe*", Resource="*")
aws.iam.RolePolicy("nodes", role=role.id, policy=policy, opts=own)
profile = aws.iam.InstanceProfile("nodes", role=role.name, opts=own)
close = aws.ec2.PlacementGroup("close", strategy="cluster", opts=own)
template = aws.ec2.LaunchTemplate(
    "pool",
    image_id="ami-0123456789abcdef0",
    instance_type=pulumi.Config().get("type") or "wide.8efa",
    iam_instance_profile=aws.ec2.LaunchTemplateIamInstanceProfileArgs(name=profile.name),
    network_interfaces=[
        aws.ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=card, device_index=device, interface_type=kind, subnet_id=subnet.id,
            security_groups=[group.id], delete_on_termination="true",
        )
        for card, device, kind in ((0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa"))
    ],
    placement=aws.ec2.LaunchTemplatePlacementArgs(group_name=close.name),
    metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(http_tokens="required"),
    tag_specifications=[
        aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type="instance", tags={{"pool": "burst"}}),
    ],
    user_data="aGVsbG8=",
    update_default_version=True,
    tags={{"Name": "pool"}},
    opts=own,
)
pulumi.export("template", template.id)
pulumi.export("version", template.latest_version)
"""


class Project:
    """A Pulumi project of its own, with the plugin in its own home."""

    def __init__(self, folder: Path, cloud: Cloud, program: str = _PROGRAM) -> None:
        self.cloud = cloud
        self.folder = folder
        (folder / "Pulumi.yaml").write_text("name: small\nruntime: python\n")
        (folder / "__main__.py").write_text(program)
        (folder / "backend").mkdir()
        install(folder / "home", [cloud.url])
        path = os.pathsep.join(map(str, (os.path.dirname(sys.executable), engine(), os.environ["PATH"])))  # noqa: PTH120 (a folder's name)
        self.environment = {
            **os.environ,
            **cloud.environment(),
            "PATH": path,
            "PULUMI_HOME": str(folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'backend'}",
            "PULUMI_CONFIG_PASSPHRASE": "small",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_CREDENTIAL_STORE": "plaintext",
        }
        self.run("stack", "init", "small")

    def run(self, *words: str, fails: bool = False, **environment: str) -> str:
        done = subprocess.run(
            ["pulumi", *words, "--non-interactive", "--cwd", str(self.folder)],
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def changes(self, command: str) -> dict[str, int]:
        """What a preview of a command would do."""
        told: dict[str, int] = json.loads(self.run(command, "--json"))["changeSummary"]
        return {word: count for word, count in told.items() if word != "same"}

    def resources(self) -> dict[str, Any]:
        deployed = json.loads(self.run("stack", "export"))["deployment"]["resources"]
        return {
            one["urn"].rpartition("$")[2] if "$" in one["urn"] else "::".join(one["urn"].split("::")[2:]): one
            for one in deployed
        }


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with served(tmp_path) as cloud:
        yield cloud


@pytest.fixture
def project(cloud: Cloud, tmp_path: Path) -> Project:
    folder = tmp_path / "project"
    folder.mkdir()
    return Project(folder, cloud)


def world(cloud: Cloud) -> dict[str, Any]:
    """All that a program could leave behind."""
    ec2 = cloud.client()
    endpoints = ec2.describe_vpc_endpoints()["VpcEndpoints"]
    return {
        "vpcs": [one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"]],
        "subnets": [one["SubnetId"] for one in ec2.describe_subnets()["Subnets"]],
        "groups": [one["GroupId"] for one in ec2.describe_security_groups()["SecurityGroups"]],
        "tables": [one["RouteTableId"] for one in ec2.describe_route_tables()["RouteTables"]],
        "endpoints": [one["VpcEndpointId"] for one in endpoints if one["State"] != "deleted"],
        "templates": ec2.describe_launch_templates()["LaunchTemplates"],
        "placement": ec2.describe_placement_groups()["PlacementGroups"],
        "gateways": [
            one["VpnGatewayId"]
            for one in ec2.describe_vpn_gateways()["VpnGateways"]
            if one["State"] != "deleted"
        ],
    }


@pytest.mark.slow
@pytest.mark.engine
def test_from_nothing_to_nothing_with_drift_on_the_way(project: Project, cloud: Cloud) -> None:
    before = world(cloud)
    assert project.changes("preview") == {"create": 17}
    project.run("up", "--yes", "--skip-preview")
    project.run("up", "--yes", "--skip-preview", "--expect-no-changes", "--refresh")

    ec2 = cloud.client()
    outputs = json.loads(project.run("stack", "output", "--json"))
    [version] = ec2.describe_launch_template_versions(
        LaunchTemplateId=outputs["template"], Versions=[str(outputs["version"])]
    )["LaunchTemplateVersions"]
    cards = [
        (one["NetworkCardIndex"], one["DeviceIndex"], one["InterfaceType"])
        for one in version["LaunchTemplateData"]["NetworkInterfaces"]
    ]
    assert cards == [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa")]

    # Drift: by hand, one rule goes, the VPC gets a tag and another attribute.
    [rule] = [
        one
        for one in ec2.describe_security_group_rules()["SecurityGroupRules"]
        if "ReferencedGroupInfo" in one
    ]
    ec2.revoke_security_group_ingress(
        GroupId=rule["GroupId"], SecurityGroupRuleIds=[rule["SecurityGroupRuleId"]]
    )
    [vpc] = [one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"] if not one["IsDefault"]]
    ec2.modify_vpc_attribute(VpcId=vpc, EnableDnsHostnames={"Value": False})
    ec2.create_tags(Resources=[vpc], Tags=[{"Key": "by", "Value": "hand"}])
    project.run("refresh", "--yes", "--skip-preview")
    assert project.changes("preview") == {"create": 1, "update": 1}
    project.run("up", "--yes", "--skip-preview")
    assert ec2.describe_vpc_attribute(VpcId=vpc, Attribute="enableDnsHostnames")["EnableDnsHostnames"][
        "Value"
    ]
    [found] = ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"]
    assert found["Tags"] == [{"Key": "owner", "Value": "ml"}]

    # The emulator dies and comes again: nothing has another id.
    cloud.begin()
    project.run("up", "--yes", "--skip-preview", "--expect-no-changes", "--refresh")

    # Another type is another version of the same template, and the default follows.
    project.run("config", "set", "type", "lab1.2rail")
    project.run("up", "--yes", "--skip-preview")
    after = json.loads(project.run("stack", "output", "--json"))
    assert (after["template"], after["version"]) == (outputs["template"], 2)
    [template] = ec2.describe_launch_templates()["LaunchTemplates"]
    assert template["DefaultVersionNumber"] == 2

    project.run("destroy", "--yes", "--skip-preview")
    assert world(cloud) == before


@pytest.mark.engine
def test_any_endpoint_but_the_labs_is_refused_before_anything(project: Project, cloud: Cloud) -> None:
    for url in ("https://ec2.us-east-1.amazonaws.com", ""):
        told = project.run("preview", fails=True, AWS_ENDPOINT_URL=url)
        assert "LAB031" in told
        assert cloud.url in told


@pytest.mark.engine
@pytest.mark.parametrize(
    ("program", "words"),
    [
        ('aws.ec2.NatGateway("x", subnet_id="subnet-1")', "aws:ec2/natGateway:NatGateway"),
        ('aws.ec2.Vpc("x", cidr_block="10.0.0.0/16", instance_tenancy="dedicated")', "Vpc.instanceTenancy"),
        ("aws.ec2.get_vpc(default=True)", "aws:ec2/getVpc:getVpc"),
        ('aws.Provider("x", region="us-east-1", profile="real")', "profile"),
        (
            'aws.ec2.Vpc("x", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(provider=other))',
            "AWS account ID not allowed",
        ),
    ],
    ids=["resource", "input", "function", "provider", "account"],
)
def test_what_is_not_imitated_fails_by_its_name(
    cloud: Cloud, tmp_path: Path, program: str, words: str
) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    other = 'other = aws.Provider("p", region="us-east-1", allowed_account_ids=["000000000000"])'
    head = f"import pulumi\nimport pulumi_aws as aws\n{other if 'other' in program else ''}\n"
    project = Project(folder, cloud, f"{head}{program}\n")
    assert words in project.run("up", "--yes", "--skip-preview", fails=True)
