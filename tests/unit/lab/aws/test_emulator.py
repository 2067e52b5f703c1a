"""The emulator as a whole: who is let in, what is refused by name, and what outlives its death."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (no types of its own)

from rackwright.lab.aws.calls import ANSWERED, DRY_RUN, changes
from rackwright.lab.aws.emulation import Faults, MachineRefused
from rackwright.lab.aws.emulator import LabEc2
from tests.doubles.ec2 import ZONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.ec2 import Client, Cloud
    from tests.unit.lab.aws.conftest import Net

BASE = {"ImageId": "ami-0123456789abcdef0", "InstanceType": "lab1.2rail"}


def test_a_call_that_is_not_imitated_is_an_unsupported_operation_of_its_name(ec2: Client) -> None:
    with pytest.raises(ClientError, match="ec2: CreateNatGateway") as refused:
        ec2.create_nat_gateway(SubnetId="subnet-1", ConnectivityType="private")
    assert refused.value.response["Error"]["Code"] == "UnsupportedOperation"


def test_a_dry_run_changes_nothing_or_is_refused_by_name(cloud: Cloud, ec2: Client, net: Net) -> None:
    before = cloud.journal.read_text()
    asked: dict[str, Callable[[], object]] = {
        "CreateVpc with DryRun": lambda: ec2.create_vpc(CidrBlock="10.9.0.0/16", DryRun=True),
        "DeleteSubnet with DryRun": lambda: ec2.delete_subnet(SubnetId=net.subnet, DryRun=True),
    }
    for words, call in asked.items():
        with pytest.raises(ClientError, match=f"UnsupportedOperation.*{words}"):
            call()
    reserve = {"InstanceType": "lab1.2rail", "InstancePlatform": "Linux/UNIX", "InstanceCount": 1}
    made = ec2.create_capacity_reservation(**reserve, AvailabilityZoneId=ZONE)["CapacityReservation"]
    name = made["CapacityReservationId"]
    with pytest.raises(ClientError, match="DryRunOperation"):
        ec2.cancel_capacity_reservation(CapacityReservationId=name, DryRun=True)
    assert len(ec2.describe_capacity_reservations()["CapacityReservations"]) == 1
    assert [vpc["CidrBlock"] for vpc in ec2.describe_vpcs()["Vpcs"]].count("10.9.0.0/16") == 0
    assert [subnet["SubnetId"] for subnet in ec2.describe_subnets()["Subnets"]].count(net.subnet) == 1
    assert len(cloud.journal.read_text().splitlines()) == len(before.splitlines()) + 2, "the one reservation"


def test_calls_that_are_said_to_dry_run_are_those_that_ask_for_it() -> None:
    """By moto's source: a newer moto may have more of them, or fewer."""
    named = {call for call in ANSWERED["ec2"] if changes(call) and _stops_short(call)}
    assert named == DRY_RUN


def _stops_short(call: str) -> bool:
    method = re.sub(r"(?<!^)(?=[A-Z])", "_", call).lower()
    parts = [kind.__dict__[method] for kind in LabEc2.__mro__ if method in kind.__dict__]
    return any("error_on_dryrun" in inspect.getsource(part) for part in parts)


@pytest.mark.parametrize("service", ["s3", "ssm", "fsx", "dynamodb"])
def test_no_other_service_is_answered(cloud: Cloud, service: str) -> None:
    calls = {"s3": "list_buckets", "ssm": "describe_parameters", "fsx": "describe_file_systems"}
    with pytest.raises(ClientError) as refused:
        getattr(cloud.client(service), calls.get(service, "list_tables"))()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_the_account_is_told(cloud: Cloud) -> None:
    assert cloud.client("sts").get_caller_identity()["Account"] == "123456789012"


@pytest.mark.parametrize(("service", "code"), [("ec2", "AuthFailure"), ("sts", "InvalidClientTokenId")])
def test_credentials_of_nobody_are_refused(cloud: Cloud, service: str, code: str) -> None:
    client = cloud.client(service, key="SOMEBODYELSE")
    with pytest.raises(ClientError) as refused:
        client.describe_vpcs() if service == "ec2" else client.get_caller_identity()
    assert refused.value.response["Error"]["Code"] == code


def test_each_third_call_is_throttled_and_a_client_that_waits_comes_through(
    cloud: Cloud, ec2: Client
) -> None:
    cloud.faults = Faults(throttled_every=3)
    told = []
    for _ in range(6):
        try:
            ec2.describe_vpcs()
            told.append("")
        except ClientError as refused:
            told.append(refused.response["Error"]["Code"])
    assert told == ["", "", "RequestLimitExceeded"] * 2
    patient = cloud.client(attempts=3)
    for _ in range(6):
        patient.describe_vpcs()


def test_a_call_that_was_throttled_has_changed_nothing(cloud: Cloud, ec2: Client) -> None:
    before = cloud.journal.read_text() if cloud.journal.exists() else ""
    cloud.faults = Faults(throttled_every=1)
    with pytest.raises(ClientError):
        ec2.create_vpc(CidrBlock="10.1.0.0/16")
    assert (cloud.journal.read_text() if cloud.journal.exists() else "") == before


def everything(cloud: Cloud) -> dict[str, Any]:
    """What clients see, without request ids and times that moto does not keep."""
    ec2 = cloud.client()
    reservations = ec2.describe_instances()["Reservations"]
    instances = [one for each in reservations for one in each["Instances"]]
    templates = ec2.describe_launch_template_versions(Versions=["$Latest"])["LaunchTemplateVersions"]
    return {
        "vpcs": ec2.describe_vpcs()["Vpcs"],
        "subnets": ec2.describe_subnets()["Subnets"],
        "groups": ec2.describe_security_groups()["SecurityGroups"],
        "rules": ec2.describe_security_group_rules()["SecurityGroupRules"],
        "placement": ec2.describe_placement_groups()["PlacementGroups"],
        "instances": instances,
        "interfaces": [
            {name: value for name, value in one.items() if name != "Attachment"}
            for one in ec2.describe_network_interfaces()["NetworkInterfaces"]
        ],
        "templates": [{**one, "CreateTime": None} for one in templates],
    }


def fill(cloud: Cloud, net: Net) -> None:
    ec2 = cloud.client()
    ec2.create_placement_group(GroupName="close", Strategy="cluster")
    ec2.authorize_security_group_ingress(
        GroupId=net.group,
        IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": net.group}]}],
    )
    data = {**BASE, "Placement": {"GroupName": "close"}}
    name = ec2.create_launch_template(LaunchTemplateName="pool", LaunchTemplateData=data)["LaunchTemplate"]
    for number in range(3):
        ec2.run_instances(
            LaunchTemplate={"LaunchTemplateId": name["LaunchTemplateId"]},
            MinCount=1,
            MaxCount=1,
            NetworkInterfaces=[
                {"DeviceIndex": device, "SubnetId": net.subnet, "Groups": [net.group]} for device in (0, 1)
            ],
            ClientToken=f"slot-{number}",
        )


def test_what_there_is_outlives_the_emulator_with_its_ids_and_no_machine_is_touched(
    cloud: Cloud, net: Net
) -> None:
    ec2 = cloud.client()
    fill(cloud, net)
    gone = ec2.describe_instances()["Reservations"][1]["Instances"][0]["InstanceId"]
    ec2.terminate_instances(InstanceIds=[gone])
    with pytest.raises(ClientError):
        ec2.delete_subnet(SubnetId=net.subnet)
    cloud.boxes.all_on()
    before = everything(cloud)
    launched, terminated = list(cloud.boxes.launched), list(cloud.boxes.terminated)
    cloud.begin()
    assert everything(cloud) == before
    assert (cloud.boxes.launched, cloud.boxes.terminated) == (launched, terminated)
    assert [one["State"]["Name"] for one in before["instances"]] == ["running", "terminated", "running"]


def test_it_does_not_matter_whether_the_first_call_was_a_question(cloud: Cloud) -> None:
    default = cloud.client().describe_vpcs()["Vpcs"]
    cloud.client().create_vpc(CidrBlock="10.64.0.0/16")
    role = {"RoleName": "nodes", "AssumeRolePolicyDocument": "{}"}
    made = cloud.client("iam").create_role(**role)["Role"]["RoleId"]
    before = cloud.client().describe_vpcs()["Vpcs"]
    cloud.begin()
    assert cloud.client().describe_vpcs()["Vpcs"] == before
    assert default[0] in before
    assert cloud.client("iam").get_role(RoleName="nodes")["Role"]["RoleId"] == made


def test_ids_made_after_a_restart_are_new_ones(cloud: Cloud, net: Net) -> None:
    fill(cloud, net)
    before = {one["InstanceId"] for one in everything(cloud)["instances"]}
    cloud.begin()
    ec2 = cloud.client()
    [new] = ec2.run_instances(**BASE, MinCount=1, MaxCount=1, SubnetId=net.subnet)["Instances"]
    assert new["InstanceId"] not in before
    same = ec2.run_instances(**BASE, MinCount=1, MaxCount=1, SubnetId=net.subnet, ClientToken="after")[
        "Instances"
    ]
    cloud.begin()
    assert new["InstanceId"] in {one["InstanceId"] for one in everything(cloud)["instances"]}
    again = cloud.client().run_instances(
        **BASE, MinCount=1, MaxCount=1, SubnetId=net.subnet, ClientToken="after"
    )["Instances"]
    assert again[0]["InstanceId"] == same[0]["InstanceId"]


def test_a_launch_that_was_cut_off_before_its_answer_is_there_after_a_restart(cloud: Cloud, net: Net) -> None:
    asked = {**BASE, "MinCount": 1, "MaxCount": 1, "SubnetId": net.subnet, "ClientToken": "cut"}
    [first] = cloud.client().run_instances(**asked)["Instances"]
    lines = cloud.journal.read_text().splitlines(keepends=True)
    cloud.journal.write_text("".join(lines[:-1]) + lines[-1][:10])
    cloud.boxes.launched.clear()
    cloud.begin()
    assert [one.instance for one in cloud.boxes.launched] == [first["InstanceId"]]
    [again] = cloud.client().run_instances(**asked)["Instances"]
    assert again["InstanceId"] == first["InstanceId"]
    assert len(cloud.boxes.launched) == 1


def test_what_did_not_start_stays_so_after_a_restart(cloud: Cloud, net: Net) -> None:
    cloud.boxes.refuse = MachineRefused("Server.InternalError", "no space")
    cloud.client().run_instances(**BASE, MinCount=1, MaxCount=1, SubnetId=net.subnet)
    cloud.boxes.refuse = None
    before = everything(cloud)
    assert before["instances"][0]["State"]["Name"] == "terminated"
    cloud.begin()
    assert everything(cloud) == before


def test_a_launch_without_capacity_is_not_done_after_it_came_back(cloud: Cloud, net: Net) -> None:
    cloud.faults = Faults(capacity={"lab1.2rail": 0})
    with pytest.raises(ClientError):
        cloud.client().run_instances(**BASE, MinCount=1, MaxCount=1, SubnetId=net.subnet)
    cloud.faults = Faults()
    cloud.begin()
    assert everything(cloud)["instances"] == []


def test_the_journal_is_its_owners_alone_and_holds_no_signature(cloud: Cloud, net: Net) -> None:
    del net
    assert cloud.journal.stat().st_mode & 0o777 == 0o600
    assert 'Signature="' in cloud.journal.read_text() or "Signature=," not in cloud.journal.read_text()
    assert "secret" not in cloud.journal.read_text()
