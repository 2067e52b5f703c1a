"""Capacity of an emulated zone that runs out: so many instances more of a pool, and no further one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwright.lab.aws.emulation import Faults

if TYPE_CHECKING:
    from tests.doubles.ec2 import Cloud


class _Room(dict[str, int]):
    """What is left of the capacity for a pool, as it is asked for."""

    def __init__(self, cloud: Cloud, pool: str, most: int) -> None:
        super().__init__({pool: most})
        self._cloud, self._most = cloud, most

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 (dict's)
        return self._most - len(self._cloud.boxes.launched)


def leave_room(cloud: Cloud, pool: str, instances: int) -> None:
    """There is capacity for so many more.

    Args:
        cloud: the zone.
        pool: by its tag.
        instances: how many.
    """
    cloud.faults = Faults(capacity=_Room(cloud, pool, len(cloud.boxes.launched) + instances))
