"""What a stack cannot go for: another that reads its outputs, or instances that no state knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.provision import readers
from rackwright.provision.aws.nodeset.ec2 import Instance
from rackwright.provision.operate import Operation, operate
from rackwright.provision.places import Folders
from rackwright.provision.stacks import COMPUTE, stacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.plan.model import Plan

TEMPLATE = {"type": "aws:ec2/launchTemplate:LaunchTemplate", "urn": "urn:pulumi:z::aws::a:b::n"}
ROOT = {"type": "pulumi:pulumi:Stack", "urn": "urn:pulumi:z::aws::pulumi:pulumi:Stack::z"}
BURST = Instance("i-1", "n-002", "running", "10.64.0.9", "2026-11-29T00:00:00Z", 1, "n")


@pytest.fixture
def destroyed(
    zone_plan: Plan, tmp_path: Path, starts: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[list[str], bool]]:
    """What a destroy of a stack is refused for, and whether the engine was asked for it."""
    monkeypatch.setattr("rackwright.provision.stacks._configure", lambda *_: None)
    monkeypatch.setattr("rackwright.provision.operate._find_unfinished", lambda *_: [])
    monkeypatch.setattr("rackwright.provision.operate._clear", lambda *_: None)
    names = {name.project: name for name in stacks(zone_plan)}
    folders = Folders(spec=tmp_path, state=tmp_path / "state")

    def destroy(
        project: str, state: list[dict[str, str]], instances: list[Instance]
    ) -> tuple[list[str], bool]:
        monkeypatch.setattr(readers, "exported", lambda *_: {"resources": state})
        monkeypatch.setattr("rackwright.provision.aws.nodeset.leftover.there", lambda *_: instances)
        report = operate(Operation.DESTROY, names[project], zone_plan, folders, lambda _: None)
        assert {one.code for one in report.failures} <= {readers.STILL_READ}
        return [one.cause for one in report.failures], "destroy" in starts()

    return destroy


@pytest.mark.parametrize("project", ["aws-network", "aws-access"])
@pytest.mark.parametrize(
    ("state", "instances", "has"),
    [
        ([ROOT, TEMPLATE], [], "n"),
        ([ROOT, TEMPLATE, TEMPLATE], [], "n and 1 more"),
        ([], [BURST], "n-002"),
    ],
)
def test_a_stack_that_is_stood_on_stays(
    destroyed: Callable[..., tuple[list[str], bool]],
    project: str,
    state: list[dict[str, str]],
    instances: list[Instance],
    has: str,
) -> None:
    assert destroyed(project, state, instances) == (
        [f"aws-compute/z-cloud stands on it, and still has {has}"],
        False,
    )


@pytest.mark.parametrize("state", [[], [ROOT]])
def test_one_that_nothing_stands_on_goes(
    destroyed: Callable[..., tuple[list[str], bool]], state: list[dict[str, str]]
) -> None:
    assert destroyed("aws-network", state, []) == ([], True)


def test_the_instances_own_stack_goes_though_they_are_there(
    destroyed: Callable[..., tuple[list[str], bool]],
) -> None:
    assert destroyed(COMPUTE, [TEMPLATE], [BURST]) == ([], True)
