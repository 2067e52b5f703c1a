"""EC2 as an inventory asks it: instances with tags and consoles, and calls that fail on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError  # type: ignore[import-untyped]  # (it has no types)

from rackwright.plan.aws_model import CLUSTER_TAG, SLOT_TAG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CONSOLE = """[    0.000000] Linux version 6.12
-----BEGIN SSH HOST KEY KEYS-----
{type} {key} root@{name}
-----END SSH HOST KEY KEYS-----
"""


@dataclass
class One:
    """An instance."""

    id: str
    slot: str
    address: str
    console: str = ""
    state: str = "running"
    cluster: str = "atlas"


@dataclass
class FakeEc2:
    """boto3's client, as far as `inventory.zone` calls it.

    Args:
        instances: of the account.
        refused: call → AWS's code with which it is refused.
    """

    instances: list[One] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)

    def get_paginator(self, call: str) -> FakeEc2:
        assert call == "describe_instances"
        return self

    def paginate(self, **asked: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 (as boto3)
        self._refuse("DescribeInstances")
        wanted = {one["Name"]: one["Values"] for one in asked["Filters"]}
        for one in self.instances:
            tagged = one.cluster in wanted[f"tag:{CLUSTER_TAG}"]
            if tagged and one.state in wanted["instance-state-name"]:
                yield {"Reservations": [{"Instances": [_described(one)]}]}

    def get_console_output(self, *, InstanceId: str, Latest: bool) -> Mapping[str, str]:  # noqa: N803 (as boto3)
        self._refuse("GetConsoleOutput")
        assert Latest
        (one,) = [one for one in self.instances if one.id == InstanceId]
        return {"Output": one.console} if one.console else {}

    def _refuse(self, call: str) -> None:
        if call in self.refused:
            raise ClientError({"Error": {"Code": self.refused[call], "Message": "no"}}, call)


def _described(one: One) -> Mapping[str, Any]:
    tags = {CLUSTER_TAG: one.cluster, SLOT_TAG: one.slot}
    return {
        "InstanceId": one.id,
        "PrivateIpAddress": one.address,
        "Tags": [{"Key": key, "Value": value} for key, value in tags.items() if value],
    }
