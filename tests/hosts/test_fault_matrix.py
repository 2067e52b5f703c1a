"""The whole fault matrix on nine nodes in three racks, each held against its fleet, and three of a cloud."""

from __future__ import annotations

import json
import re
import subprocess
import time
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from tests.doubles.fault_matrix import Group, groups, name_of
from tests.hosts.lab import Lab

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = [pytest.mark.lab, pytest.mark.slow]

EXAMPLE = paths.repository() / "clusters" / "lab-12.yaml"
WITHIN_S = 3600.0
NODES = tuple(f"node-00{number}" for number in range(1, 10))
RACK = NODES[3:6]


def write_spec(folder: Path, name: str, prefix: str) -> Path:
    """The example under another name and in another range."""
    (folder / "assets").mkdir(parents=True)
    for source in (EXAMPLE, EXAMPLE.parent / "assets" / "lab-12.csv"):
        text = source.read_text().replace("name: lab-12,", f"name: {name},").replace("10.79.", f"{prefix}.")
        target = folder / f"{name}.yaml" if source == EXAMPLE else folder / "assets" / source.name
        target.write_text(text)
    return folder / f"{name}.yaml"


def run(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        lab.command(*words),
        env=lab.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_S,
        stdin=subprocess.DEVNULL,
    )


def good(lab: Lab, *words: str) -> None:
    done = run(lab, *words)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"


def plant(lab: Lab, *planting: str) -> None:
    for one in planting:
        good(lab, "lab", "fault", *one.split(), "--lab", lab.name)


def clear(lab: Lab) -> None:
    """Mend all, and wait until Slurm has all nodes."""
    good(lab, "lab", "fault", "clear", "--lab", lab.name)
    ends = time.monotonic() + WITHIN_S
    states = ("ssh", "--spec", str(lab.spec), "head-001", "sinfo --noheader --Node --format=%T")
    while set(run(lab, "lab", *states).stdout.split()) != {"idle"}:
        assert time.monotonic() < ends, run(lab, "lab", *states).stdout
        time.sleep(1)


@contextmanager
def asked(lab: Lab, nodes: Mapping[str, int]) -> Iterator[None]:
    """The spec asks for so many static nodes of a pool meanwhile; what is too much is gone afterwards."""
    before = after = lab.spec.read_text()
    for pool, count in nodes.items():
        after = re.sub(rf"(\n  {pool}:(?:\n    .*)*?nodes: {{static: )\d+", rf"\g<1>{count}", after)
    assert (before == after) == (not nodes)
    if not nodes:
        yield
        return
    lab.spec.write_text(after)
    good(lab, "plan", str(lab.spec))
    try:
        yield
    finally:
        lab.spec.write_text(before)
        good(lab, "lab", "fault", "clear", "--lab", lab.name)
        good(lab, "plan", str(lab.spec))
        good(lab, "up", str(lab.spec), "--yes")


def validate(lab: Lab, folder: Path) -> dict[str, dict[str, object]]:
    """Subjects by name."""
    done = run(lab, "validate", str(lab.spec), "--out", str(folder), "--format", "json")
    return {name_of(one): one for one in json.loads(done.stdout)["subjects"]}


def causes(subject: dict[str, object]) -> list[str]:
    reasons = subject["reasons"]
    assert isinstance(reasons, list)
    return [reason["cause"] for reason in reasons if reason["value"] != "PASS"]


@pytest.fixture(scope="module")
def big(
    tmp_path_factory: pytest.TempPathFactory, can_hold_a_lab: None, ranges: Iterator[str]
) -> Iterator[Lab]:
    """The lab of nine nodes, brought up as users do."""
    assert can_hold_a_lab is None
    folder, prefix = tmp_path_factory.mktemp("big"), next(ranges)
    name = f"lab-big-{prefix.rpartition('.')[2]}"
    lab = Lab(name, write_spec(folder / "clusters", name, prefix), prefix, folder / "state")
    try:
        good(lab, "lab", "up", str(lab.spec))
        good(lab, "plan", str(lab.spec))
        good(lab, "up", str(lab.spec), "--yes")
        good(lab, "inventory", str(lab.spec), "--wait", "600")
        good(lab, "converge", str(lab.spec))
        yield lab
    finally:
        good(lab, "lab", "down", lab.name)
        for settings in (paths.repository() / "stacks").glob(f"*/Pulumi.{name}-*.yaml"):
            settings.unlink()


@pytest.fixture
def whole(big: Lab) -> Iterator[Lab]:
    """No fault before, none after."""
    clear(big)
    yield big
    clear(big)


@pytest.mark.parametrize("group", groups("lab-12"), ids=lambda group: group.name)
def test_each_fault_is_told_by_its_subject_and_cause(whole: Lab, tmp_path: Path, group: Group) -> None:
    with asked(whole, group.asks):
        plant(whole, *(row.plant for row in group.rows))
        words = group.words(str(whole.spec))
        out = ["--out", str(tmp_path / "run")] if words[0] == "validate" else []
        group.check(run(whole, *words, *out))


def test_a_slow_rack_is_named_as_the_rack(whole: Lab, tmp_path: Path) -> None:
    plant(whole, *(f"slow-rail {node}/r1" for node in RACK))
    subjects = validate(whole, tmp_path / "run")
    assert {name for name in NODES if subjects[name]["verdict"] == "FAIL"} == set(RACK)
    assert any("which are all of rack r01p02" in cause for cause in causes(subjects["hall"]))


def gflops(folder: Path) -> dict[str, float]:
    """Node → what it computed in a validation."""
    measured = json.loads((folder / "measurements.json").read_text())["measurements"]
    return {one["context"]["node"]: one["value"] for one in measured if one["name"] == "gflops"}


def test_cleared_all_pass_and_a_slowdown_of_all_blames_no_node(whole: Lab, tmp_path: Path) -> None:
    """A figure between what slowed nodes and those of the cloud compute: a busy machine slows them all."""
    before = validate(whole, tmp_path / "before")
    worse = {name: causes(one) for name, one in before.items() if one["verdict"] != "PASS"}
    assert worse == {}
    usual = gflops(tmp_path / "before")
    plant(whole, *(f"slow-cpu {node}" for node in NODES))
    validate(whole, tmp_path / "slow")
    slow = gflops(tmp_path / "slow")
    assert median(slow[node] for node in NODES) < median(usual[node] for node in NODES)
    fastest, others = max(slow[node] for node in NODES), min(slow[node] for node in slow.keys() - set(NODES))
    assert fastest < others, "this machine is too busy to tell"
    figure = {
        "key": {"name": "gflops", "check": "matrix"},
        "unit": "gflops",
        "at_least": (fastest + others) / 2,
        "nominal": others,
        "provenance": "measured",
        "source": "nodes of the cloud, in the same run",
    }
    expect = tmp_path / "expect.json"
    expect.write_text(json.dumps({"schema": "rackwright/expectations/1", "expectations": [figure]}))
    judged = run(whole, "judge", str(tmp_path / "slow"), "--expect", str(expect), "--format", "json")
    found = {name_of(one): one for one in json.loads(judged.stdout)["subjects"]}
    assert any("it is common to all" in cause for cause in causes(found["hall"]))
    assert not any("common to all" in cause for cause in causes(found["cloud"])), "its nodes are not slow"
    blamed = {"gflops is too slow", "gflops is far below the fleet"}
    assert not blamed & {cause for node in NODES for cause in causes(found[node])}
