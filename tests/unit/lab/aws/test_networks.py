"""Networks, placement groups and reservations, each behaviour by AWS's rule for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (no types of its own)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.ec2 import Client
    from tests.unit.lab.aws.conftest import Net

BASE = {"ImageId": "ami-0123456789abcdef0", "InstanceType": "lab1.2rail", "MinCount": 1, "MaxCount": 1}


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(ClientError) as refused:
        call()
    return str(refused.value.response["Error"]["Code"])


def test_a_subnet_is_in_the_zone_of_its_id(ec2: Client, net: Net) -> None:
    [subnet] = ec2.describe_subnets(SubnetIds=[net.subnet])["Subnets"]
    [zone] = ec2.describe_availability_zones(ZoneIds=["use1-az1"])["AvailabilityZones"]
    assert (subnet["AvailabilityZoneId"], subnet["AvailabilityZone"]) == ("use1-az1", zone["ZoneName"])


def test_a_subnet_of_ours_is_no_zones_default_and_gives_no_public_address(ec2: Client, net: Net) -> None:
    [subnet] = ec2.describe_subnets(SubnetIds=[net.subnet])["Subnets"]
    assert (subnet["DefaultForAz"], subnet["MapPublicIpOnLaunch"]) == (False, False)


def test_a_vpc_in_use_is_not_deleted(ec2: Client, net: Net) -> None:
    assert code_of(lambda: ec2.delete_vpc(VpcId=net.vpc)) == "DependencyViolation"
    ec2.delete_subnet(SubnetId=net.subnet)
    assert code_of(lambda: ec2.delete_vpc(VpcId=net.vpc)) == "DependencyViolation"
    ec2.delete_security_group(GroupId=net.group)
    ec2.delete_vpc(VpcId=net.vpc)


def test_a_group_that_another_groups_rule_names_is_not_deleted(ec2: Client, net: Net) -> None:
    other = ec2.create_security_group(VpcId=net.vpc, GroupName="other", Description="o")["GroupId"]
    rule = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": net.group}]}]
    ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=rule)
    assert code_of(lambda: ec2.delete_security_group(GroupId=net.group)) == "DependencyViolation"
    ec2.delete_security_group(GroupId=other)
    ec2.delete_security_group(GroupId=net.group)


def test_a_group_may_name_itself_and_be_deleted(ec2: Client, net: Net) -> None:
    rule = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": net.group}]}]
    ec2.authorize_security_group_ingress(GroupId=net.group, IpPermissions=rule)
    assert (
        code_of(lambda: ec2.authorize_security_group_ingress(GroupId=net.group, IpPermissions=rule))
        == "InvalidPermission.Duplicate"
    )
    ec2.delete_security_group(GroupId=net.group)


def test_a_new_group_lets_all_out_and_nothing_in(ec2: Client, net: Net) -> None:
    wanted = [{"Name": "group-id", "Values": [net.group]}]
    [rule] = ec2.describe_security_group_rules(Filters=wanted)["SecurityGroupRules"]
    assert (rule["IsEgress"], rule["IpProtocol"], rule["CidrIpv4"]) == (True, "-1", "0.0.0.0/0")


def test_a_placement_group_has_a_name_of_its_own_and_is_found(ec2: Client) -> None:
    made = ec2.create_placement_group(
        GroupName="close",
        Strategy="cluster",
        TagSpecifications=[{"ResourceType": "placement-group", "Tags": [{"Key": "a", "Value": "b"}]}],
    )["PlacementGroup"]
    assert code_of(lambda: ec2.create_placement_group(GroupName="close")) == "InvalidPlacementGroup.Duplicate"
    [found] = ec2.describe_placement_groups(GroupNames=["close"])["PlacementGroups"]
    assert (found["GroupId"], found["Strategy"], found["Tags"]) == (
        made["GroupId"],
        "cluster",
        [{"Key": "a", "Value": "b"}],
    )
    assert (
        code_of(lambda: ec2.describe_placement_groups(GroupNames=["no"])) == "InvalidPlacementGroup.Unknown"
    )
    ec2.delete_placement_group(GroupName="close")
    assert ec2.describe_placement_groups()["PlacementGroups"] == []


def test_an_instance_is_in_its_placement_group_which_is_in_use_until_it_is_gone(
    ec2: Client, net: Net
) -> None:
    close = {"Placement": {"GroupName": "close"}, "SubnetId": net.subnet}
    assert code_of(lambda: ec2.run_instances(**BASE, **close)) == "InvalidPlacementGroup.Unknown"
    ec2.create_placement_group(GroupName="close")
    [instance] = ec2.run_instances(**BASE, **close)["Instances"]
    assert instance["Placement"]["GroupName"] == "close"
    assert code_of(lambda: ec2.delete_placement_group(GroupName="close")) == "InvalidPlacementGroup.InUse"
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    ec2.delete_placement_group(GroupName="close")


def reserve(ec2: Client, count: int, match: str = "open") -> str:
    made = ec2.create_capacity_reservation(
        InstanceType="lab1.2rail",
        InstancePlatform="Linux/UNIX",
        AvailabilityZone="us-east-1b",
        InstanceCount=count,
        InstanceMatchCriteria=match,
    )
    return str(made["CapacityReservation"]["CapacityReservationId"])


def left(ec2: Client, name: str) -> int:
    [one] = ec2.describe_capacity_reservations(CapacityReservationIds=[name])["CapacityReservations"]
    return int(one["AvailableInstanceCount"])


def test_a_reservation_takes_as_many_as_it_holds_and_gets_them_back(ec2: Client, net: Net) -> None:
    name = reserve(ec2, 1, "targeted")
    into = {
        "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": name}}
    }
    [instance] = ec2.run_instances(**BASE, **into, SubnetId=net.subnet)["Instances"]
    assert (instance["CapacityReservationId"], left(ec2, name)) == (name, 0)
    refused = code_of(lambda: ec2.run_instances(**BASE, **into, SubnetId=net.subnet))
    assert refused == "ReservationCapacityExceeded"
    ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
    assert left(ec2, name) == 1


def test_capacity_reservations_only_never_falls_back_to_on_demand(ec2: Client, net: Net) -> None:
    only = {
        "CapacityReservationSpecification": {"CapacityReservationPreference": "capacity-reservations-only"}
    }
    reserve(ec2, 1, "targeted")
    refused = code_of(lambda: ec2.run_instances(**BASE, **only, SubnetId=net.subnet))
    assert refused == "ReservationCapacityExceeded"
    name = reserve(ec2, 1)
    [instance] = ec2.run_instances(**BASE, **only, SubnetId=net.subnet)["Instances"]
    assert instance["CapacityReservationId"] == name


def test_a_reservation_that_is_cancelled_is_not_found(ec2: Client, net: Net) -> None:
    name = reserve(ec2, 1)
    ec2.cancel_capacity_reservation(CapacityReservationId=name)
    into = {
        "CapacityReservationSpecification": {"CapacityReservationTarget": {"CapacityReservationId": name}}
    }
    refused = code_of(lambda: ec2.run_instances(**BASE, **into, SubnetId=net.subnet))
    assert refused == "InvalidCapacityReservationId.NotFound"
