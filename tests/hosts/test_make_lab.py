"""`make lab`, past its set-up: cut off by Ctrl-C in every stage, it goes on, and no host boots twice.

And what it builds where nothing is said: a hall and a zone, of which Slurm launches a node on demand.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.lab import parts
from tests.hosts.lab import WITHIN_S, Lab

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.hosts.fixtures import MakeLab

CUTS_S = {"lab up": 0.2, "plan": 0.2, "up": 1.5, "inventory": 0.2, "converge": 8, "validate": 8}
"""Stage → seconds after its first line; one that has ended by then is cut in a later one."""
INTERRUPTED = 130
_KEYS = "-----BEGIN SSH HOST KEY KEYS-----"


@pytest.fixture
def fresh(make_lab: MakeLab) -> Iterator[Lab]:
    """Two nodes: what nodes measure of one another is part of a verdict."""
    lab = make_lab(nodes=2)
    yield lab
    settings = paths.repository() / "stacks" / "onprem" / f"Pulumi.{lab.name}-hall.yaml"
    settings.unlink(missing_ok=True)
    shutil.rmtree(paths.repository() / "runs" / lab.name, ignore_errors=True)


def _start(lab: Lab) -> subprocess.Popen[str]:
    """As a terminal does: the command and all it starts are one process group."""
    return subprocess.Popen(
        [sys.executable, "-m", "bootstrap", "lab", str(lab.spec)],
        cwd=paths.repository(),
        env={**os.environ, "XDG_STATE_HOME": str(lab.state_home)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _cut(lab: Lab, stage: str, after_s: float) -> None:
    """Press Ctrl-C in a stage, or once it is over."""
    with _start(lab) as command:
        assert command.stdout is not None
        for line in command.stdout:
            if line.startswith(f"--- {stage}"):
                time.sleep(after_s)
                os.killpg(command.pid, signal.SIGINT)
                break
        said = command.stdout.read()
        command.wait(WITHIN_S)
    assert command.returncode in {0, INTERRUPTED}, said
    assert command.returncode == 0 or "the same command goes on" in said


def _done(lab: Lab) -> str:
    with _start(lab) as command:
        said, _ = command.communicate(timeout=2 * WITHIN_S)
    assert command.returncode == 0, said
    return said


@pytest.mark.parametrize(
    "stages", [("up", "converge"), pytest.param(tuple(CUTS_S), marks=pytest.mark.slow)], ids=["two", "all"]
)
def test_make_lab_goes_on_wherever_it_was_cut_off(fresh: Lab, stages: tuple[str, ...]) -> None:
    for stage in stages:
        _cut(fresh, stage, CUTS_S[stage])
    assert "is up and proven" in _done(fresh)
    consoles = {name: (fresh.places.state / "console" / f"{name}.log") for name in fresh.states()}
    boots = {name: log.read_text(errors="replace").count(_KEYS) for name, log in consoles.items()}
    assert boots == {"head-001": 1, "node-001": 1, "node-002": 1}


@pytest.fixture
def default(tmp_path: Path, ranges: Iterator[str], can_hold_a_lab: None) -> Iterator[Lab]:
    """The Makefile's own example, under another name and in another range."""
    del can_hold_a_lab
    prefix, clusters = next(ranges), paths.repository() / "clusters"
    name, folder = f"lab-made-{prefix.rpartition('.')[2]}", tmp_path / "clusters"
    (folder / "assets").mkdir(parents=True)
    for file in ("lab-hybrid.yaml", "assets/lab-hybrid.csv"):
        (folder / file).write_text((clusters / file).read_text().replace("10.78.", f"{prefix}."))
    spec = folder / "lab-hybrid.yaml"
    spec.write_text(spec.read_text().replace("name: lab-hybrid,", f"name: {name},"))
    lab = Lab(name, spec, prefix, tmp_path / "state")
    yield lab
    lab.down()
    for settings in (paths.repository() / "stacks").glob(f"*/Pulumi.{name}-*.yaml"):
        settings.unlink()
    shutil.rmtree(paths.repository() / "runs" / name, ignore_errors=True)
    assert parts.find(lab.places) == []


@pytest.mark.slow
@pytest.mark.engine
def test_two_sites_are_proven_and_a_second_run_changes_nothing(default: Lab) -> None:
    said = _done(default)
    assert "PASS    2 sites: cloud, hall" in said
    assert "PASS    1 link: wan" in said
    assert "PASS    5 nodes: cnode-001, cnode-002, node-001, node-002, node-003" in said
    again = _done(default)
    assert "verified, nothing was missing" in again
    assert "no changes" in again
    assert "changed=0" in again
    assert "PASS    2 sites: cloud, hall" in again
