"""What each slot needs next, by Slurm's node and EC2's instance alone."""

from __future__ import annotations

import pytest

from rackwright.burst.decide import Step, step
from rackwright.burst.slurm import OURS, SlurmNode

NOW, RETRY_S = 10_000, 600


def _node(states: str, reason: str = "", since: int = 0) -> SlurmNode:
    return SlurmNode(frozenset(states.split("+")), reason, since)


def _step(node: SlurmNode, *, filled: bool) -> Step:
    return step(node, filled=filled, now=NOW, retry_after_s=RETRY_S)


@pytest.mark.parametrize(
    ("states", "empty", "filled"),
    [
        ("IDLE+CLOUD+POWERED_DOWN", Step.NOTHING, Step.TERMINATE),
        ("IDLE+CLOUD+POWERING_DOWN", Step.NOTHING, Step.TERMINATE),
        ("MIXED+CLOUD+POWERED_DOWN", Step.NOTHING, Step.TERMINATE),
        ("ALLOCATED+CLOUD+NOT_RESPONDING+POWERING_UP", Step.LAUNCH, Step.CONFIGURE),
        ("IDLE+CLOUD", Step.NOTHING, Step.NOTHING),
        ("ALLOCATED+CLOUD", Step.NOTHING, Step.NOTHING),
        ("IDLE+CLOUD+DRAIN", Step.NOTHING, Step.NOTHING),
        ("DOWN+CLOUD+POWERED_DOWN", Step.UNREGISTERED, Step.UNREGISTERED),
        ("DOWN+CLOUD+NOT_RESPONDING", Step.LOST, Step.NOTHING),
    ],
)
def test_the_step_follows_from_the_node_and_its_instance(states: str, empty: Step, filled: Step) -> None:
    assert _step(_node(states), filled=False) is empty
    assert _step(_node(states), filled=True) is filled


@pytest.mark.parametrize(
    ("down_s", "states", "expected"),
    [
        (RETRY_S - 1, "DOWN+CLOUD", Step.NOTHING),
        (RETRY_S, "DOWN+CLOUD", Step.RETRY),
        (RETRY_S, "DOWN+CLOUD+POWERED_DOWN", Step.RETRY),
        (RETRY_S, "DOWN+CLOUD+POWERING_UP", Step.RETRY),
        (RETRY_S, "DOWN+CLOUD+POWER_DOWN", Step.NOTHING),
        (RETRY_S, "DOWN+CLOUD+POWERING_DOWN", Step.NOTHING),
    ],
)
def test_a_node_that_is_down_by_us_is_tried_again_after_its_time(
    down_s: int, states: str, expected: Step
) -> None:
    node = _node(states, f"{OURS}EC2001 none", NOW - down_s)
    assert _step(node, filled=False) is expected
    assert _step(node, filled=True) is Step.TERMINATE


def test_a_node_that_somebody_else_took_down_is_never_taken_back() -> None:
    node = _node("DOWN+CLOUD", "bad cable", NOW - 10 * RETRY_S)
    assert _step(node, filled=True) is Step.NOTHING
