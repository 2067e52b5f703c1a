"""Faults of a rail: its line is slow, or its cable is cut at the switch's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab import network
from rackwright.lab.faults import subjects
from rackwright.lab.faults.fault import Fault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.netns import Namespace
from rackwright.lab.places import ROUTER

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Planted, Stage

SLOWER = 4
"""Measured: a factor of two drowns in the noise of an all-reduce, four does not."""


class SlowRail(Fault):
    """A line that has fallen back to a lower rate, in both directions."""

    name = "slow-rail"
    kind = SubjectKind.RAIL
    does = f"both ends of the cable send at 1/{SLOWER} of the planned rate"
    shows = "FAIL of that rail and of its node, by bandwidth"

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Shape both ends anew."""
        _shape(stage, planted.subject, SLOWER)

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Back to the planned rate."""
        _shape(stage, planted.subject, 1)


def _shape(stage: Stage, subject: str, slower: int) -> None:
    host, nic = subjects.rail(stage.world, subject)
    rate_mbit = max(1, nic.rate_mbit // slower)
    network.shape(_router(stage), host.cable(nic), rate_mbit)
    network.shape(Namespace(stage.world.places.netns(host.slot)), nic.interface, rate_mbit)


class CutRail(Fault):
    """A cable that is cut: the host's end has no carrier."""

    name = "cut-rail"
    kind = SubjectKind.RAIL
    does = "the switch's port is down, so that the host sees no carrier"
    shows = "FAIL of that rail and of its node, by its link"

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Switch the port off."""
        _switch(stage, planted.subject, "down")

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Switch the port on."""
        _switch(stage, planted.subject, "up")


def _switch(stage: Stage, subject: str, state: str) -> None:
    host, nic = subjects.rail(stage.world, subject)
    _router(stage).ip("link", "set", host.cable(nic), state)


def _router(stage: Stage) -> Namespace:
    return Namespace(stage.world.places.netns(ROUTER))
