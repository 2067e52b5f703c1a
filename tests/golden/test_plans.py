"""Every example spec under clusters/: planned, to the byte."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.cli.output import findings_json
from rackwright.plan.build import build
from rackwright.plan.lock import render
from rackwright.render.files import rendered

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.cli.cluster import Cluster

CLUSTERS = paths.repository() / "clusters"
SPECS = sorted(path for path in CLUSTERS.glob("*.yaml") if not path.name.endswith(".lock.yaml"))
_HASH = re.compile(r"\b[0-9a-f]{64}\b")
"""Of the catalogue and of the lock itself: they change with every figure that is added."""


@pytest.fixture(params=SPECS, ids=lambda path: path.stem)
def spec(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def cluster(spec: Path) -> Cluster:
    return open_cluster(spec)


def test_the_examples_are_those_of_the_readme() -> None:
    assert [path.stem for path in SPECS] == [
        "aws-p5",
        "aws-p5en",
        "aws-p6-b300",
        "aws-trn2",
        "hybrid",
        "lab-12",
        "lab-hybrid",
        "lab",
        "onprem-dgx-h100",
    ]


def test_the_plan(spec: Path, cluster: Cluster, golden: Callable[[str, str], None]) -> None:
    masked = cluster.plan.origin.model_copy(update=dict.fromkeys(type(cluster.plan.origin).model_fields, "…"))
    golden(f"{spec.stem}/plan.json", canonical.dumps(cluster.plan.model_copy(update={"origin": masked})))


def test_the_lock_of_a_first_plan(spec: Path, cluster: Cluster, golden: Callable[[str, str], None]) -> None:
    _, lock = build(cluster.loaded, cluster.catalogue, None)
    golden(f"{spec.stem}/lock.yaml", _HASH.sub("…", render(lock)))


def test_what_the_rules_say(spec: Path, cluster: Cluster, golden: Callable[[str, str], None]) -> None:
    text = canonical.dumps(findings_json(cluster.findings))
    golden(f"{spec.stem}/findings.json", text.replace(f"{paths.repository()}/", ""))


def test_the_rendered_files(spec: Path, cluster: Cluster, golden: Callable[[str, str], None]) -> None:
    files = sorted((file.path, file.content) for file in rendered(cluster.plan, ["ssh-ed25519 AAAA… golden"]))
    golden(f"{spec.stem}/rendered.txt", "".join(f"=== {path}\n{content}" for path, content in files))


def test_the_committed_lock_is_the_current_one(cluster: Cluster) -> None:
    assert not cluster.lock_changed, f"rackwright plan {cluster.loaded.path}, and commit the lock"
    assert cluster.lock_path.read_text(encoding="utf-8") == render(cluster.lock)


def test_the_same_bytes_whatever_the_hash_seed(spec: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from rackwright import canonical;"
        "from rackwright.cli.cluster import open_cluster; from rackwright.plan.lock import render;"
        "c = open_cluster(Path(sys.argv[1])); sys.stdout.write(canonical.dumps(c.plan) + render(c.lock))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script, str(spec)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1


def test_each_slot_has_its_asset_or_is_named_as_undelivered(cluster: Cluster) -> None:
    plan = cluster.plan
    without = {
        name
        for name, pool in plan.pools.items()
        if any(slot.asset is None for slot in pool.slots.values()) and plan.sites[pool.site].kind == "onprem"
    }
    assert set(plan.undelivered) == without
