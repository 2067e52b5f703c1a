"""What a controller lays out for the instances that it configures, and runs of Ansible beside one another."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.burst.configure import Configurer, Places
from rackwright.burst.model import Setting
from rackwright.cli.cluster import open_cluster
from rackwright.lab.processes import Process
from rackwright.plan.observed import HostKey, ObservedSlot
from rackwright.render.files import SLURM, SUBNETS, for_roles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

SLOT = "cnode-002"
RUNS = 11
"""More than the folders that are kept."""
WITHIN_S, GIVEN_S = 60.0, 900.0
ANSIBLE = """#!/bin/sh
# Works until a test lets it go; its worker is a session of its own, as Ansible's are.
echo "TASK [slurm_node : Settings] ****"
setsid sleep 600 & worker=$!
trap 'echo "[ERROR]: User interrupted execution"; exit 99' INT
echo $worker > worker.new; mv worker.new worker
until [ -e "$MAY_END" ]; do sleep 0.1; done
kill $worker
"""


@dataclass
class Clock:
    """Seconds that a test lets pass."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def configurer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Iterator[Configurer]:
    program = tmp_path / "bin" / "ansible-playbook"
    program.parent.mkdir()
    program.write_text(ANSIBLE)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("MAY_END", str(tmp_path / "may-end"))
    one = _configurer(tmp_path, clock)
    yield one
    (tmp_path / "may-end").touch()
    _until(lambda: not (list(one.ended()) or one.at_work))


def _configurer(folder: Path, now: Callable[[], float] = time.monotonic) -> Configurer:
    plan = open_cluster(paths.repository() / "clusters" / "lab-hybrid.yaml").plan
    setting = Setting(scheduler="main", grounds={}, authorized_keys=(), controllers={})
    return Configurer(plan, setting, Places(folder, folder, folder / "work", folder), GIVEN_S, now)


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def _over(configurer: Configurer) -> tuple[Mapping[str, str], str]:
    """The one run that is, once it is."""
    end = time.monotonic() + WITHIN_S
    while not (over := list(configurer.ended())):
        assert time.monotonic() < end
        time.sleep(0.02)
    (one,) = over
    return one


def _seen(number: int) -> dict[str, ObservedSlot]:
    key = HostKey(type="ssh-ed25519", key=f"AAAA{number:02}")
    return {SLOT: ObservedSlot(host_keys=(key,), instance=f"i-{number:02}", address="10.64.0.17")}


def test_all_that_a_converge_renders_for_the_roles_of_nodes_is_there(tmp_path: Path) -> None:
    one = _configurer(tmp_path)
    one.lay_files()
    laid = {path.relative_to(tmp_path / "work").as_posix() for path in (tmp_path / "work").rglob("*.*")}
    laid |= {path.name for path in (tmp_path / "work").iterdir() if path.is_file()}
    others = (f"{SLURM}/", f"{SUBNETS}/")
    wanted = {file.path for file in for_roles(one.plan) if not file.path.startswith(others)}
    assert laid == wanted
    assert "tuning/cnode/kernel-tuning.json" in laid


def test_no_run_takes_the_folder_of_one_that_still_works(configurer: Configurer, tmp_path: Path) -> None:
    for number in range(RUNS):
        configurer.begin(_seen(number))
    assert configurer.at_work == {f"i-{number:02}" for number in range(RUNS)}
    known = sorted(path.read_text().split()[-1] for path in (tmp_path / "work/runs").glob("*/known_hosts"))
    assert known == [f"AAAA{number:02}" for number in range(RUNS)]


def test_a_run_that_hangs_is_stopped_in_time_with_its_workers_and_told(
    configurer: Configurer, tmp_path: Path, clock: Clock
) -> None:
    configurer.begin(_seen(1))
    (runs,) = (tmp_path / "work/runs").iterdir()
    _until((runs / "worker").exists)
    worker = Process.of(int((runs / "worker").read_text()))
    assert worker is not None
    assert list(configurer.ended()) == []
    clock.now += GIVEN_S + 1
    why = f"not over after {GIVEN_S:g} s, stopped in TASK [slurm_node : Settings]"
    assert _over(configurer) == ({SLOT: "i-01"}, why)
    assert not worker.alive
    assert configurer.at_work == set()
    configurer.begin(_seen(2))
    time.sleep(1)
    assert configurer.at_work == {"i-02"}, "it is no longer told to stop"
