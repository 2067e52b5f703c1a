"""One slot's node in Slurm and its instance in EC2 in, the next step out: no memory, no clock of its own.

Slurm's state says what is wanted, whatever was asked before: a call that got lost, a daemon that was
restarted and an instance that nobody wants any more all end in the same steps.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwright.burst.slurm import SlurmNode

POWERING_UP, DOWN = "POWERING_UP", "DOWN"
_UNWANTED = frozenset({"POWERED_DOWN", "POWERING_DOWN"})
_LEAVING = frozenset({"POWER_DOWN", "POWERING_DOWN"})


class Step(StrEnum):
    """What a slot needs next."""

    NOTHING = "nothing"
    LAUNCH = "launch"
    CONFIGURE = "configure"
    """Its instance is there and its node is awaited."""
    TERMINATE = "terminate"
    """Slurm does not want its instance."""
    UNREGISTERED = "unregistered"
    """Slurm has waited in vain: down, with its reason, and its instance goes."""
    LOST = "lost"
    """It was in service, and its instance is gone."""
    RETRY = "retry"
    """It was down for long enough."""


def step(node: SlurmNode, *, filled: bool, now: float, retry_after_s: float) -> Step:
    """The next step of one slot.

    Args:
        node: in Slurm, asked before EC2 was.
        filled: whether an instance fills the slot.
        now: seconds since 1970.
        retry_after_s: how long a node that could not be brought up stays down.
    """
    if node.down_by_us:
        return Step.TERMINATE if filled else _of_an_empty_slot(node, now - node.reason_since, retry_after_s)
    if DOWN in node.states:
        return _of_a_down_node(node, filled=filled)
    if node.states & _UNWANTED:
        return Step.TERMINATE if filled else Step.NOTHING
    if POWERING_UP in node.states:
        return Step.CONFIGURE if filled else Step.LAUNCH
    return Step.NOTHING


def _of_an_empty_slot(node: SlurmNode, down_s: float, retry_after_s: float) -> Step:
    """Kept down by us; once it was given back, Slurm takes some seconds to say so."""
    given_back = node.states & _LEAVING
    return Step.RETRY if down_s >= retry_after_s and not given_back else Step.NOTHING


def _of_a_down_node(node: SlurmNode, *, filled: bool) -> Step:
    """Slurm took it down itself: after its time to come up, or since it does not answer."""
    if node.states & _UNWANTED:
        return Step.UNREGISTERED
    return Step.NOTHING if filled else Step.LOST
