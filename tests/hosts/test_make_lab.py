"""`make lab`, past its set-up: cut off by Ctrl-C in every stage, it goes on, and no host boots twice."""

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
from tests.hosts.lab import WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.fixtures import MakeLab
    from tests.hosts.lab import Lab

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


def test_make_lab_goes_on_wherever_it_was_cut_off(fresh: Lab) -> None:
    for stage, after_s in CUTS_S.items():
        _cut(fresh, stage, after_s)
    assert "is up and proven" in _done(fresh)
    consoles = {name: (fresh.places.state / "console" / f"{name}.log") for name in fresh.states()}
    boots = {name: log.read_text(errors="replace").count(_KEYS) for name, log in consoles.items()}
    assert boots == {"head-001": 1, "node-001": 1, "node-002": 1}
    again = _done(fresh)
    assert "verified, nothing was missing" in again
    assert "no changes" in again
    assert "changed=0" in again
