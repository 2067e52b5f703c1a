"""How often the engine is started: each start takes a second on a busy machine, and there are many stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.provision.operate import Operation, operate
from rackwright.provision.places import Folders
from rackwright.provision.program import OUTPUTS
from rackwright.provision.stacks import outputs_in, stacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest

    from rackwright.plan.model import Plan


def test_an_up_of_a_zone_starts_the_engine_four_times_and_once_for_each_input(
    zone_plan: Plan, tmp_path: Path, starts: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rackwright.provision.stacks._configure", lambda *_: None)
    folders = Folders(spec=tmp_path, state=tmp_path / "state")
    names = {name.project: name for name in stacks(zone_plan)}
    operate(Operation.UP, names["aws-network"], zone_plan, folders, lambda _: None)
    assert starts() == ["stack select", "stack export", "up", "stack export"]
    operate(Operation.UP, names["aws-compute"], zone_plan, folders, lambda _: None)
    outputs = ["stack output", "stack output"]
    assert starts()[4:] == ["stack select", *outputs, "stack export", "up", "stack export"]


def test_outputs_are_those_of_the_resource_that_stands_for_the_stack() -> None:
    root = {"type": "pulumi:pulumi:Stack", "outputs": {OUTPUTS: {"schema": "ours"}}}
    other = {"type": "rackwright:aws:ClusterNetwork", "outputs": {OUTPUTS: {"schema": "a component's"}}}
    assert outputs_in({"resources": [other, root]}) == {"schema": "ours"}
    assert outputs_in({"resources": [{"type": "pulumi:pulumi:Stack"}]}) is None
    assert outputs_in({}) is None
