"""A pool in an emulated AWS zone: its network and launch template, and what reconciles it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.plan.aws_model import (
    CLUSTER_TAG,
    POOL_TAG,
    SLOT_TAG,
    AwsComputeStack,
    CapacityPlan,
    NodePlan,
    NodeSetPlan,
    TemplatePlan,
    ZoneStack,
)
from rackwright.provision.aws.nodeset.ec2 import Ec2
from rackwright.provision.aws.nodeset.model import WantedNode, WantedNodes
from rackwright.provision.aws.nodeset.reconcile import Means, brought_up, read
from tests.doubles.ec2 import ACCOUNT, REGION, ZONE, Cloud, served
from tests.doubles.room import leave_room

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.provision.aws.nodeset.model import FoundNodes

CLUSTER, POOL = "atlas", "cnode"
_TAGS = {CLUSTER_TAG: CLUSTER, POOL_TAG: POOL, "owner": "ml"}


@dataclass
class Pool:
    """One pool, wanted with so many slots, and what was found of it last."""

    cloud: Cloud
    subnet: str
    template: str
    static: int = 2
    burst: int = 0
    all_or_nothing: bool = False
    planned: bool = True
    """Whether addresses are planned, or EC2 gives them."""
    busy: dict[str, str] = field(default_factory=dict)
    found: FoundNodes | None = None
    stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def ec2(self) -> Ec2:
        return Ec2(REGION, self.cloud.client(attempts=6))

    @property
    def means(self) -> Means:
        return Means(self.ec2, lambda slot: f"#cloud-config of {slot}", self.busy, self.stopped)

    @property
    def wanted(self) -> WantedNodes:
        slots = [f"cnode-{number:03d}" for number in range(1, self.static + self.burst + 1)]
        nodes = {
            slot: WantedNode(
                address=f"10.64.0.{16 + index}" if self.planned else None,
                burst=index >= self.static,
                state="on-demand" if index >= self.static else "running",
            )
            for index, slot in enumerate(slots)
        }
        return WantedNodes(
            site="use1",
            cluster=CLUSTER,
            pool=POOL,
            account=ACCOUNT,
            region=REGION,
            zone_id=ZONE,
            subnet=self.subnet,
            template=self.template,
            version=1,
            tags=_TAGS,
            all_or_nothing=self.all_or_nothing,
            nodes=nodes,
        )

    @property
    def zone(self) -> AwsComputeStack:
        """As the plan has it."""
        wanted = self.wanted
        nodes = {slot: NodePlan(address=one.address, burst=one.burst) for slot, one in wanted.nodes.items()}
        template = TemplatePlan(
            instance_type="lab1.2rail",
            ami="ami-0123456789abcdef0",
            interfaces=(),
            capacity=CapacityPlan(kind="on-demand"),
            placement_group=False,
            controller=False,
        )
        node_set = NodeSetPlan(template=template, all_or_nothing=self.all_or_nothing, nodes=nodes)
        shared = {name: getattr(wanted, name) for name in ZoneStack.model_fields}
        return AwsComputeStack(**shared, node_sets={POOL: node_set})

    def up(self) -> FoundNodes:
        """Bring it up, and keep what was found as an engine does."""
        self.found = brought_up(self.found, self.wanted, self.means)
        return self.found

    def refresh(self) -> FoundNodes:
        assert self.found is not None
        self.found = read(self.found, self.ec2)
        return self.found

    def states(self) -> dict[str, str]:
        assert self.found is not None
        return {slot: node.state for slot, node in self.found.nodes.items()}

    def codes(self) -> dict[str, str]:
        assert self.found is not None
        return {slot: node.failure.code for slot, node in self.found.nodes.items() if node.failure}

    def there(self) -> dict[str, str]:
        """Slot → id of each instance that EC2 has and that is not gone; without a slot by its id."""
        return {one.slot or one.id: one.id for one in self.ec2.instances(CLUSTER, POOL) if one.there}

    def launches(self) -> int:
        return len(self.cloud.boxes.launched)

    def room(self, instances: int) -> None:
        """There is capacity for so many more, and no further one."""
        leave_room(self.cloud, POOL, instances)

    def terminate(self, *slots: str) -> None:
        """By hand."""
        self.ec2.terminate(self.there()[slot] for slot in slots)

    def launch_by_hand(self, slot: str = "", address: str = "") -> str:
        """An instance of the pool that nobody noted."""
        tags = _TAGS | ({SLOT_TAG: slot} if slot else {})
        nic: dict[str, Any] = {"DeviceIndex": 0, "NetworkCardIndex": 0, "SubnetId": self.subnet}
        answer = self.cloud.client().run_instances(
            LaunchTemplate={"LaunchTemplateId": self.template, "Version": "1"},
            MinCount=1,
            MaxCount=1,
            NetworkInterfaces=[nic | ({"PrivateIpAddress": address} if address else {})],
            TagSpecifications=[
                {
                    "ResourceType": "instance",
                    "Tags": [{"Key": key, "Value": value} for key, value in tags.items()],
                }
            ],
        )
        made: str = answer["Instances"][0]["InstanceId"]
        return made


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with served(tmp_path) as cloud:
        yield cloud


@pytest.fixture
def pool(cloud: Cloud) -> Pool:
    client = cloud.client()
    vpc = client.create_vpc(CidrBlock="10.64.0.0/16")["Vpc"]["VpcId"]
    subnet = client.create_subnet(VpcId=vpc, CidrBlock="10.64.0.0/24", AvailabilityZoneId=ZONE)["Subnet"]
    group = client.create_security_group(VpcId=vpc, GroupName="nodes", Description="nodes")["GroupId"]
    interface = {
        "NetworkCardIndex": 0,
        "DeviceIndex": 0,
        "InterfaceType": "interface",
        "SubnetId": subnet["SubnetId"],
        "Groups": [group],
        "DeleteOnTermination": True,
    }
    template = client.create_launch_template(
        LaunchTemplateName="cnode",
        LaunchTemplateData={
            "ImageId": "ami-0123456789abcdef0",
            "InstanceType": "lab1.2rail",
            "NetworkInterfaces": [interface],
        },
    )["LaunchTemplate"]
    return Pool(cloud, subnet["SubnetId"], template["LaunchTemplateId"])
