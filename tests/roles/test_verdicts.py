"""Faults of the lab's world, found by the product on real hosts: who is blamed, and for what.

What it must say is in docs/faults.yaml. The product is told nothing of a fault; it sees slow, silent or
wrong hosts, as it would anywhere.
"""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.doubles.fault_matrix import Group, groups
from tests.roles.conftest import NODES, WITHIN_S, wait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _pytest.mark import ParameterSet

    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab


def run(site: Site, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        site.lab.command(*words),
        env=site.lab.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=4 * WITHIN_S,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def good(site: Site) -> Iterator[Site]:
    """No fault before, none after."""
    site.await_idle()
    yield site
    clear(site)
    # A slurmctld that is killed forgets what it had not written down: a job that was over runs on.
    wait(lambda: not site.user("scancel --me; squeue --me --noheader"), site.node_reasons)
    site.await_idle()


def plant(site: Site, planting: str) -> None:
    site.lab.rackwright("lab", "fault", *planting.split(), "--lab", site.lab.name)


def clear(site: Site) -> None:
    site.lab.rackwright("lab", "fault", "clear", "--lab", site.lab.name)


def _cases() -> list[ParameterSet]:
    return [
        pytest.param(group, id=group.name, marks=[pytest.mark.slow] if group.slow else [])
        for group in groups("lab")
    ]


@pytest.mark.parametrize("group", _cases())
def test_each_fault_is_told_by_its_subject_and_cause(good: Site, tmp_path: Path, group: Group) -> None:
    for row in group.rows:
        plant(good, row.plant)
    words = group.words(str(good.lab.spec))
    out = ["--out", str(tmp_path / "run")] if words[0] == "validate" else []
    group.check(run(good, [*words, *out]))


def test_cleared_all_pass(good: Site, tmp_path: Path) -> None:
    for planting in ("slow-rail node-001", "cut-rail node-002/r0", "munge-key node-001", "kill node-003"):
        plant(good, planting)
    clear(good)
    good.await_idle()
    words = ["validate", str(good.lab.spec), "--out", str(tmp_path / "run"), "--format", "json"]
    done = run(good, words)
    assert done.returncode == 0, done.stdout + done.stderr
    subjects = json.loads(done.stdout)["subjects"]
    assert {one["verdict"] for one in subjects} == {"PASS"}
    assert set(NODES) < {one["name"] for one in subjects}
