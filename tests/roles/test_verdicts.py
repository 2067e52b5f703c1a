"""Faults of the lab's world, found by the product on real hosts: who is blamed, and for what.

What it must say is in docs/faults.yaml. The product is told nothing of a fault; it sees slow, silent or
wrong hosts, as it would anywhere.
"""

from __future__ import annotations

import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.doubles.fault_matrix import Group, groups
from tests.roles.conftest import HEAD, NODES, WITHIN_S, wait
from tests.roles.validation import everything, finish, start

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


@contextmanager
def _silent(site: Site, node: str) -> Iterator[None]:
    """A node that Slurm loses sight of, again and again: it answers the next question, within seconds."""
    head = site.host(HEAD).check_output
    lost = f"scontrol update nodename={node} state=noresp"
    head(f"systemd-run --collect --unit=silent sh -c 'while {lost}; do sleep 0.1; done'")
    try:
        yield
    finally:
        head("systemctl stop silent.service")


def test_cleared_all_pass(good: Site, tmp_path: Path) -> None:
    for planting in ("slow-rail node-001", "cut-rail node-002/r0", "munge-key node-001", "kill node-003"):
        plant(good, planting)
    clear(good)
    good.await_idle()
    with _silent(good, "node-001"):  # as a question of Slurm leaves it that failed by the other key
        process = start(good, tmp_path / "run")
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        assert any("Slurm has lost sight of node-001" in line for line in lines)
    assert finish(process, code=0) == everything(NODES)
