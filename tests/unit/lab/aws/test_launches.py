"""RunInstances and its kin, each behaviour by AWS's rule for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (no types of its own)

from rackwright.lab.aws.emulation import Faults, MachineRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.ec2 import Client, Cloud
    from tests.unit.lab.aws.conftest import Net

AMI = "ami-0123456789abcdef0"
Params = dict[str, Any]


def launch(ec2: Client, net: Net, count: int = 1, /, **more: object) -> list[Params]:
    base: Params = {"ImageId": AMI, "InstanceType": "lab1.2rail", "MinCount": count, "MaxCount": count}
    if "NetworkInterfaces" not in more and "LaunchTemplate" not in more:
        base["SubnetId"] = net.subnet
    instances: list[Params] = ec2.run_instances(**{**base, **more})["Instances"]
    return instances


def nic(net: Net, card: int, device: int, kind: str = "interface", **more: object) -> Params:
    where = {"NetworkCardIndex": card, "DeviceIndex": device, "InterfaceType": kind}
    return {**where, "SubnetId": net.subnet, "Groups": [net.group], **more}


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return str(refused.value.response["Error"]["Code"])


def found(ec2: Client, *ids: str) -> list[Params]:
    answer = ec2.describe_instances(InstanceIds=list(ids))
    return [one for each in answer["Reservations"] for one in each["Instances"]]


def test_max_count_instances_start_where_there_is_capacity(ec2: Client, net: Net, cloud: Cloud) -> None:
    assert len(launch(ec2, net, MinCount=1, MaxCount=3)) == 3
    assert len(cloud.boxes.launched) == 3


def test_as_many_start_as_there_is_capacity_for_if_that_is_min_count(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    cloud.faults = Faults(capacity={"lab1.2rail": 2})
    assert len(launch(ec2, net, MinCount=1, MaxCount=3)) == 2


def test_below_min_count_nothing_starts_insufficient_instance_capacity(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    cloud.faults = Faults(capacity={"lab1.2rail": 1})
    assert code_of(lambda: launch(ec2, net, 2)) == "InsufficientInstanceCapacity"
    assert cloud.boxes.launched == []
    assert ec2.describe_instances()["Reservations"] == []


def test_min_count_above_max_count_is_invalid(ec2: Client, net: Net) -> None:
    assert code_of(lambda: launch(ec2, net, MinCount=2, MaxCount=1)) == "InvalidParameterValue"


def test_an_instance_is_pending_until_its_machine_answers(ec2: Client, net: Net, cloud: Cloud) -> None:
    [instance] = launch(ec2, net)
    assert instance["State"] == {"Code": 0, "Name": "pending"}
    assert found(ec2, instance["InstanceId"])[0]["State"]["Name"] == "pending"
    pending = [{"Name": "instance-state-name", "Values": ["pending"]}]
    assert len(ec2.describe_instances(Filters=pending)["Reservations"]) == 1
    cloud.boxes.all_on()
    assert found(ec2, instance["InstanceId"])[0]["State"] == {"Code": 16, "Name": "running"}
    assert ec2.describe_instances(Filters=pending)["Reservations"] == []


def test_a_running_instance_whose_machine_is_silent_fails_its_status_check(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    [instance] = launch(ec2, net)
    cloud.boxes.all_on()
    found(ec2, instance["InstanceId"])
    cloud.boxes.state = dict.fromkeys(cloud.boxes.state, "off")
    [status] = ec2.describe_instance_status(InstanceIds=[instance["InstanceId"]])["InstanceStatuses"]
    assert (status["InstanceState"]["Name"], status["InstanceStatus"]["Status"]) == ("running", "impaired")


def test_a_machine_that_does_not_start_is_a_terminated_instance_with_its_reason(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    cloud.boxes.refuse = MachineRefused("Server.InternalError", "no space")
    [instance] = launch(ec2, net)
    [after] = found(ec2, instance["InstanceId"])
    assert after["State"]["Name"] == "terminated"
    assert after["StateReason"] == {
        "Code": "Server.InternalError",
        "Message": "Server.InternalError: no space",
    }
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []


def test_a_machine_gets_what_its_instance_has(ec2: Client, net: Net, cloud: Cloud) -> None:
    tags = [{"ResourceType": "instance", "Tags": [{"Key": "rackwright:slot", "Value": "burst-001"}]}]
    data = "I2Nsb3VkLWNvbmZpZw=="
    [instance] = launch(
        ec2,
        net,
        UserData="#cloud-config",
        TagSpecifications=tags,
        NetworkInterfaces=[nic(net, 0, 0, PrivateIpAddress="10.64.0.20"), nic(net, 0, 1)],
    )
    [machine] = cloud.boxes.launched
    assert machine.instance == instance["InstanceId"]
    assert (machine.kind, machine.image, machine.user_data) == ("lab1.2rail", AMI, data)
    assert machine.tags == {"rackwright:slot": "burst-001"}
    shown = [(one["MacAddress"], one["PrivateIpAddress"]) for one in instance["NetworkInterfaces"]]
    assert [(one.mac, one.address) for one in machine.interfaces] == shown
    assert machine.interfaces[0].address == "10.64.0.20"


# Launch templates


def template(ec2: Client, name: str = "pool", **data: object) -> Params:
    made: Params = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    return {"LaunchTemplateId": made["LaunchTemplate"]["LaunchTemplateId"], "Version": "1"}


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


# Network interfaces


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


def test_the_address_of_a_terminated_instance_is_free_again(ec2: Client, net: Net) -> None:
    for _ in range(2):
        [instance] = launch(ec2, net, PrivateIpAddress="10.64.0.9")
        ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])


# Types, images, groups, reservations


def test_a_type_that_does_not_exist_is_invalid(ec2: Client, net: Net) -> None:
    assert code_of(lambda: launch(ec2, net, InstanceType="none.such")) == "InvalidParameterValue"


def test_a_type_that_is_not_offered_here_is_unsupported_and_a_dry_run_tells_nothing_of_it(
    ec2: Client, net: Net
) -> None:
    assert code_of(lambda: launch(ec2, net, InstanceType="p5.test")) == "Unsupported"
    assert code_of(lambda: launch(ec2, net, InstanceType="p5.test", DryRun=True)) == "DryRunOperation"


def test_types_of_the_lab_are_described_with_their_cards(ec2: Client) -> None:
    [kind] = ec2.describe_instance_types(InstanceTypes=["wide.8efa"])["InstanceTypes"]
    cards = kind["NetworkInfo"]["NetworkCards"]
    assert [one["MaximumNetworkInterfaces"] for one in cards] == [2, 2, 1]
    assert kind["NetworkInfo"]["EfaInfo"] == {"MaximumEfaInterfaces": 2}
    refused = code_of(lambda: ec2.describe_instance_types(InstanceTypes=["none.such"]))
    assert refused == "InvalidInstanceType"


def test_an_image_that_does_not_exist_is_not_found(ec2: Client, net: Net, cloud: Cloud) -> None:
    cloud.world.images = frozenset({AMI})
    assert code_of(lambda: launch(ec2, net, ImageId="ami-0000000000000000f")) == "InvalidAMIID.NotFound"
    launch(ec2, net)


def test_an_instance_profile_must_exist_and_is_shown(ec2: Client, net: Net, cloud: Cloud) -> None:
    wrong = {"IamInstanceProfile": {"Name": "none"}}
    assert code_of(lambda: launch(ec2, net, **wrong)) == "InvalidParameterValue"
    made = cloud.client("iam").create_instance_profile(InstanceProfileName="node")["InstanceProfile"]
    [instance] = launch(ec2, net, IamInstanceProfile={"Arn": made["Arn"]})
    assert instance["IamInstanceProfile"]["Arn"] == made["Arn"]


# Client tokens


def test_the_same_token_with_the_same_parameters_answers_with_the_same_instances(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    first = launch(ec2, net, 2, ClientToken="token")
    again = launch(ec2, net, 2, ClientToken="token")
    assert [one["InstanceId"] for one in again] == [one["InstanceId"] for one in first]
    own = {"PrivateIpAddress": "10.64.0.9", "ClientToken": "its own address is no other's"}
    assert launch(ec2, net, **own)[0]["InstanceId"] == launch(ec2, net, **own)[0]["InstanceId"]
    assert len(cloud.boxes.launched) == 3


def test_the_same_token_with_other_parameters_is_a_mismatch(ec2: Client, net: Net) -> None:
    launch(ec2, net, 2, ClientToken="token")
    assert code_of(lambda: launch(ec2, net, 1, ClientToken="token")) == "IdempotentParameterMismatch"


def test_a_token_whose_instance_was_terminated_is_not_used_again(ec2: Client, net: Net) -> None:
    [first, _] = launch(ec2, net, 2, ClientToken="token")
    ec2.terminate_instances(InstanceIds=[first["InstanceId"]])
    refused = code_of(lambda: launch(ec2, net, 2, ClientToken="token"))
    assert refused == "IdempotentInstanceTerminated"


def test_a_token_holds_for_a_zone_and_launches_again_in_another(ec2: Client, net: Net, cloud: Cloud) -> None:
    launch(ec2, net, ClientToken="token")
    other = ec2.create_subnet(VpcId=net.vpc, CidrBlock="10.64.1.0/24", AvailabilityZoneId="use1-az2")
    launch(ec2, net, ClientToken="token", SubnetId=other["Subnet"]["SubnetId"])
    assert len(cloud.boxes.launched) == 2


def test_a_token_of_65_characters_is_invalid(ec2: Client, net: Net) -> None:
    launch(ec2, net, ClientToken="t" * 64)
    assert code_of(lambda: launch(ec2, net, ClientToken="t" * 65)) == "InvalidParameterValue"


def test_instances_are_found_by_their_token(ec2: Client, net: Net) -> None:
    [one] = launch(ec2, net, ClientToken="mine")
    launch(ec2, net, ClientToken="other")
    chosen = ec2.describe_instances(Filters=[{"Name": "client-token", "Values": ["mine"]}])
    assert [each["InstanceId"] for r in chosen["Reservations"] for each in r["Instances"]] == [
        one["InstanceId"]
    ]


# Dry run, visibility, consoles, termination


def test_a_dry_run_checks_all_and_starts_nothing(ec2: Client, net: Net, cloud: Cloud) -> None:
    assert code_of(lambda: launch(ec2, net, DryRun=True)) == "DryRunOperation"
    over = [nic(net, 0, 0), nic(net, 2, 1)]
    refused = code_of(lambda: launch(ec2, net, DryRun=True, InstanceType="wide.8efa", NetworkInterfaces=over))
    assert refused == "AttachmentLimitExceeded"
    assert cloud.boxes.launched == []
    assert not cloud.journal.read_text().count("RunInstances")


def test_a_new_instance_is_not_found_for_a_moment(ec2: Client, net: Net, cloud: Cloud) -> None:
    cloud.world.visible_after_s = 3600
    [instance] = launch(ec2, net)
    assert code_of(lambda: found(ec2, instance["InstanceId"])) == "InvalidInstanceID.NotFound"
    assert ec2.describe_instances()["Reservations"] == []
    cloud.world.visible_after_s = 0
    [other] = launch(ec2, net)
    assert [one["InstanceId"] for one in found(ec2, other["InstanceId"])] == [other["InstanceId"]]


def test_the_console_is_what_the_machine_has_printed(ec2: Client, net: Net, cloud: Cloud) -> None:
    [instance] = launch(ec2, net)
    assert ec2.get_console_output(InstanceId=instance["InstanceId"])["Output"] == ""
    cloud.boxes.printed[instance["InstanceId"]] = "-----BEGIN SSH HOST KEY KEYS-----\n"
    answer = ec2.get_console_output(InstanceId=instance["InstanceId"])
    assert answer["Output"] == "-----BEGIN SSH HOST KEY KEYS-----\n"


def test_a_terminated_instance_loses_its_machine_interfaces_and_volumes_and_stays_described(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    wanted = [nic(net, 0, 0), nic(net, 0, 1)]
    [instance] = launch(ec2, net, NetworkInterfaces=wanted)
    [change] = ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])["TerminatingInstances"]
    assert (change["PreviousState"]["Name"], change["CurrentState"]["Name"]) == ("pending", "shutting-down")
    assert cloud.boxes.terminated == [instance["InstanceId"]]
    [after] = found(ec2, instance["InstanceId"])
    assert (after["State"]["Name"], after["NetworkInterfaces"]) == ("terminated", [])
    assert "PrivateIpAddress" not in after
    assert ec2.describe_network_interfaces()["NetworkInterfaces"] == []
    assert ec2.describe_volumes()["Volumes"] == []


def test_an_interface_that_is_not_deleted_on_termination_stays(ec2: Client, net: Net) -> None:
    [instance] = launch(ec2, net, NetworkInterfaces=[nic(net, 0, 0, DeleteOnTermination=False)])
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    [left] = ec2.describe_network_interfaces()["NetworkInterfaces"]
    assert left["Status"] == "available"


def test_terminating_again_is_no_error_and_an_unknown_id_stops_all(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    [instance] = launch(ec2, net)
    both = [instance["InstanceId"], "i-0123456789abcdef0"]
    assert code_of(lambda: ec2.terminate_instances(InstanceIds=both)) == "InvalidInstanceID.NotFound"
    assert cloud.boxes.terminated == []
    for _ in range(2):
        ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert found(ec2, instance["InstanceId"])[0]["State"]["Name"] == "terminated"


def test_a_subnet_with_interfaces_in_it_is_not_deleted(ec2: Client, net: Net) -> None:
    launch(ec2, net)
    assert code_of(lambda: ec2.delete_subnet(SubnetId=net.subnet)) == "DependencyViolation"


def test_a_group_with_interfaces_in_it_is_not_deleted(ec2: Client, net: Net) -> None:
    launch(ec2, net, NetworkInterfaces=[nic(net, 0, 0)])
    assert code_of(lambda: ec2.delete_security_group(GroupId=net.group)) == "DependencyViolation"
