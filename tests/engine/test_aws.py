"""The stacks of a zone by the real engine, the real `pulumi_aws` and the lab's plugin of package `aws`."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from moto.iam.models import iam_backends

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.places import engine
from tests.doubles.ec2 import ACCOUNT, Cloud, served
from tests.doubles.zone import PROJECTS, Zone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.engine


@pytest.fixture
def make_zone(tmp_path: Path) -> Iterator[Callable[..., Zone]]:
    """Planned zones; all of a zone goes at the end, its stack settings too."""
    try:
        engine()
    except EnvironmentUnfit as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with ExitStack() as opened:
        cloud: Cloud = opened.enter_context(served(tmp_path))

        def make(static: int = 2, burst: int = 1) -> Zone:
            name = f"z{uuid.uuid4().hex[:8]}"
            folder = tmp_path / name
            folder.mkdir()
            return opened.enter_context(Zone(folder, name, cloud, {"static": static, "burst": burst}))

        yield make


def _ids(zone: Zone) -> dict[str, str]:
    return {slot: one["InstanceId"] for slot, one in zone.instances().items()}


def test_from_nothing_up_and_down_again_with_hands_in_between(make_zone: Callable[..., Zone]) -> None:
    zone = make_zone()
    # compute reads the others' outputs, so its preview is not run before them
    preview = zone.stacks("preview", code=3)
    assert preview["aws-compute"]["not_run"] == f"its input stack aws-network/{zone.stack} was never up"
    assert zone.instances() == {}

    up = zone.stacks("up", "--yes")
    assert {slot: one["PrivateIpAddress"] for slot, one in zone.instances().items()} == {
        "cnode-001": "10.64.0.16",
        "cnode-002": "10.64.0.17",
    }
    outputs = up["aws-compute"]["outputs"]
    assert outputs["schema"] == "rackwright/stack-outputs/aws-compute/1"
    assert outputs["node_sets"]["cnode"]["nodes"]["cnode-003"]["state"] == "on-demand"
    _look_into_the_state(zone)

    first = _ids(zone)
    again = zone.stacks("up", "--yes")
    assert [again[project]["changes"] for project in PROJECTS] == [[], [], []]
    assert all(set(again[project]["resources"]) == {"same"} for project in PROJECTS)
    assert _ids(zone) == first

    zone.cloud.client().terminate_instances(InstanceIds=[first["cnode-002"]])
    seen = zone.stacks("refresh", "--stack", f"aws-compute/{zone.stack}")["aws-compute"]
    assert {"slot": "cnode-002", "field": "state", "before": "running", "after": "gone"} in seen["changes"]
    refilled = zone.stacks("up", "--yes")["aws-compute"]
    assert refilled["changes"] == [
        {"slot": "cnode-002", "field": "state", "before": "gone", "after": "running"}
    ]
    assert zone.instances()["cnode-002"]["PrivateIpAddress"] == "10.64.0.17"
    assert _ids(zone)["cnode-001"] == first["cnode-001"]

    gone = zone.stacks("destroy", "--yes")
    assert list(gone) == ["aws-compute", "aws-access", "aws-network"]
    assert zone.instances() == {}
    client = zone.cloud.client()
    assert [one for one in client.describe_vpcs()["Vpcs"] if not one["IsDefault"]] == []
    assert client.describe_launch_templates()["LaunchTemplates"] == []
    assert not iam_backends[ACCOUNT]["aws"].roles
    assert zone.cloud.boxes.state == {}
    assert all(zone.resources(project) == [] for project in PROJECTS)


def _look_into_the_state(zone: Zone) -> None:
    found = {project: zone.resources(project) for project in PROJECTS}
    assert sum(map(len, found.values())) == zone.planned()["totals"]["resources"]
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


def test_a_part_of_a_pool_without_capacity_is_named_and_comes_up_later(
    make_zone: Callable[..., Zone],
) -> None:
    zone = make_zone(static=2, burst=0)
    zone.room(1)
    up = zone.stacks("up", "--yes", code=2)["aws-compute"]
    [failure] = up["failures"]
    assert failure["code"] == "EC2001"
    assert "pool cnode, use1-az1, 1 of 2 not launched: InsufficientInstanceCapacity" in failure["cause"]
    assert len(zone.instances()) == 1
    kept = _ids(zone)
    zone.room(9)
    assert zone.stacks("up", "--yes")["aws-compute"]["failures"] == []
    assert len(zone.instances()) == 2
    assert _ids(zone).items() >= kept.items()
