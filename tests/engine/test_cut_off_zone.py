"""`up`, `refresh` and `destroy` of a zone cut off while AWS has done what nobody has heard of yet.

Whatever was cut off, and however often: the same command goes on, no instance and no network is made twice,
and a `destroy` leaves the account as it was before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.doubles.cutting import (
    BOTH_KILLED,
    CTRL_C,
    CUTS,
    ENDED,
    ENGINE_KILLED,
    end_language_hosts,
    ended,
    strike,
    wait,
)
from tests.doubles.held import held
from tests.doubles.zone import PROJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tests.doubles.cutting import Cut
    from tests.doubles.zone import Zone

pytestmark = pytest.mark.engine

UP, DESTROY = ("up", "--yes"), ("destroy", "--yes")
STATIC = 2
_HEARD_S = 1
"""Within which an engine has taken a signal."""
MAKING = {
    "CreateVpc",
    "CreateSubnet",
    "CreateSecurityGroup",
    "AuthorizeSecurityGroupIngress",
    "AssociateRouteTable",
    "CreateVpcEndpoint",
    "CreateRole",
    "CreateInstanceProfile",
    "CreateLaunchTemplate",
    "RunInstances",
}
ENDING = {
    "TerminateInstances",
    "DeleteLaunchTemplate",
    "DeleteRole",
    "DeleteVpcEndpoints",
    "DeleteSubnet",
    "DeleteVpc",
}
_OF_INSTANCES = {"machines", "NetworkInterfaceId"}
LOOKING = {"DescribeVpcs", "DescribeSecurityGroups", "DescribeLaunchTemplates"}


def _cut_off(zone: Zone, words: tuple[str, ...], calls: Collection[str], cut: Cut) -> tuple[str, str]:
    """Begin a command, and cut it off while one of some calls is done and unheard.

    Returned are that call, and what the command said; no call where it ended by itself before any of them.
    """
    with held(zone.cloud, calls) as holding:
        begun = zone.start(*words)
        wait(lambda: holding.call or begun.poll() is not None, f"none of {calls} was asked")
        if not holding.call:
            said = begun.communicate()[0]
            assert begun.returncode == 0, said
            return "", said
        strike(begun, zone.state, cut)
        if cut not in (CTRL_C, ENDED):
            said = ended(begun, zone.state, cut)
            end_language_hosts(zone.state)
            return holding.call, said
        time.sleep(_HEARD_S)
    return holding.call, ended(begun, zone.state, cut)


def _cut_off_at_each(zone: Zone, words: tuple[str, ...], calls: Collection[str], cut: Cut) -> set[str]:
    """Begin a command again and again, cut off at another call each time, until it ends; those calls."""
    left = set(calls)
    while left:
        call, _ = _cut_off(zone, words, left, cut)
        if not call:
            break
        left.remove(call)
    return set(calls) - left


def _comes_up(zone: Zone) -> None:
    """An `up` ends well, another has nothing to do, and just what was asked for is there."""
    assert all(one["failures"] == [] for one in zone.stacks(*UP).values())
    again = zone.stacks(*UP)
    assert all(one["changes"] == [] and set(one["resources"]) == {"same"} for one in again.values())
    assert not any(zone.latest(project).get("pending_operations") for project in PROJECTS)
    assert len(zone.instances()) == STATIC


def _settles(zone: Zone, launched: int) -> None:
    """It comes up, and no more was launched than that since."""
    _comes_up(zone)
    assert len(zone.cloud.boxes.launched) - launched == STATIC


def _all_gone(zone: Zone, before: dict[str, set[str]]) -> None:
    zone.run(*DESTROY)
    assert zone.instances() == {}
    assert zone.cloud.there() == before
    assert all(zone.resources(project) == [] for project in PROJECTS)
    assert not any(zone.latest(project).get("pending_operations") for project in PROJECTS)


def _surroundings(zone: Zone) -> dict[str, set[str]]:
    """What the account has but for instances."""
    return {kind: ids for kind, ids in zone.cloud.there().items() if kind not in _OF_INSTANCES}


@pytest.mark.slow
def test_what_instances_stand_on_stays_until_they_are_known_to_be_gone(
    make_zone: Callable[..., Zone],
) -> None:
    zone = make_zone()
    before = zone.cloud.there()
    zone.run(*UP)
    there = _surroundings(zone)
    _, said = _cut_off(zone, DESTROY, {"TerminateInstances"}, ENGINE_KILLED)
    assert said.count(f"UP013: aws-compute/{zone.stack} stands on it") == len(PROJECTS) - 1
    assert _surroundings(zone) == there
    _all_gone(zone, before)


@pytest.mark.slow
def test_a_zone_that_was_cut_off_goes_on_and_makes_nothing_twice(make_zone: Callable[..., Zone]) -> None:
    zone = make_zone()
    before, launched = zone.cloud.there(), len(zone.cloud.boxes.launched)
    _cut_off(zone, UP, {"CreateVpc"}, BOTH_KILLED)
    [vpc] = zone.cloud.there()["VpcId"] - before["VpcId"]
    call, said = _cut_off(zone, UP, {"RunInstances"}, CTRL_C)
    assert call
    assert f"{vpc} was made by a run that was cut off, and is taken away" in said
    assert "the stack has 2 of 2 nodes on, cnode (aws:ec2/launchTemplate:LaunchTemplate)" in said
    _settles(zone, launched)
    call, said = _cut_off(zone, DESTROY, {"TerminateInstances"}, CTRL_C)
    assert call
    assert "the stack has cnode (aws:ec2/launchTemplate:LaunchTemplate)" in said
    _all_gone(zone, before)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_up_and_destroy_of_a_zone_go_on_wherever_they_are_cut_off(
    make_zone: Callable[..., Zone], cut: Cut
) -> None:
    zone = make_zone()
    before, launched = zone.cloud.there(), len(zone.cloud.boxes.launched)
    at = _cut_off_at_each(zone, UP, MAKING, cut)
    assert at >= {"CreateVpc", "CreateLaunchTemplate", "RunInstances"}
    _settles(zone, launched)
    at = _cut_off_at_each(zone, DESTROY, ENDING, cut)
    # Where the engine alone is killed, as a role goes, the same command goes on with the network.
    last = "DeleteRole" if cut is ENGINE_KILLED else "DeleteVpc"
    assert at >= {"TerminateInstances", "DeleteLaunchTemplate", last}
    _all_gone(zone, before)


def _known(zone: Zone) -> dict[str, dict[str, object]]:
    """Project → URN → id of every resource that the engine knows."""
    return {project: {one["urn"]: one.get("id") for one in zone.resources(project)} for project in PROJECTS}


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_refresh_of_a_zone_that_was_cut_off_forgets_nothing(
    make_zone: Callable[..., Zone], cut: Cut
) -> None:
    zone = make_zone()
    before, launched = zone.cloud.there(), len(zone.cloud.boxes.launched)
    zone.run(*UP)
    known = _known(zone)
    assert _cut_off_at_each(zone, ("refresh",), LOOKING, cut) >= {"DescribeVpcs"}
    assert _known(zone) == known
    assert all(one["failures"] == [] for one in zone.stacks("refresh").values())
    _settles(zone, launched)
    assert _known(zone) == known
    _all_gone(zone, before)


@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("call", ["TerminateInstances", "DeleteVpc"])
def test_up_after_a_destroy_of_a_zone_that_was_cut_off_makes_it_whole_again(
    make_zone: Callable[..., Zone], call: str, cut: Cut
) -> None:
    zone = make_zone()
    before = zone.cloud.there()
    zone.run(*UP)
    assert _cut_off(zone, DESTROY, {call}, cut)[0] == call
    _comes_up(zone)
    _all_gone(zone, before)
