"""What each slot of a pool boots with, from the plan that `up` has laid out: as a boot server would."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rackwright.provision import plan_file
from rackwright.provision.keys import login_public_key
from rackwright.render.cloud import user_data

if TYPE_CHECKING:
    from rackwright.plan.model import Plan
    from rackwright.provision.places import Folders


@dataclass(frozen=True)
class UserData:
    """User data of a pool's slots; nothing is read before the first slot is launched.

    Args:
        folders: of the cluster.
        pool: whose slots.
    """

    folders: Folders
    pool: str

    @cached_property
    def _plan(self) -> Plan:
        return plan_file.read_of_run(self.folders.plan)

    @cached_property
    def _key(self) -> str:
        return login_public_key(self.folders.secrets)

    def __call__(self, slot: str) -> str:
        """Of one slot."""
        return user_data(self._plan, self.pool, slot, [self._key])
