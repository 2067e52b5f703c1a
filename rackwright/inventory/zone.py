"""An AWS zone in, what is there of its slots out: instances by tag, and the keys on their consoles.

The same strict reader reads a hall's console logs and what GetConsoleOutput gives (`console.py`). EC2
refreshes that output after a boot, so that it may be empty for minutes on real machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3  # type: ignore[import-untyped]  # (it has no types)
from botocore.exceptions import (  # type: ignore[import-untyped]  # (as boto3)
    BotoCoreError,
    ClientError,
)

from rackwright.errors import EnvironmentUnfit
from rackwright.inventory.console import KeyFault, Reading, parse
from rackwright.plan.aws_model import CLUSTER_TAG, SLOT_TAG
from rackwright.provision.aws import failures
from rackwright.provision.aws.identity import CONFIG, require_account

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.model import AwsSitePlan

_THERE = ("pending", "running", "stopping", "stopped")
"""States of an instance that fills a slot (EC2 API, InstanceState); the others are of one that is gone."""
_PAGE = 1000

NO_INSTANCE = KeyFault(
    "KEY010", "no instance fills the slot", "`rackwright up SPEC` fills it, and says why it cannot"
)
SEVERAL = KeyFault(
    "KEY011",
    "several instances bear the slot's name",
    "see which one does its work, and terminate the others",
)
NO_OUTPUT = KeyFault(
    "KEY012",
    "EC2 does not give the console output",
    "see that the credentials allow ec2:GetConsoleOutput, then run the same command again",
)


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance that fills a slot, or is about to.

    Args:
        id: of it.
        address: private, of its first interface; empty before it has one.
    """

    id: str
    address: str


class Zone:
    """Slots of one zone: read once, for one inventory.

    Args:
        name: of the site.
        cluster: whose instances.
        ec2: boto3's client.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked, or not as this account.
    """

    def __init__(self, name: str, cluster: str, ec2: Any) -> None:  # noqa: ANN401 (boto3 has no types)
        self._name = name
        self._ec2 = ec2
        self._found: dict[str, list[Instance]] = {}
        for slot, instance in self._read(cluster):
            self._found.setdefault(slot, []).append(instance)

    @property
    def instances(self) -> Mapping[str, Instance]:
        """Slot → the one instance that fills it."""
        return {slot: found[0] for slot, found in self._found.items() if len(found) == 1}

    def read(self, host: str) -> Reading:
        """What the console of a slot's instance says of its keys."""
        found = self._found.get(host, [])
        if len(found) != 1:
            ids = ", ".join(sorted(instance.id for instance in found))
            return Reading(fault=SEVERAL if found else NO_INSTANCE, got=ids)
        try:
            answer = self._ec2.get_console_output(InstanceId=found[0].id, Latest=True)
        except ClientError as error:
            return Reading(fault=NO_OUTPUT, got=f"{found[0].id}: {failures.code_of(error)}")
        except BotoCoreError as error:
            return Reading(fault=NO_OUTPUT, got=f"{found[0].id}: {error}")
        # boto3 has decoded it (botocore.handlers.decode_console_output).
        return parse(answer.get("Output", "").encode(), host)

    def _read(self, cluster: str) -> Iterator[tuple[str, Instance]]:
        filters = [
            {"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]},
            {"Name": "instance-state-name", "Values": list(_THERE)},
        ]
        pages = self._ec2.get_paginator("describe_instances").paginate(
            Filters=filters, PaginationConfig={"PageSize": _PAGE}
        )
        try:
            for page in pages:
                for reservation in page["Reservations"]:
                    yield from (_slot_of(one) for one in reservation["Instances"])
        except (ClientError, BotoCoreError) as error:
            raise self._unfit(error) from None

    def _unfit(self, error: ClientError | BotoCoreError) -> Exception:
        where = f"sites.{self._name}"
        known = failures.login_error(error, boto3.Session().profile_name, where)
        return known or EnvironmentUnfit(
            "EC2 cannot be asked which instances there are",
            code=failures.UNREACHABLE,
            where=where,
            got=str(error),
            hint="check the way to EC2, then run the same command again",
        )


def _slot_of(one: Mapping[str, Any]) -> tuple[str, Instance]:
    tags = {tag["Key"]: tag["Value"] for tag in one.get("Tags", ())}
    return tags.get(SLOT_TAG, ""), Instance(one["InstanceId"], one.get("PrivateIpAddress", ""))


def opened(name: str, site: AwsSitePlan, cluster: str) -> Zone:
    """The zone as it is now, asked with the account that the spec names.

    Raises:
        EnvironmentUnfit: another account, no credentials, expired ones, or no answer.
    """
    require_account(site.account, site.region, f"sites.{name}.account")
    return Zone(name, cluster, boto3.Session().client("ec2", region_name=site.region, config=CONFIG))
