"""The stacks of a zone by the real engine, the real `pulumi_aws` and the lab's plugin of package `aws`."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.lab.aws.emulation import Faults
from rackwright.provision import busy
from tests.doubles.processes import ENGINE, working_on
from tests.doubles.zone import PROJECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.doubles.site import Site
    from tests.doubles.zone import Zone

pytestmark = pytest.mark.engine
COMPUTE = ("--stack", "aws-compute")


@pytest.fixture(scope="module")
def _surrounded(make_zone: Callable[..., Zone]) -> Zone:
    zone = make_zone()
    for project in ("aws-network", "aws-access"):
        zone.stacks("up", "--yes", "--stack", project)
    return zone


@pytest.fixture
def surrounded(_surrounded: Zone) -> Iterator[Zone]:
    """A zone of which all is up but its nodes; they are gone again after the test."""
    yield _surrounded
    _surrounded.cloud.faults = Faults()
    _surrounded.cloud.boxes.on_launch = None
    _surrounded.stacks("destroy", "--yes", *COMPUTE)
    assert _surrounded.instances() == {}


def _ids(zone: Zone) -> dict[str, str]:
    return {slot: one["InstanceId"] for slot, one in zone.instances().items()}


def test_from_nothing_up_and_down_again_with_hands_in_between(
    make_zone: Callable[..., Zone], make_site: Callable[..., Site]
) -> None:
    site = make_site(1)
    zone = make_zone(site)
    before = zone.cloud.there()
    # compute reads the others' outputs, so it has nothing to show, and nothing to stand in, before them
    preview = zone.stacks("preview", *COMPUTE, code=3)
    assert preview["aws-compute"]["not_run"] == f"its input stack aws-network/{zone.stack} was never up"
    refused = zone.stacks("up", "--yes", *COMPUTE, code=2)
    assert refused["aws-compute"]["failures"][0]["code"] == "UP011"
    assert zone.cloud.there() == before

    up = zone.stacks("up", "--yes")
    assert {slot: one["PrivateIpAddress"] for slot, one in zone.instances().items()} == {
        "cnode-001": "10.64.0.16",
        "cnode-002": "10.64.0.17",
    }
    assert site.hall.asked("On") == {"node-001": 1}
    outputs = up["aws-compute"]["outputs"]
    assert outputs["schema"] == "rackwright/stack-outputs/aws-compute/1"
    assert outputs["node_sets"]["cnode"]["nodes"]["cnode-003"]["state"] == "on-demand"
    assert up["aws-network"]["outputs"]["schema"] == "rackwright/stack-outputs/aws-network/1"
    _look_into_the_state(zone, len(site.checkpoint()["resources"]))

    first = _ids(zone)
    again = zone.stacks("up", "--yes")
    assert again.keys() == {*PROJECTS, "onprem"}
    assert all(one["changes"] == [] and set(one["resources"]) == {"same"} for one in again.values())
    assert _ids(zone) == first

    zone.cloud.client().terminate_instances(InstanceIds=[first["cnode-002"]])
    seen = zone.stacks("refresh", *COMPUTE)["aws-compute"]
    assert {"slot": "cnode-002", "field": "state", "before": "running", "after": "gone"} in seen["changes"]
    refilled = zone.stacks("up", "--yes", *COMPUTE)["aws-compute"]
    assert refilled["changes"] == [
        {"slot": "cnode-002", "field": "state", "before": "gone", "after": "running"}
    ]
    assert zone.instances()["cnode-002"]["PrivateIpAddress"] == "10.64.0.17"
    assert _ids(zone)["cnode-001"] == first["cnode-001"]

    gone = zone.run("destroy", "--yes", "--stack", zone.stack, "--format", "json")
    assert "instances are terminated" in gone.stderr
    assert "hosts are forgotten" not in gone.stderr
    assert [name.partition("/")[0] for name in json.loads(gone.stdout)["stacks"]] == [
        "aws-compute",
        "aws-access",
        "aws-network",
    ]
    assert zone.instances() == {}
    assert zone.cloud.there() == before
    assert all(zone.resources(project) == [] for project in PROJECTS)
    assert site.bmc("node-001").power == "On"
    assert site.checkpoint()["resources"]


def _look_into_the_state(zone: Zone, of_the_hall: int) -> None:
    found = {project: zone.resources(project) for project in PROJECTS}
    assert sum(map(len, found.values())) + of_the_hall == zone.planned()["totals"]["resources"]
    by_type: dict[str, list[dict[str, Any]]] = {}
    for one in [one for resources in found.values() for one in resources]:
        by_type.setdefault(one["type"], []).append(one)
    [group] = by_type["aws:ec2/securityGroup:SecurityGroup"]
    assert not {"ingress", "egress"} & group["inputs"].keys()
    [node_set] = by_type["rackwright:aws:NodeSet"]
    assert node_set["inputs"]["version"] == 1
    [template] = by_type["aws:ec2/launchTemplate:LaunchTemplate"]
    planned = zone.planned()["pools"]["cnode"]["nics"]
    assert [one["deviceIndex"] for one in template["inputs"]["networkInterfaces"]] == [
        one["device_index"] for one in planned
    ]
    credentials = {zone.environment["AWS_ACCESS_KEY_ID"], zone.environment["AWS_SECRET_ACCESS_KEY"]}
    assert not credentials & set(_texts(found))


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 (JSON)
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for below in value.values():
            yield from _texts(below)
    elif isinstance(value, list):
        for below in value:
            yield from _texts(below)


def test_another_account_and_missing_or_foreign_credentials_are_refused_before_anything(
    make_zone: Callable[..., Zone],
) -> None:
    zone = make_zone()
    zone.wanted["sites"]["cloud"]["account"] = "210987654321"
    zone.plan()
    other = zone.run("up", "--yes", code=2)
    assert "AWS001" in other.stderr
    assert "123456789012" in other.stderr
    nobody = zone.run("up", "--yes", code=2, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="", HOME="/nowhere")
    assert "AWS002" in nobody.stderr
    assert "profile default" in nobody.stderr
    foreign = zone.run("up", "--yes", code=2, AWS_ACCESS_KEY_ID="SOMEBODY")
    assert "AWS00" in foreign.stderr
    assert not (zone.state / "engine").exists()


def test_a_part_of_a_pool_without_capacity_is_named_and_comes_up_later(surrounded: Zone) -> None:
    surrounded.room(1)
    up = surrounded.stacks("up", "--yes", *COMPUTE, code=2)["aws-compute"]
    [failure] = up["failures"]
    assert failure["code"] == "EC2001"
    assert "pool cnode, use1-az1, 1 of 2 not launched: InsufficientInstanceCapacity" in failure["cause"]
    kept = _ids(surrounded)
    assert len(kept) == 1
    surrounded.room(9)
    assert surrounded.stacks("up", "--yes", *COMPUTE)["aws-compute"]["failures"] == []
    assert len(surrounded.instances()) == 2
    assert _ids(surrounded).items() >= kept.items()


def test_an_engine_killed_in_the_middle_of_a_launch_leaves_nothing_to_launch_twice_even_when_throttled(
    surrounded: Zone,
) -> None:
    boxes = surrounded.cloud.boxes
    before = len(boxes.launched)
    there = _killed_in_a_launch(surrounded)
    surrounded.cloud.faults = Faults(throttled_every=3)
    again = surrounded.stacks("up", "--yes", *COMPUTE)["aws-compute"]
    surrounded.cloud.faults = Faults()
    assert again["failures"] == []
    assert _ids(surrounded).items() >= there.items()
    assert len(boxes.launched) - before == len(surrounded.instances()) == 2


def test_what_an_engine_killed_in_a_launch_left_goes_with_a_destroy_too(surrounded: Zone) -> None:
    there = _killed_in_a_launch(surrounded)
    gone = surrounded.stacks("destroy", "--yes", *COMPUTE)["aws-compute"]
    for slot, instance in there.items():
        change = {"slot": slot, "field": "instance", "before": instance, "after": "terminated"}
        assert change in gone["changes"]
    assert surrounded.instances() == {}


def test_a_destroy_that_jobs_hold_takes_nothing_from_under_them(surrounded: Zone) -> None:
    surrounded.stacks("up", "--yes", *COMPUTE)
    there = surrounded.cloud.there()
    jobs = {"cnode-001": "runs Slurm job 7 of alice", "cnode-002": "runs Slurm job 8 of bob"}
    busy.write(surrounded.state, jobs)
    try:
        held = surrounded.stacks("destroy", "--yes", code=2)
        refused = surrounded.run("destroy", "--yes", "--stack", "aws-network", code=2).stderr
    finally:
        busy.write(surrounded.state, {})
    codes = {project: [one["code"] for one in entry["failures"]] for project, entry in held.items()}
    assert codes == {"aws-compute": ["EC2009"], "aws-access": ["UP013"], "aws-network": ["UP013"]}
    cause = held["aws-compute"]["failures"][0]["cause"]
    assert all(slot in cause and job in cause for slot, job in jobs.items())
    assert surrounded.cloud.there() == there
    assert f"aws-compute/{surrounded.stack} stands on it, and still has cnode-001 and 3 more" in refused
    assert f"rackwright destroy SPEC --stack aws-compute/{surrounded.stack}, then this one" in refused


def _killed_in_a_launch(zone: Zone) -> dict[str, str]:
    """Slot → instance that was launched, and that no state knows."""
    boxes = zone.cloud.boxes

    def kill() -> None:
        boxes.on_launch = None
        for one in working_on(zone.state, of=ENGINE):
            os.kill(one, signal.SIGKILL)

    boxes.on_launch = kill
    cut = zone.stacks("up", "--yes", *COMPUTE, code=2)["aws-compute"]
    assert cut["failures"][0]["code"] == "PULUMI002"
    there = _ids(zone)
    assert there, "it was killed before anything was launched"
    assert not any("NodeSet" in one["type"] for one in zone.resources("aws-compute"))
    return there
