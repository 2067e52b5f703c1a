"""Launch templates, interfaces and addresses of a launch, each behaviour by AWS's rule for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.doubles.ec2_calls import AMI, code_of, launch, nic, template

if TYPE_CHECKING:
    from tests.doubles.ec2 import Client, Cloud
    from tests.unit.lab.aws.conftest import Net


def test_an_instance_has_all_that_its_launch_template_says(ec2: Client, net: Net, cloud: Cloud) -> None:
    tags = [
        {"ResourceType": of, "Tags": [{"Key": "pool", "Value": "burst"}]}
        for of in ("instance", "network-interface", "volume")
    ]
    from_template = template(
        ec2,
        ImageId=AMI,
        InstanceType="wide.8efa",
        UserData="aGVsbG8=",
        TagSpecifications=tags,
        NetworkInterfaces=[nic(net, 0, 0), nic(net, 0, 1, "efa-only"), nic(net, 1, 0, "efa")],
    )
    [instance] = ec2.run_instances(LaunchTemplate=from_template, MinCount=1, MaxCount=1)["Instances"]
    interfaces = instance["NetworkInterfaces"]
    assert [
        (one["Attachment"]["NetworkCardIndex"], one["Attachment"]["DeviceIndex"], one["InterfaceType"])
        for one in interfaces
    ] == [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa")]
    assert {one["SubnetId"] for one in interfaces} == {net.subnet}
    assert {group["GroupId"] for one in interfaces for group in one["Groups"]} == {net.group}
    assert (instance["ImageId"], instance["InstanceType"]) == (AMI, "wide.8efa")
    assert cloud.boxes.launched[0].user_data == "aGVsbG8="
    own = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert own == {
        "pool": "burst",
        "aws:ec2launchtemplate:id": from_template["LaunchTemplateId"],
        "aws:ec2launchtemplate:version": "1",
    }
    described = ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert {tag["Value"] for one in described for tag in one["TagSet"]} == {"burst"}
    assert sorted(one["InterfaceType"] for one in described) == ["efa", "efa-only", "interface"]
    volumes = ec2.describe_volumes()["Volumes"]
    assert [tag["Value"] for one in volumes for tag in one["Tags"]] == ["burst"]


def test_parameters_of_the_request_override_those_of_the_template(ec2: Client, net: Net) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "1"}]}]
    over = [{"ResourceType": "instance", "Tags": [{"Key": "b", "Value": "2"}]}]
    from_template = template(
        ec2, ImageId=AMI, InstanceType="wide.8efa", NetworkInterfaces=[nic(net, 0, 0)], TagSpecifications=tags
    )
    [instance] = launch(
        ec2,
        net,
        LaunchTemplate=from_template,
        InstanceType="lab1.2rail",
        TagSpecifications=over,
        NetworkInterfaces=[nic(net, 0, 0, PrivateIpAddress="10.64.0.40")],
    )
    own = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
    assert (own["a"], own["b"], instance["InstanceType"]) == ("1", "2", "lab1.2rail")
    assert instance["PrivateIpAddress"] == "10.64.0.40"


def test_a_version_that_does_not_exist_is_not_found(ec2: Client, net: Net) -> None:
    old = template(ec2, ImageId=AMI, InstanceType="lab1.2rail", NetworkInterfaces=[nic(net, 0, 0)])
    refused = code_of(lambda: launch(ec2, net, LaunchTemplate={**old, "Version": "7"}))
    assert refused == "InvalidLaunchTemplateId.VersionNotFound"


def test_a_device_index_is_below_the_limit_of_its_card(ec2: Client, net: Net) -> None:
    wide = {"InstanceType": "wide.8efa"}
    over = [nic(net, 0, 0), nic(net, 2, 1)]
    assert code_of(lambda: launch(ec2, net, **wide, NetworkInterfaces=over)) == "AttachmentLimitExceeded"
    launch(ec2, net, **wide, NetworkInterfaces=[nic(net, 0, 0), nic(net, 2, 0)])


@pytest.mark.parametrize(
    ("interfaces", "code"),
    [
        ([(0, 0, "interface"), (3, 0, "interface")], "InvalidParameterValue"),
        ([(0, 0, "interface"), (0, 0, "interface")], "InvalidParameterValue"),
        ([(0, 1, "interface")], "InvalidParameterCombination"),
        ([(0, 0, "efa-only")], "InvalidParameterCombination"),
        ([(0, 0, "interface"), (2, 0, "efa")], "InvalidParameterCombination"),
        ([(0, 0, "efa"), (0, 1, "efa-only")], "InvalidParameterCombination"),
        ([(0, 0, "trunk")], "InvalidParameterValue"),
    ],
    ids=[
        "no such card",
        "one place twice",
        "no primary interface",
        "efa-only is never primary",
        "a card without EFA",
        "one EFA a card",
        "no such type",
    ],
)
def test_what_ec2_refuses_of_interfaces(
    ec2: Client, net: Net, interfaces: list[tuple[int, int, str]], code: str
) -> None:
    wanted = [nic(net, *one) for one in interfaces]
    assert code_of(lambda: launch(ec2, net, InstanceType="wide.8efa", NetworkInterfaces=wanted)) == code


def test_several_interfaces_exclude_a_public_address(ec2: Client, net: Net) -> None:
    wanted = [nic(net, 0, 0, AssociatePublicIpAddress=True), nic(net, 0, 1)]
    refused = code_of(lambda: launch(ec2, net, NetworkInterfaces=wanted))
    assert refused == "InvalidParameterCombination"


@pytest.mark.parametrize("name", ["SubnetId", "SecurityGroupIds", "PrivateIpAddress"])
def test_interfaces_exclude_the_same_at_the_instance(ec2: Client, net: Net, name: str) -> None:
    value = {"SubnetId": net.subnet, "SecurityGroupIds": [net.group], "PrivateIpAddress": "10.64.0.9"}[name]
    refused = code_of(lambda: launch(ec2, net, NetworkInterfaces=[nic(net, 0, 0)], **{name: value}))
    assert refused == "InvalidParameterCombination"


def test_an_efa_only_interface_has_no_address(ec2: Client, net: Net) -> None:
    wanted = [nic(net, 0, 0), nic(net, 0, 1, "efa-only")]
    [instance] = launch(ec2, net, InstanceType="wide.8efa", NetworkInterfaces=wanted)
    _, second = instance["NetworkInterfaces"]
    assert "PrivateIpAddress" not in second


def test_groups_are_those_of_the_interface(ec2: Client, net: Net) -> None:
    other = ec2.create_security_group(VpcId=net.vpc, GroupName="rails", Description="rails")["GroupId"]
    wanted = [nic(net, 0, 0), nic(net, 0, 1, Groups=[other])]
    [instance] = launch(ec2, net, NetworkInterfaces=wanted)
    groups = [[one["GroupId"] for one in each["Groups"]] for each in instance["NetworkInterfaces"]]
    assert groups == [[net.group], [other]]
    assert [one["GroupId"] for one in instance["SecurityGroups"]] == [net.group]


def test_a_group_that_does_not_exist_is_not_found(ec2: Client, net: Net) -> None:
    wanted = [nic(net, 0, 0, Groups=["sg-0123456789abcdef0"])]
    assert code_of(lambda: launch(ec2, net, NetworkInterfaces=wanted)) == "InvalidGroup.NotFound"


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("10.65.0.9", "InvalidParameterValue"),
        ("10.64.0.3", "InvalidParameterValue"),
        ("10.64.0.255", "InvalidParameterValue"),
        ("10.64.0.77", "InvalidIPAddress.InUse"),
    ],
    ids=["outside the subnet", "one of the first four", "the last one", "in use"],
)
def test_what_ec2_refuses_of_addresses(ec2: Client, net: Net, address: str, code: str) -> None:
    launch(ec2, net, PrivateIpAddress="10.64.0.77")
    assert code_of(lambda: launch(ec2, net, PrivateIpAddress=address)) == code


def test_one_address_is_not_for_several_instances(ec2: Client, net: Net) -> None:
    refused = code_of(lambda: launch(ec2, net, 2, PrivateIpAddress="10.64.0.9"))
    assert refused == "InvalidParameterCombination"


def test_one_address_is_not_for_several_interfaces(ec2: Client, net: Net, cloud: Cloud) -> None:
    both = [nic(net, 0, number, PrivateIpAddress="10.64.0.9") for number in range(2)]
    assert code_of(lambda: launch(ec2, net, NetworkInterfaces=both)) == "InvalidIPAddress.InUse"
    assert cloud.boxes.launched == []
    launch(ec2, net, PrivateIpAddress="10.64.0.9")


def test_addresses_that_were_given_back_are_given_out_in_an_order_that_a_replay_has_too(
    ec2: Client, net: Net
) -> None:
    names = [instance["InstanceId"] for instance in launch(ec2, net, 8)]
    ec2.terminate_instances(InstanceIds=names)
    again = [instance["PrivateIpAddress"] for instance in launch(ec2, net, 8)]
    assert again == [f"10.64.0.{number}" for number in range(4, 12)]


def test_the_address_of_a_terminated_instance_is_free_again(ec2: Client, net: Net) -> None:
    for _ in range(2):
        [instance] = launch(ec2, net, PrivateIpAddress="10.64.0.9")
        ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])


def test_tags_of_a_template_itself_are_no_part_of_what_it_launches_and_can_be_changed(ec2: Client) -> None:
    own = [{"ResourceType": "launch-template", "Tags": [{"Key": "a", "Value": "1"}]}]
    made = ec2.create_launch_template(
        LaunchTemplateName="pool", LaunchTemplateData={"ImageId": AMI}, TagSpecifications=own
    )["LaunchTemplate"]
    ec2.create_tags(Resources=[made["LaunchTemplateId"]], Tags=[{"Key": "a", "Value": "2"}])
    [version] = ec2.describe_launch_template_versions(
        LaunchTemplateId=made["LaunchTemplateId"], Versions=["$Latest"]
    )["LaunchTemplateVersions"]
    [template] = ec2.describe_launch_templates()["LaunchTemplates"]
    assert version["LaunchTemplateData"] == {"ImageId": AMI}
    assert template["Tags"] == [{"Key": "a", "Value": "2"}]
