"""A fresh emulated AWS with a network, for each test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.doubles.ec2 import ZONE, Client, Cloud, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with served(tmp_path) as cloud:
        yield cloud


@pytest.fixture
def ec2(cloud: Cloud) -> Client:
    return cloud.client()


@dataclass(frozen=True)
class Net:
    """A network of one zone."""

    vpc: str
    subnet: str
    group: str


@pytest.fixture
def net(ec2: Client) -> Net:
    vpc = ec2.create_vpc(CidrBlock="10.64.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.64.0.0/24", AvailabilityZoneId=ZONE)["Subnet"]
    group = ec2.create_security_group(VpcId=vpc, GroupName="nodes", Description="nodes")["GroupId"]
    return Net(vpc, subnet["SubnetId"], group)
