"""Slots without an instance in, instances or reasons out.

One RunInstances a slot, several at once: EC2 takes a private address for one instance at a time, and a
slot's tags and user data are its own too, so that its name and address are known before launch and
nothing is left to be tagged after it. All or nothing is therefore by taking back.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    BotoCoreError,
    ClientError,
)

from rackwright.plan.aws_model import SLOT_TAG, TAGGED_AT_LAUNCH
from rackwright.provision.aws import failures
from rackwright.provision.aws.failures import Cause
from rackwright.provision.aws.nodeset.ec2 import Instance, pairs
from rackwright.provision.aws.nodeset.tokens import token

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from rackwright.provision.aws.nodeset.ec2 import Ec2
    from rackwright.provision.aws.nodeset.model import Ground

WORKERS = 8
"""Calls of RunInstances at once: EC2 refills two a second (EC2 API, request throttling)."""
_GONE_BEFORE = "IdempotentInstanceTerminated"
_REPLAYS = 5
"""Instances of one slot that went while nobody noted it; more is no accident."""

Outcome: TypeAlias = Instance | Cause


@dataclass(frozen=True)
class Launch:
    """One go at the missing slots of a pool.

    Args:
        ec2: of the region.
        ground: where and from what.
        before: slot → instance that filled it last; none where it is missing.
        user_data: slot → what its instance boots with, plain text.
        stopped: set once no further launch may begin.
    """

    ec2: Ec2
    ground: Ground
    before: Mapping[str, str]
    user_data: Callable[[str], str]
    stopped: threading.Event
    _spent: list[Cause] = field(default_factory=list)
    """Why nothing more can be launched; empty as long as something can."""

    def launch(self, addresses: Mapping[str, str | None]) -> dict[str, Outcome]:
        """Fill slots.

        Args:
            addresses: slot → its planned private address; None where EC2 gives it.
        """
        if not addresses:
            return {}
        try:
            interfaces = self.ec2.interfaces(self.ground.template, int(self.ground.version))
        except (BotoCoreError, ClientError) as error:
            return dict.fromkeys(addresses, failures.cause(error))
        with ThreadPoolExecutor(WORKERS, "launch") as workers:
            begun = {
                slot: workers.submit(self._one, slot, _with_address(interfaces, address))
                for slot, address in addresses.items()
            }
            done = {slot: future.result() for slot, future in begun.items()}
        if self.ground.all_or_nothing:
            self._take_back(done)
        return done

    def _one(self, slot: str, interfaces: Sequence[Mapping[str, Any]]) -> Outcome:
        if self.stopped.is_set():
            return failures.NOT_BEGUN
        if self._spent:
            return self._spent[0]
        try:
            return self._run(slot, interfaces)
        except (BotoCoreError, ClientError) as error:
            cause = failures.cause(error)
            if cause.code in failures.SPENDING:
                self._spent.append(cause)
            return cause

    def _run(self, slot: str, interfaces: Sequence[Mapping[str, Any]]) -> Instance:
        """RunInstances, by a token that launched no instance that is gone.

        Raises:
            ClientError: refused.
        """
        request, before = self._request(slot, interfaces), self.before.get(slot, "")
        for _ in range(_REPLAYS):
            by = token(self.ground, slot, before)
            try:
                [launched] = self.ec2.run({**request, "ClientToken": by})
            except ClientError as error:
                if failures.code_of(error) != _GONE_BEFORE:
                    raise
                # Where EC2 has forgotten the instance too, its token stands for it.
                before = next((one.id for one in self.ec2.of_token(by)), by)
            else:
                if launched.there:
                    return launched
                before = launched.id
        [launched] = self.ec2.run({**request, "ClientToken": token(self.ground, slot, before)})
        return launched

    def _request(self, slot: str, interfaces: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """All that is the same however often it is tried."""
        tags = pairs(self.own_tags(slot))
        return {
            "LaunchTemplate": {
                "LaunchTemplateId": self.ground.template,
                "Version": str(self.ground.version),
            },
            "MinCount": 1,
            "MaxCount": 1,
            "NetworkInterfaces": list(interfaces),
            "UserData": self.user_data(slot),
            "TagSpecifications": [{"ResourceType": kind, "Tags": tags} for kind in TAGGED_AT_LAUNCH],
        }

    def own_tags(self, slot: str) -> dict[str, str]:
        """Tags of the instance of a slot; its name is the slot's."""
        return {**self.ground.tags, SLOT_TAG: slot, "Name": slot}

    def _take_back(self, done: dict[str, Outcome]) -> None:
        """Terminate what was launched just now where not all were: the pool wants all or none."""
        causes = [one for one in done.values() if isinstance(one, Cause)]
        launched = {slot: one for slot, one in done.items() if isinstance(one, Instance)}
        if causes and launched:
            self.ec2.terminate(one.id for one in launched.values())
            taken = Cause(failures.NOT_ALL, f"taken back, all or nothing: {causes[0].says}")
            done |= dict.fromkeys(launched, taken)


def _with_address(interfaces: Sequence[Mapping[str, Any]], address: str | None) -> list[dict[str, Any]]:
    """The template's interfaces, all of them: those of a request stand in place of the template's."""
    return [
        {**one, "PrivateIpAddress": address} if address and _is_primary(one) else dict(one)
        for one in interfaces
    ]


def _is_primary(interface: Mapping[str, Any]) -> bool:
    return (interface.get("NetworkCardIndex", 0), interface.get("DeviceIndex", 0)) == (0, 0)
