"""Faults of the cloud itself: what is planted is only recorded, and the EC2 emulator acts by the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.faults.fault import Fault
from rackwright.lab.faults.subjects import SubjectKind

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Planted, Stage

EVERY = 3
"""Of so many calls one is throttled."""


class _Recorded(Fault):
    """A fault that is in force as long as it is in the record of faults."""

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Nothing more: it was recorded before."""

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Nothing more: it leaves the record after."""


class NoCapacity(_Recorded):
    """A zone that has no more machines of a kind; those that run go on."""

    name = "no-capacity"
    kind = SubjectKind.CAPACITY
    does = "no more instances of that pool or type: EC2 answers InsufficientInstanceCapacity"
    shows = "NOT_RUN of the nodes that are missing, with EC2's code"


class Throttled(_Recorded):
    """An account that has used up its rate of calls."""

    name = "throttled"
    kind = SubjectKind.CLOUD
    does = f"every {EVERY}rd call to EC2 is refused with RequestLimitExceeded"
    shows = "nothing: callers try again, and all is done"
