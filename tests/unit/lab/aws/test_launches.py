"""RunInstances and its kin, each behaviour by AWS's rule for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.aws.emulation import Faults, MachineRefused
from tests.doubles.ec2_calls import AMI, code_of, found, launch, nic

if TYPE_CHECKING:
    from tests.doubles.ec2 import Client, Cloud
    from tests.unit.lab.aws.conftest import Net


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


def test_one_that_is_protected_from_termination_stops_all_before_a_machine_goes(
    ec2: Client, net: Net, cloud: Cloud
) -> None:
    [free], [kept] = launch(ec2, net), launch(ec2, net, DisableApiTermination=True)
    both = [free["InstanceId"], kept["InstanceId"]]
    assert code_of(lambda: ec2.terminate_instances(InstanceIds=both)) == "OperationNotPermitted"
    assert cloud.boxes.terminated == []
    assert found(ec2, free["InstanceId"])[0]["State"]["Name"] == "pending"
    refused = code_of(lambda: ec2.terminate_instances(InstanceIds=both, DryRun=True))
    assert refused == "OperationNotPermitted"


def test_a_subnet_with_interfaces_in_it_is_not_deleted(ec2: Client, net: Net) -> None:
    launch(ec2, net)
    assert code_of(lambda: ec2.delete_subnet(SubnetId=net.subnet)) == "DependencyViolation"


def test_a_group_with_interfaces_in_it_is_not_deleted(ec2: Client, net: Net) -> None:
    launch(ec2, net, NetworkInterfaces=[nic(net, 0, 0)])
    assert code_of(lambda: ec2.delete_security_group(GroupId=net.group)) == "DependencyViolation"
