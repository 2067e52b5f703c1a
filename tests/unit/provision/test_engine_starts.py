"""How often the engine is started: each start takes a second on a busy machine, and there are many stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.plan.build import build
from rackwright.provision.operate import Operation, operate
from rackwright.provision.places import Folders
from rackwright.provision.program import OUTPUTS
from rackwright.provision.stacks import outputs_in, stacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.catalogue.load import Catalogue
    from rackwright.plan.model import Plan
    from rackwright.spec.load import LoadedSpec

_ENGINE = """#!/bin/sh
[ "$1" = version ] && echo v3.274.1 && exit
shift
case "$*" in "stack output"*|"stack export"*|"stack select"*) words="$1 $2";; *) words="$1";; esac
echo "$words" >> "$STARTS"
case "$words" in
    "stack output") echo '{"outputs": {}}';;
    "stack export") echo '{"version": 3, "deployment": {}}';;
esac
"""


@pytest.fixture
def plan(make_loaded: Callable[..., LoadedSpec], catalogue: Catalogue) -> Plan:
    """A zone of one node."""
    values = {
        "rackwright": 1,
        "cluster": {"name": "z", "domain": "z.example"},
        "images": {"base": {"os": "debian-13", "ami": "ami-0123456789abcdef0"}},
        "sites": {
            "cloud": {
                "kind": "aws",
                "account": "123456789012",
                "region": "us-east-1",
                "zone_id": "use1-az1",
                "vpc": {"cidrs": ["10.64.0.0/16"]},
            }
        },
        "pools": {"n": {"site": "cloud", "platform": "lab1.2rail", "nodes": {"static": 1}, "image": "base"}},
    }
    return build(make_loaded(values), catalogue, None)[0]


@pytest.fixture
def starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What the engine was started for, so far: it is a shell script."""
    for name in ("pulumi", "pulumi-language-python"):
        script = tmp_path / name
        script.write_text(_ENGINE)
        script.chmod(0o755)
    log = tmp_path / "starts"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("STARTS", str(log))
    return lambda: log.read_text().splitlines()


def test_an_up_of_a_zone_starts_the_engine_four_times_and_once_for_each_input(
    plan: Plan, tmp_path: Path, starts: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rackwright.provision.stacks._configure", lambda *_: None)
    folders = Folders(spec=tmp_path, state=tmp_path / "state")
    names = {name.project: name for name in stacks(plan)}
    operate(Operation.UP, names["aws-network"], plan, folders, lambda _: None)
    assert starts() == ["stack select", "stack export", "up", "stack export"]
    operate(Operation.UP, names["aws-compute"], plan, folders, lambda _: None)
    outputs = ["stack output", "stack output"]
    assert starts()[4:] == ["stack select", *outputs, "stack export", "up", "stack export"]


def test_outputs_are_those_of_the_resource_that_stands_for_the_stack() -> None:
    root = {"type": "pulumi:pulumi:Stack", "outputs": {OUTPUTS: {"schema": "ours"}}}
    other = {"type": "rackwright:aws:ClusterNetwork", "outputs": {OUTPUTS: {"schema": "a component's"}}}
    assert outputs_in({"resources": [other, root]}) == {"schema": "ours"}
    assert outputs_in({"resources": [{"type": "pulumi:pulumi:Stack"}]}) is None
    assert outputs_in({}) is None
