"""A run that was cut off goes on from what is complete in it, and from nothing that is not as it was."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.errors import EvidenceSpoiled, Interrupted, UsageError
from rackwright.validate.evidence import Evidence, load
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Ended
from rackwright.validate.resume import cut_off
from rackwright.validate.run import Order, validate
from rackwright.validate.ssh import ControllerLost
from tests.doubles.fake_slurm import FakeSlurm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rackwright.validate.asked import Asked
    from rackwright.validate.model import Run
    from rackwright.validate.suite import Suite
    from tests.doubles.fake_slurm import Outcome

NAMES = ("node-001", "node-002", "node-003")
CHECKS: tuple[dict[str, object], ...] = (
    {"check": "links", "at_once": 1},
    {"check": "clock", "questions": 3, "repeat_on_survivors": True},
    {"check": "matrix", "order": 8, "seconds": 1, "at_once": 1},
    {
        "check": "collectives",
        "iterations": 1,
        "sizes": {"all_reduce": [8]},
        "repeat_on_survivors": True,
    },
)
STEPS = 10
"""Of them: 3 links, a clock, 3 matrix products, 3 collectives."""


class Killed(BaseException):
    """As SIGKILL: nothing of ours runs after it."""


class Site(NamedTuple):
    """A Slurm of three nodes, and what is asked of it."""

    order: Order
    slurm: FakeSlurm
    told: list[str]

    def begin(self, *, resume: bool = False) -> Run:
        validate(replace(self.order, resume=resume), self.slurm, self.told.append)
        return self.run

    @property
    def run(self) -> Run:
        assert self.order.folder is not None
        return load(self.order.folder)

    def cut_off(self, after: int) -> None:
        """Begin a run, and kill it in the step after so many; its job stays, as it does then."""
        before, count = self.slurm.step, Counter[str]()

        def step(name: str, nodes: Sequence[str]) -> Outcome:
            count["made"] += 1
            if count["made"] > after:
                raise Killed
            return before(name, nodes)

        self.slurm.step = step
        with pytest.raises(Killed):
            self.begin()
        self.slurm.step = before

    def leave_job(self) -> None:
        """As a real kill leaves it."""
        started = datetime.fromisoformat(self.run.started)
        self.slurm.job = f"rackwright-short-all-run-{started:%Y-%m-%dT%H%M%SZ}"


@pytest.fixture
def site(tmp_path: Path, whom: Asked, make_suite: Callable[..., Suite]) -> Site:
    order = Order(
        plan=open_cluster(paths.repository() / "clusters" / "lab.yaml").plan,
        plan_sha256="0" * 64,
        asked=whom,
        suite=make_suite(*CHECKS),
        expectations=Expectations(expectations=()),
        folder=tmp_path / "run",
        runs=tmp_path,
    )
    return Site(order, FakeSlurm(dict.fromkeys(NAMES, ("IDLE",))), [])


def made(site: Site) -> Counter[str]:
    return Counter(name for name, _ in site.slurm.ran)


@pytest.mark.parametrize("after", range(STEPS))
def test_killed_anywhere_it_goes_on_and_makes_no_complete_step_again(site: Site, after: int) -> None:
    site.cut_off(after)
    assert len(site.run.steps) == after
    assert site.run.finished is None
    run = site.begin(resume=True)
    assert len({step.name for step in run.steps}) == len(run.steps) == STEPS
    assert {step.ended for step in run.steps} == {Ended.DONE}
    assert run.finished is not None
    assert len(run.resumed) == 1
    again = {name for name, times in made(site).items() if times > 1}
    assert len(again) == 1, "only the step that it was killed in is made a second time"
    assert again.isdisjoint(step.name for step in run.steps[:after])


def test_the_job_of_who_was_killed_is_cancelled_first(site: Site) -> None:
    site.cut_off(4)
    site.leave_job()
    before = len(site.slurm.asked)
    site.begin(resume=True)
    programs = [words[0] for words in site.slurm.asked[before:]]
    assert programs.index("scancel") < programs.index("timeout"), "before salloc"
    assert site.slurm.job == ""


def test_the_job_of_who_was_killed_after_the_last_step_is_cancelled_too(site: Site) -> None:
    run = site.begin()
    assert site.order.folder is not None
    Evidence(site.order.folder, run).write(finished=None)
    site.leave_job()
    asked_for = len(site.slurm.commands("salloc"))
    assert site.begin(resume=True).steps == run.steps
    assert site.slurm.job == ""
    assert len(site.slurm.commands("salloc")) == asked_for, "there was nothing left to make"


@pytest.mark.parametrize(
    ("folder", "called"),
    [("run", "run-2026-11-28T080000Z"), ("2026-11-28T080000Z", "2026-11-28T080000Z")],
)
def test_jobs_of_two_runs_in_folders_of_one_name_have_two_names(
    site: Site, tmp_path: Path, folder: str, called: str
) -> None:
    """Each is cancelled by its name, for which the folder's is not enough."""
    site = site._replace(order=replace(site.order, folder=tmp_path / folder))
    site.cut_off(4)
    Evidence(tmp_path / folder, site.run).write(started="2026-11-28T08:00:00Z")
    site.begin(resume=True)
    assert f"--job-name=rackwright-short-all-{called}" in site.slurm.commands("salloc")[-1]


def test_who_is_stopped_loses_no_node_that_ran_a_step_then(site: Site) -> None:
    """In a job that was cancelled no node runs anything, not even what asks whether it is there."""
    first, *others = site.order.suite.checks
    checks = (first.model_copy(update={"at_once": 8}), *others)
    order = replace(site.order, suite=site.order.suite.model_copy(update={"checks": checks}))
    site = site._replace(order=order)

    def stopped(_: str, nodes: Sequence[str]) -> Outcome:
        if nodes == ("node-001",):
            raise KeyboardInterrupt
        ends = time.monotonic() + 60
        while not site.slurm.over:
            assert time.monotonic() < ends
            time.sleep(0.01)
        return 1, "", "srun: error: Force Terminated job 7\n"

    before, site.slurm.step = site.slurm.step, stopped
    with pytest.raises(Interrupted) as caught:
        site.begin()
    assert f"--resume {order.folder}" in caught.value.hint
    assert (site.run.lost, site.run.steps) == ({}, ())
    site.slurm.step = before
    run = site.begin(resume=True)
    assert (run.lost, {step.ended for step in run.steps}) == ({}, {Ended.DONE})


def test_who_loses_the_controller_is_told_how_the_run_goes_on(site: Site) -> None:
    def lost(name: str, _: Sequence[str]) -> Outcome:
        if name != "clock":
            return 0, "", ""
        raise ControllerLost("the controller cannot be reached", hint="ssh there")

    before, site.slurm.step = site.slurm.step, lost
    with pytest.raises(ControllerLost) as caught:
        site.begin()
    assert caught.value.hint == (
        f"ssh there; then the same command with `--resume {site.order.folder}` goes on from there"
    )
    site.slurm.step = before
    assert len(site.begin(resume=True).steps) == STEPS


def test_who_is_stopped_as_the_run_ends_is_told_to_judge_it(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = canonical.write_atomic
    pressed: list[str] = []

    def pressing(path: Path, text: str) -> None:
        if '"finished": "' in text and not pressed:
            pressed.append("Ctrl-C")
            raise KeyboardInterrupt
        write(path, text)

    monkeypatch.setattr(canonical, "write_atomic", pressing)
    with pytest.raises(Interrupted) as caught:
        site.begin()
    assert caught.value.hint == f"`rackwright judge {site.order.folder}` judges it"
    assert site.run.finished is not None


def test_output_of_a_step_that_was_cut_off_is_never_written_into(site: Site) -> None:
    """Whoever made that step may outlive the one that was killed, and still write to its file."""
    site.cut_off(4)
    assert site.order.folder is not None
    (cut,) = site.order.folder.glob("raw/matrix/*.stdout")
    with cut.open("ab") as orphan:
        site.begin(resume=True)
        orphan.write(b"late")
        orphan.flush()
    for step in site.run.steps:
        assert step.stdout is not None
        assert b"late" not in (site.order.folder / step.stdout.path).read_bytes()


def test_a_folder_that_is_not_there_is_not_made(site: Site) -> None:
    with pytest.raises(UsageError) as caught:
        site.begin(resume=True)
    assert caught.value.code == "RUN001"
    assert site.order.folder is not None
    assert not site.order.folder.exists()


def test_a_run_that_came_to_its_end_is_not_gone_on_with(site: Site) -> None:
    site.begin()
    with pytest.raises(UsageError) as caught:
        site.begin(resume=True)
    assert caught.value.code == "VAL009"


@pytest.mark.parametrize(
    "changed",
    [
        lambda order: replace(order, plan_sha256="1" * 64),
        lambda order: replace(order, suite=order.suite.model_copy(update={"answer_within_s": 3})),
        lambda order: replace(
            order, asked=replace(order.asked, nodes=dict([*order.asked.nodes.items()][1:]))
        ),
    ],
    ids=["plan", "suite", "nodes"],
)
def test_a_run_of_something_else_is_not_gone_on_with(site: Site, changed: Callable[[Order], Order]) -> None:
    site.cut_off(4)
    before = site.run
    with pytest.raises(UsageError) as caught:
        site._replace(order=changed(site.order)).begin(resume=True)
    assert caught.value.code == "VAL010"
    assert site.run == before


def _without_one(asked: Asked) -> Asked:
    return replace(asked, nodes={name: node for name, node in asked.nodes.items() if name != NAMES[0]})


def test_a_run_whose_evidence_was_changed_is_not_gone_on_with(site: Site) -> None:
    site.cut_off(4)
    first = site.run.steps[0].stdout
    assert first is not None
    assert site.order.folder is not None
    (site.order.folder / first.path).write_bytes(b"better")
    with pytest.raises(EvidenceSpoiled):
        site.begin(resume=True)


def test_a_folder_in_which_somebody_is_at_work_is_left_alone(site: Site) -> None:
    site.cut_off(4)
    assert site.order.folder is not None
    handle = os.open(site.order.folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(UsageError) as caught:
            site.begin(resume=True)
    finally:
        os.close(handle)
    assert caught.value.code == "VAL008"
    assert len(site.begin(resume=True).steps) == STEPS


def test_who_was_lost_before_stays_lost_and_what_is_for_all_is_made_on_the_others(site: Site) -> None:
    def dies(name: str, nodes: Sequence[str]) -> Outcome:
        if name == "matrix/node-002":
            site.slurm.nodes["node-002"] = ("DOWN",)
        return (1, "", "") if "node-002" in nodes and name.startswith("matrix") else (0, "", "")

    site.slurm.step = dies
    site.cut_off(7)
    assert set(site.run.lost) == {"node-002"}
    site.slurm.nodes["node-002"] = ("IDLE",)
    run = site.begin(resume=True)
    assert set(run.lost) == {"node-002"}
    collectives = {step.nodes for step in run.steps if step.check == "collectives"}
    assert collectives == {("node-001", "node-003")}


def test_who_begins_another_run_is_told_of_the_one_that_was_cut_off(site: Site) -> None:
    runs = site.order.runs / "runs"
    first = runs / "2026-11-28T080000Z"
    site._replace(order=replace(site.order, folder=first, runs=runs)).cut_off(4)
    validate(replace(site.order, folder=None, runs=runs), site.slurm, site.told.append)
    assert f"{first} was cut off after 4 steps: `--resume {first}` would go on with it" in site.told


def test_a_run_in_which_another_process_is_at_work_was_not_cut_off(site: Site) -> None:
    runs = site.order.runs / "runs"
    first = runs / "2026-11-28T080000Z"
    site._replace(order=replace(site.order, folder=first, runs=runs)).cut_off(4)
    holds = (
        "import fcntl, os, sys; "
        "fcntl.flock(os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY), fcntl.LOCK_EX); "
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holds, first], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert cut_off(runs, site._replace(order=replace(site.order, folder=first)).run) is None
        other.communicate()
    found = cut_off(runs, site._replace(order=replace(site.order, folder=first)).run)
    assert found is not None
    assert found[0] == first, "its holder ended"


def test_what_a_run_that_goes_on_has_is_read_in_parts(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A night's logs may be longer than the controller's memory."""
    site.cut_off(4)

    def whole(path: Path) -> bytes:
        raise AssertionError(path)

    monkeypatch.setattr("pathlib.Path.read_bytes", whole)
    assert len(site.begin(resume=True).steps) == STEPS
