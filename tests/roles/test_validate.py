"""`rackwright validate` on real hosts: real Slurm jobs, a node that dies, nodes that are in use."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.evidence import load
from rackwright.validate.model import Ended
from tests.roles.conftest import HEAD, NODES, WITHIN_S, wait
from tests.roles.validation import command, everything, finish, start, there, validate, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.validate.model import Step
    from tests.roles.conftest import Site

pytestmark = pytest.mark.lab

VICTIM = "node-002"


def test_good_nodes_pass_and_slurm_accounts_for_it(idle: Site, tmp_path: Path) -> None:
    assert validate(idle, tmp_path / "run", code=0) == everything(NODES)
    run = load(tmp_path / "run")
    assert {step.ended for step in run.steps} == {Ended.DONE}
    assert run.machines.keys() == set(NODES)
    assert run.history is not None
    (job,) = run.job_ids
    accounted = idle.user(f"sacct --jobs={job} --noheader --parsable2 --format=JobName%80,User,State")
    names = {line.partition("|")[0] for line in accounted.splitlines()}
    assert {step.name for step in run.steps} <= names
    assert idle.user("squeue --noheader") == ""
    for name in ("report.html", "junit.xml", "measurements.json", "verdict.json"):
        assert (tmp_path / "run" / name).stat().st_size > 0


@pytest.mark.slow
def test_a_port_that_lost_its_link_for_a_while_is_told_by_its_counters(idle: Site, tmp_path: Path) -> None:
    """Nothing goes over it meanwhile: the link is there before and after, when others look."""
    process = start(idle, tmp_path / "run")
    folder = tmp_path / "run"
    begun = [folder / "raw" / "counters" / "before" / f"{node}.stdout" for node in NODES]
    wait(lambda: all(file.is_file() and file.stat().st_size for file in begun), lambda: "not begun")
    idle.lab.rackwright("lab", "fault", "cut-rail", f"{VICTIM}/r1", "--lab", idle.lab.name)
    time.sleep(8)
    idle.lab.rackwright("lab", "fault", "clear", "--lab", idle.lab.name)
    out, err = process.communicate(timeout=2 * WITHIN_S)
    assert process.returncode == 1, out + err
    subjects = {one["name"]: one for one in json.loads(out)["subjects"]}
    told = {
        node: one
        for node in NODES
        for one in subjects[node]["reasons"]
        if one["criterion"] == "port-counters"
    }
    assert told[VICTIM]["cause"].startswith("down of device r1 port 0 is ")
    assert {node: one["value"] for node, one in told.items()} == {
        node: "FAIL" if node == VICTIM else "PASS" for node in NODES
    }


def test_a_node_killed_in_a_collective_is_error_and_the_others_are_judged(idle: Site, tmp_path: Path) -> None:
    process = start(idle, tmp_path / "run")
    first = tmp_path / "run" / "raw" / "collectives" / "compute-0.stdout"
    wait(lambda: first.exists() and first.stat().st_size > 0, lambda: "no collective began")
    idle.lab.reset(VICTIM, "ForceOff")
    try:
        out, err = process.communicate(timeout=2 * WITHIN_S)
    finally:
        idle.lab.boot(VICTIM)
    assert process.returncode == 3, out + err
    found = verdicts(out)
    assert {name for name, value in found.items() if value == "ERROR"} == {
        "hall",
        VICTIM,
        f"{VICTIM}/r0",
        f"{VICTIM}/r1",
    }
    assert {value for name, value in found.items() if VICTIM not in name and name != "hall"} == {"PASS"}
    run = load(tmp_path / "run")
    assert set(run.lost) == {VICTIM}
    survivors = tuple(name for name in NODES if name != VICTIM)
    assert [step.nodes for step in run.steps if step.name == "collectives/compute-0/again-1"] == [survivors]


def test_and_once_it_is_back_a_validation_takes_it_into_use(site: Site, tmp_path: Path) -> None:
    wait(lambda: site.node_states()[VICTIM] in {"down", "idle"}, site.node_reasons)
    wait(lambda: "Not responding" not in site.node_reasons(), site.node_reasons)
    assert validate(site, tmp_path / "run", code=0) == everything(NODES)


@pytest.fixture
def busy(idle: Site) -> Iterator[str]:
    """node-003 runs a job of somebody's."""
    job = idle.user("sbatch --parsable --exclusive --nodelist=node-003 --wrap 'sleep 600'")
    wait(lambda: "RUNNING" in idle.user(f"squeue --noheader --format=%T --jobs={job}"), idle.node_reasons)
    yield job
    idle.user(f"scancel {job}")


def test_a_node_with_a_job_is_held_and_keeps_it(idle: Site, busy: str, tmp_path: Path) -> None:
    found = validate(idle, tmp_path / "run", code=3)
    run = load(tmp_path / "run")
    assert run.held == {"node-003": f"runs job {busy} of rackwright"}
    assert {name: found[name] for name in NODES} == {
        "node-001": "PASS",
        "node-002": "PASS",
        "node-003": "NOT_RUN",
    }
    assert idle.user(f"squeue --noheader --format=%T --jobs={busy}") == "RUNNING"


@pytest.fixture
def closed(idle: Site) -> Iterator[None]:
    """A partition that starts no job."""
    scontrol = idle.host(HEAD).check_output
    scontrol("scontrol update partitionname=all state=down")
    yield
    scontrol("scontrol update partitionname=all state=up")


@pytest.mark.slow
@pytest.mark.usefixtures("closed")
def test_a_job_that_cannot_start_is_cancelled_and_told(idle: Site, tmp_path: Path) -> None:
    found = validate(idle, tmp_path / "run", code=3)
    assert set(found.values()) == {"ERROR"}
    run = load(tmp_path / "run")
    assert (run.job_ids, run.steps) == ((), ())
    assert all("did not start within" in why for why in run.lost.values()), run.lost
    assert idle.user("squeue --noheader") == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_in_the_middle_it_cancels_its_job_and_keeps_what_it_has(
    idle: Site, tmp_path: Path, number: signal.Signals
) -> None:
    process = start(idle, tmp_path / "run")
    wait(lambda: len(_steps(tmp_path / "run")) > 3, lambda: "no step was made")
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=WITHIN_S)
    assert process.returncode == 130, out + err
    wait(lambda: idle.user("squeue --noheader") == "", lambda: idle.user("squeue"))
    run = load(tmp_path / "run")
    assert run.finished is None
    assert run.steps[0].stdout is not None
    judged = idle.lab.json("judge", str(tmp_path / "run"), code=3)
    assert judged["verdict"] != "PASS"


def _steps(folder: Path) -> tuple[Step, ...]:
    run = there(folder)
    return run.steps if run else ()


def test_killed_in_the_middle_it_loses_no_step_that_had_ended(idle: Site, tmp_path: Path) -> None:
    process = start(idle, tmp_path / "run")
    wait(lambda: len(_steps(tmp_path / "run")) > 3, lambda: "no step was made")
    process.kill()
    process.communicate(timeout=WITHIN_S)
    run = load(tmp_path / "run")
    assert len(run.steps) > 3
    assert all((tmp_path / "run" / step.stdout.path).exists() for step in run.steps if step.stdout)
    idle.user("scancel --me")
    time.sleep(1)


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_from_what_is_complete(idle: Site, tmp_path: Path) -> None:
    process = start(idle, tmp_path / "run")
    wait(lambda: len(_steps(tmp_path / "run")) > 3, lambda: "no step was made")
    process.kill()
    process.communicate(timeout=WITHIN_S)
    before = load(tmp_path / "run").steps
    resumed = command(idle, "--resume", str(tmp_path / "run"))
    assert finish(resumed, code=0) == everything(NODES)
    run = load(tmp_path / "run")
    assert run.steps[: len(before)] == before
    assert len({step.name.partition("/again-")[0] for step in run.steps}) == len(run.steps)
    assert len(run.job_ids) == 2
    assert idle.user("squeue --noheader") == ""


def test_without_slurm_it_says_what_to_do(idle: Site, tmp_path: Path) -> None:
    idle.host(HEAD).check_output("systemctl stop slurmctld")
    try:
        process = start(idle, tmp_path / "run")
        out, err = process.communicate(timeout=WITHIN_S)
    finally:
        idle.host(HEAD).check_output("systemctl start slurmctld")
    assert process.returncode == 2
    assert json.loads(out)["code"] == "VAL006", err
    assert not (tmp_path / "run").exists()
