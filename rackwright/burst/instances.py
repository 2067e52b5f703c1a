"""The instances of one pool's slots on demand: launched and terminated by the functions of its node set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    BotoCoreError,
    ClientError,
)

from rackwright.provision.aws import failures
from rackwright.provision.aws.identity import require_account
from rackwright.provision.aws.nodeset.ec2 import unfit
from rackwright.provision.aws.nodeset.look import look
from rackwright.provision.aws.nodeset.reconcile import Means, emptied, on_demand

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from rackwright.provision.aws.nodeset.ec2 import Ec2
    from rackwright.provision.aws.nodeset.model import Ground, WantedNode
    from rackwright.provision.notes import FailureNote

PASSING = frozenset({failures.UNREACHABLE, failures.THROTTLED, failures.INTERRUPTED})
"""Failures after which the same launch is tried again at once; every other takes the node down for a time."""


@dataclass(frozen=True)
class Instances:
    """Of one pool.

    Args:
        ground: where and from what.
        nodes: its slots on demand.
        means: by what.
    """

    ground: Ground
    nodes: Mapping[str, WantedNode]
    means: Means
    _of_the_account: list[str] = field(default_factory=list)

    @property
    def ec2(self) -> Ec2:
        """Of its region."""
        return self.means.ec2

    def filling(self) -> dict[str, str]:
        """Slot → its instance; a second one in a slot is terminated, since nobody wants it.

        Raises:
            EnvironmentUnfit: EC2 cannot be asked, or the credentials are of another account.
        """
        self._require_account()
        try:
            seen = look(self.ec2.instances(self.ground.cluster, self.ground.pool), self.nodes, {})
            second = [one.id for one in seen.orphans.values() if one.slot in self.nodes]
            self.ec2.terminate(second)
        except (BotoCoreError, ClientError) as error:
            raise unfit(error, self.ground) from None
        return {slot: one.id for slot, one in seen.filling.items()}

    def _require_account(self) -> None:
        """Once: credentials do not change their account."""
        if not self._of_the_account:
            require_account(self.ground.account, self.ground.region, f"sites.{self.ground.site}.account")
            self._of_the_account.append(self.ground.account)

    def launch(self, slots: Collection[str]) -> dict[str, FailureNote]:
        """Fill slots; returned are those that could not be.

        Raises:
            EnvironmentUnfit: EC2 cannot be asked.
        """
        found = on_demand(self.ground, {slot: self.nodes[slot] for slot in slots}, self.means)
        return {slot: node.failure for slot, node in found.items() if node.failure is not None}

    def terminate(self, slots: Collection[str]) -> list[str]:
        """Empty slots; returned are their instances.

        Raises:
            EnvironmentUnfit: EC2 cannot be asked.
        """
        try:
            return emptied(self.ground, dict.fromkeys(slots), self.ec2)
        except (BotoCoreError, ClientError) as error:
            raise unfit(error, self.ground) from None
