"""Launches as tests ask for them, and the code of what EC2 refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (no types of its own)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.ec2 import Client
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


def template(ec2: Client, name: str = "pool", **data: object) -> Params:
    made: Params = ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
    return {"LaunchTemplateId": made["LaunchTemplate"]["LaunchTemplateId"], "Version": "1"}
