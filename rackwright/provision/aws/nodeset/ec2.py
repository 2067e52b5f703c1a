"""EC2 through boto3, in our own terms: instances of one pool, found by tag, launched and terminated.

Calls that are throttled are sent again by boto3; the client is safe for threads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3  # type: ignore[import-untyped]  # (boto3 has no types)

from rackwright.errors import EnvironmentUnfit
from rackwright.plan.aws_model import CLUSTER_TAG, POOL_TAG, SLOT_TAG
from rackwright.provision.aws import failures
from rackwright.provision.aws.identity import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
        BotoCoreError,
        ClientError,
    )

    from rackwright.provision.aws.nodeset.model import Ground

LIVE = frozenset({"pending", "running"})
STOPPED = frozenset({"stopping", "stopped"})
_DYING = "shutting-down"
_TERMINATED_AT_ONCE = 100
"""Instances of one TerminateInstances."""
_VERSION_TAG = "aws:ec2launchtemplate:version"
"""Put on each instance by EC2 itself."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a pool."""

    id: str
    slot: str
    """Of its tag; empty where it has none."""
    state: str
    address: str
    """Private; empty once it is gone."""
    launched: str
    """ISO 8601, so that texts sort as times."""
    version: int
    """Of the launch template; 0 where that is not known."""
    pool: str = ""
    """Of its tag; empty where it has none."""

    @property
    def there(self) -> bool:
        """Whether it fills a slot: it runs, is about to, or was stopped."""
        return self.state in LIVE or self.state in STOPPED


class Ec2:
    """One region of one account, for the instances of one cluster."""

    def __init__(self, region: str, client: Any = None) -> None:  # noqa: ANN401 (boto3 has no types)
        self._client = client or boto3.Session().client("ec2", region_name=region, config=CONFIG)

    def instances(self, cluster: str, pool: str = "") -> list[Instance]:
        """All of a pool, or of a cluster, those that are gone for less than an hour among them."""
        filters = [_filter(f"tag:{CLUSTER_TAG}", cluster)]
        filters += [_filter(f"tag:{POOL_TAG}", pool)] if pool else []
        pages = self._client.get_paginator("describe_instances").paginate(
            Filters=filters, PaginationConfig={"PageSize": 1000}
        )
        return [_instance(one) for page in pages for one in _each(page)]

    def of_token(self, token: str) -> list[Instance]:
        """What a client token has launched."""
        answer = self._client.describe_instances(Filters=[_filter("client-token", token)])
        return [_instance(one) for one in _each(answer)]

    def interfaces(self, template: str, version: int) -> list[dict[str, Any]]:
        """Network interfaces of a launch template, as RunInstances takes them."""
        answer = self._client.describe_launch_template_versions(
            LaunchTemplateId=template, Versions=[str(version)]
        )
        data = answer["LaunchTemplateVersions"][0]["LaunchTemplateData"]
        return list(data.get("NetworkInterfaces", ()))

    def run(self, request: Mapping[str, Any]) -> list[Instance]:
        """RunInstances.

        Raises:
            ClientError: refused.
        """
        return [_instance(one) for one in self._client.run_instances(**request)["Instances"]]

    def tag(self, instance: str, tags: Mapping[str, str]) -> None:
        """CreateTags."""
        self._client.create_tags(Resources=[instance], Tags=pairs(tags))

    def terminate(self, instances: Iterable[str]) -> None:
        """TerminateInstances; those that are gone already are not asked again."""
        ids = sorted(set(instances))
        for start in range(0, len(ids), _TERMINATED_AT_ONCE):
            self._client.terminate_instances(InstanceIds=ids[start : start + _TERMINATED_AT_ONCE])

    def gone(self, cluster: str, pool: str, seconds: float, pause: float = 1) -> list[Instance]:
        """Wait until a pool has no instance any more; returned are those that stay."""
        until = time.monotonic() + seconds
        while left := [one for one in self.instances(cluster, pool) if one.there or one.state == _DYING]:
            if time.monotonic() >= until:
                break
            time.sleep(pause)
        return left


def pairs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Tags as the API takes them."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def unfit(error: ClientError | BotoCoreError, ground: Ground) -> EnvironmentUnfit:
    """A call that is about no slot was refused, or not answered."""
    return cannot_be_asked(error, f"{ground.site}, pool {ground.pool}")


def cannot_be_asked(error: ClientError | BotoCoreError, where: str) -> EnvironmentUnfit:
    """The same, of a place."""
    known = failures.login_error(error, boto3.Session().profile_name, where)
    return known or EnvironmentUnfit(
        "EC2 cannot be asked",
        code=failures.UNREACHABLE,
        where=where,
        got=str(error),
        hint="check the way to EC2",
    )


def _filter(name: str, value: str) -> dict[str, Any]:
    return {"Name": name, "Values": [value]}


def _each(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for reservation in answer["Reservations"]:
        yield from reservation["Instances"]


def _instance(one: Mapping[str, Any]) -> Instance:
    tags = {tag["Key"]: tag["Value"] for tag in one.get("Tags", ())}
    version = tags.get(_VERSION_TAG, "0")
    return Instance(
        id=one["InstanceId"],
        slot=tags.get(SLOT_TAG, ""),
        state=one["State"]["Name"],
        address=one.get("PrivateIpAddress", ""),
        launched=one["LaunchTime"].isoformat(),
        version=int(version) if version.isdigit() else 0,
        pool=tags.get(POOL_TAG, ""),
    )
