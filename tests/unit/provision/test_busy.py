"""Hosts with jobs: what Slurm says of them, how long that counts, and that nothing is done to them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from rackwright.provision import busy, jobs
from rackwright.provision.onprem import hostset

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwright.plan.model import Plan
    from tests.unit.provision.conftest import Ground

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
JOB = {"node-002": "runs Slurm job 7 of alice"}


@pytest.mark.parametrize(
    ("age", "held"),
    [
        (timedelta(0), JOB),
        (busy.FRESH, JOB),
        (busy.FRESH + timedelta(seconds=1), {}),
        (timedelta(seconds=-1), {}),
    ],
)
def test_a_note_counts_while_it_is_fresh(tmp_path: Path, age: timedelta, held: dict[str, str]) -> None:
    busy.write(tmp_path, JOB, NOW)
    assert busy.read(tmp_path, NOW + age) == held


@pytest.mark.parametrize(
    "raw",
    [b"", b"{}", b'{"schema": "rackwright/busy/2"}', b"no JSON", b"\xff\xfe", b'{"hosts": "\xc3', bytes(99)],
)
def test_what_is_no_note_holds_nobody(tmp_path: Path, raw: bytes) -> None:
    assert busy.read(tmp_path) == {}
    (tmp_path / busy.NOTE).write_bytes(raw)
    assert busy.read(tmp_path) == {}


def test_a_host_with_a_job_is_not_spoken_to_and_comes_up_when_its_job_is_over(
    make_ground: Callable[..., Ground],
) -> None:
    ground = make_ground(3)
    wanted = ground.wanted_set()
    first = hostset.brought_up(None, wanted, ground.access, ground.reconciler)
    ground.bmc("node-001").power = ground.bmc("node-002").power = "Off"
    read = hostset.read(first, ground.access, ground.reconciler)
    ground.bmc("node-002").asked.clear()
    second = hostset.brought_up(read, wanted, ground.access, ground.reconciler, JOB)
    assert {slot: host.power for slot, host in second.hosts.items()} == {
        "node-001": "on",
        "node-002": "held",
        "node-003": "on",
    }
    assert second.hosts["node-002"].held == JOB["node-002"]
    assert not ground.bmc("node-002").asked
    assert ground.bmc("node-002").power == "Off"
    third = hostset.brought_up(second, wanted, ground.access, ground.reconciler)
    assert third.hosts["node-002"].power == "on"
    assert ground.bmc("node-002").power == "On"


def test_a_host_that_is_as_wanted_is_left_as_it_is_whatever_runs_on_it(ground: Ground) -> None:
    wanted = ground.wanted_set()
    first = hostset.brought_up(None, wanted, ground.access, ground.reconciler)
    assert hostset.brought_up(first, wanted, ground.access, ground.reconciler, JOB) == first


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cluster whose head is known, and an `ssh` that says what the file `squeue` has."""
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nexec sh {tmp_path}/squeue\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:/usr/bin:/bin")
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "known_hosts").write_text("head-001,head-001.x,10.0.0.1 ssh-ed25519 AAAA\n")
    return tmp_path


def _plan(*controllers: str) -> Plan:
    return cast("Plan", SimpleNamespace(slurm={"main": SimpleNamespace(controllers=controllers)}))


def _note(state: Path, *controllers: str) -> tuple[dict[str, str], list[str]]:
    told: list[str] = []
    return jobs.note(_plan(*controllers), state, told.append), told


def test_jobs_hold_all_their_nodes(state: Path) -> None:
    (state / "squeue").write_text("echo '7|alice|node-[001-002]'; echo '8|bob|node-002'; echo '9|eve|'")
    held, told = _note(state, "head-001")
    assert held == {
        "node-001": "runs Slurm job 7 of alice",
        "node-002": "runs Slurm job 7 of alice and 1 more",
    }
    assert told == []
    assert busy.read(state) == held
    asked = (state / "asked").read_text()
    assert f"-F {state}/inventory/ssh_config" in asked
    assert "ConnectTimeout=5" in asked


def test_when_no_job_runs_nobody_is_held_any_more(state: Path) -> None:
    busy.write(state, JOB)
    (state / "squeue").write_text("true")
    assert _note(state, "head-001") == ({}, [])


def test_a_slurm_that_does_not_answer_is_told_and_its_last_word_counts(state: Path) -> None:
    busy.write(state, JOB)
    (state / "squeue").write_text(
        "echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1"
    )
    held, told = _note(state, "head-001")
    assert held == JOB
    said = "slurm_load_jobs error: Unable to contact slurm controller"
    assert told == [f"Slurm main was not asked for jobs: head-001: {said}"]


def test_a_line_that_is_no_text_keeps_nobody_from_being_known(state: Path) -> None:
    known = state / "inventory" / "known_hosts"
    known.write_bytes(b"\xff\xfe,\x80\n" + known.read_bytes())
    (state / "squeue").write_text("echo '7|alice|node-001'")
    assert _note(state, "head-001") == ({"node-001": "runs Slurm job 7 of alice"}, [])


def test_a_controller_without_a_known_key_is_never_connected_to(state: Path) -> None:
    (state / "squeue").write_text("echo '7|alice|node-001'")
    assert _note(state, "head-002") == ({}, [])
    assert not (state / "asked").exists()
