"""A suite in a job: steps in order, nodes that go away, what is made again, what is kept."""

from __future__ import annotations

import subprocess
import time
from threading import Event
from typing import TYPE_CHECKING

import pytest

from rackwright import canonical
from rackwright.validate import commands
from rackwright.validate.course import Course, Job
from rackwright.validate.evidence import Evidence, load
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Artefact, Ended, Rail, Run
from rackwright.validate.parsers.lines import seal
from tests.doubles.fake_slurm import FakeSlurm

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rackwright.validate.asked import Asked
    from rackwright.validate.suite import Suite
    from tests.doubles.fake_slurm import Outcome

NAMES = ("node-001", "node-002", "node-003")
MATRIX = {"check": "matrix", "order": 8, "seconds": 1, "at_once": 1}
LINKS = {"check": "links", "at_once": 8}
CLOCK = {"check": "clock", "questions": 3, "repeat_on_survivors": True}
COLLECTIVES = {
    "check": "collectives",
    "iterations": 1,
    "sizes": {"all_reduce": [8]},
    "repeat_on_survivors": True,
}


@pytest.fixture
def evidence(tmp_path: Path, whom: Asked) -> Evidence:
    run = Run(
        cluster="lab",
        suite="short",
        plan_sha256="0" * 64,
        started="2026-11-28T08:00:00Z",
        sites={"hall": NAMES},
        rails=tuple(
            Rail(node=node.name, fabric=port.fabric, rail=port.rail, interface=port.interface)
            for node in whom.nodes.values()
            for port in node.ports
        ),
        checks=(),
        expectations=Artefact(path="expectations.json", sha256="0" * 64),
    )
    return Evidence.begin(tmp_path / "run", run, Expectations(expectations=()))


@pytest.fixture
def make_course(whom: Asked, evidence: Evidence, make_suite: Callable[..., Suite]) -> Callable[..., Course]:
    def make(slurm: FakeSlurm, *checks: dict[str, object]) -> Course:
        suite = make_suite(*checks)
        job = Job(7, NAMES, lambda: True)
        return Course(whom, suite.checks, suite, slurm, job, evidence, lambda _: None)

    return make


def world(step: Callable[[str, Sequence[str]], Outcome] | None = None) -> FakeSlurm:
    slurm = FakeSlurm(dict.fromkeys(NAMES, ("ALLOCATED",)), reasons={"node-002": "Not responding"})
    if step is not None:
        slurm.step = step
    return slurm


def ended(course: Course) -> dict[str, Ended]:
    return {step.name: step.ended for step in course.evidence.run.steps}


def dying_in(slurm: FakeSlurm, first: str) -> Callable[[str, Sequence[str]], Outcome]:
    """node-002 goes away in the step of that name."""

    def step(name: str, nodes: Sequence[str]) -> Outcome:
        if name == first:
            slurm.nodes["node-002"] = ("DOWN",)
        return (
            (1, "half", "srun: error: Node failure") if "node-002" in nodes and name == first else (0, "", "")
        )

    return step


def test_steps_are_made_in_order_and_kept(make_course: Callable[..., Course]) -> None:
    course = make_course(world(lambda name, _: (0, f"said by {name}\n", "warned")), CLOCK, MATRIX)
    course.run()
    assert ended(course) == dict.fromkeys(
        ["clock", "matrix/node-001", "matrix/node-002", "matrix/node-003"], Ended.DONE
    )
    kept = load(course.evidence.folder)
    assert kept == course.evidence.run
    assert kept.steps[1].stdout is not None
    raw = (course.evidence.folder / kept.steps[1].stdout.path).read_bytes()
    assert raw == b"said by matrix/node-001\n"
    assert kept.steps[1].stdout.sha256 == canonical.sha256(raw)
    assert "--jobid=7" in kept.steps[1].command


def test_nodes_rest_before_a_check_that_asks_for_it_and_only_once(
    make_course: Callable[..., Course], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DCGM#272: a diagnosis right after a burn fails."""
    rested: list[tuple[float, int]] = []
    course = make_course(world(), MATRIX, {**CLOCK, "settle_s": 30})
    monkeypatch.setattr(time, "sleep", lambda s: rested.append((s, len(course.evidence.run.steps))))
    course.run()
    assert rested == [(30, len(NAMES))], "after the load, and before the step"
    course.run()
    assert len(rested) == 1, "what is made already needs no rest"


def test_a_node_lost_on_the_way_is_named_and_the_others_go_on(make_course: Callable[..., Course]) -> None:
    slurm = world()
    slurm.step = dying_in(slurm, "matrix/node-002")
    course = make_course(slurm, MATRIX, {**LINKS})
    course.run()
    assert ended(course) == {
        "matrix/node-001": Ended.DONE,
        "matrix/node-002": Ended.NODE_LOST,
        "matrix/node-003": Ended.DONE,
        "links/node-001": Ended.DONE,
        "links/node-003": Ended.DONE,
    }
    assert course.lost == {"node-002": "DOWN: Not responding"}
    lost = next(step for step in course.evidence.run.steps if step.lost)
    assert (lost.lost, lost.reason) == (("node-002",), "node-002 DOWN: Not responding")


def test_what_is_for_all_is_made_again_on_the_survivors(make_course: Callable[..., Course]) -> None:
    slurm = world()
    slurm.step = dying_in(slurm, "collectives/compute-0")
    course = make_course(slurm, COLLECTIVES)
    course.run()
    assert slurm.ran == [
        ("collectives/compute-0", NAMES),
        ("collectives/compute-0/again-1", ("node-001", "node-003")),
        ("collectives/compute-1", ("node-001", "node-003")),
        ("collectives/compute", ("node-001", "node-003")),
    ]


def test_it_is_not_where_the_suite_does_not_say_so(make_course: Callable[..., Course]) -> None:
    slurm = world()
    slurm.step = dying_in(slurm, "collectives/compute-0")
    course = make_course(slurm, {**COLLECTIVES, "repeat_on_survivors": False})
    course.run()
    assert [name for name, _ in slurm.ran] == ["collectives/compute-0"]
    assert ended(course)["collectives/compute-1"] is Ended.NOT_RUN


def test_a_pair_with_a_lost_node_is_not_run_and_says_why(make_course: Callable[..., Course]) -> None:
    slurm = world()
    slurm.step = dying_in(slurm, "pairs/compute-0/node-002+node-003/forward")
    pairs = {"check": "pairs", "seconds": 1, "partners": 9, "rails_at_once": True, "port": 5201}
    course = make_course(slurm, pairs)
    course.run()
    later = next(
        s for s in course.evidence.run.steps if s.name == "pairs/compute-1/node-001+node-002/reverse"
    )
    assert (later.ended, later.reason) == (Ended.NOT_RUN, "node-002 was lost before")
    assert ended(course)["pairs/compute-1/node-001+node-003/reverse"] is Ended.DONE


OUT_OF_TIME = "timeout: sending signal TERM to command 'srun'\n"
KILLED = OUT_OF_TIME + "timeout: envoi du signal KILL à la commande « srun »\n"
OUT_OF_MEMORY = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=7.1.\nsrun: error: n1: task 0: Out Of Memory\n"
)


@pytest.mark.parametrize(
    ("status", "stderr", "expected", "reason"),
    [
        (124, OUT_OF_TIME, Ended.TIMED_OUT, "took longer than 10 s and was stopped"),
        (137, KILLED, Ended.TIMED_OUT, "took longer than 10 s and was stopped"),
        (124, "no time\n", Ended.FAILED, "exit status 124: no time"),
        (
            137,
            OUT_OF_MEMORY,
            Ended.FAILED,
            "exit status 137 (SIGKILL): srun: error: n1: task 0: Out Of Memory",
        ),
        (137, "", Ended.FAILED, "exit status 137 (SIGKILL)"),
        (2, "warning\nno such program\n", Ended.FAILED, "exit status 2: no such program"),
    ],
)
def test_a_step_that_ends_badly_on_living_nodes(
    make_course: Callable[..., Course], status: int, stderr: str, expected: Ended, reason: str
) -> None:
    course = make_course(world(lambda *_: (status, "", stderr)), CLOCK)
    course.run()
    (step,) = course.evidence.run.steps
    assert (step.ended, step.exit_status, step.reason, step.lost) == (expected, status, reason, ())
    assert course.lost == {}


@pytest.mark.parametrize(
    ("program", "stopped"),
    [
        ("exec sleep 20", True),
        ("trap '' TERM; while :; do :; done", True),
        ("exit 124", False),
        ("kill -9 $$", False),
        ("kill -TERM $PPID; sleep 20", False),
    ],
)
def test_only_timeout_itself_says_that_time_was_over(program: str, *, stopped: bool) -> None:
    """The real timeout(1), as steps are ended by it."""
    words = commands.srun(commands.Task(("true",)), "step", NAMES, 7, 0.2)
    ended = [word if not word.startswith("--kill-after") else "--kill-after=0.2" for word in words[:4]]
    assert ended[0] == "timeout"
    done = subprocess.run([*ended, "sh", "-c", program], capture_output=True, check=False, text=True)
    status = 128 - done.returncode if done.returncode < 0 else done.returncode
    assert status in {124, 137, 143}
    assert commands.was_stopped(status, done.stderr.splitlines()) is stopped


def test_of_what_srun_says_the_line_that_tells_why_is_kept(make_course: Callable[..., Course]) -> None:
    why = "srun: error: Task launch for StepId=5.1 failed on node node-003: Unspecified error"
    said = f"{why}\nsrun: error: Application launch failed: Unspecified error\nsrun: Job step aborted\n"
    course = make_course(world(lambda *_: (254, "", said)), CLOCK)
    course.run()
    (step,) = course.evidence.run.steps
    assert step.reason == f"exit status 254: {why}"


def test_a_step_that_fails_is_made_again_as_often_as_the_suite_says(
    make_course: Callable[..., Course],
) -> None:
    outcomes = iter([(139, "", "crashed"), (0, "fine", "")])
    course = make_course(world(lambda *_: next(outcomes)), {**CLOCK, "tries": 2})
    course.run()
    assert ended(course) == {"clock": Ended.FAILED, "clock/again-1": Ended.DONE}


def test_and_no_oftener(make_course: Callable[..., Course]) -> None:
    course = make_course(world(lambda *_: (139, "", "crashed")), {**CLOCK, "tries": 2})
    course.run()
    assert ended(course) == {"clock": Ended.FAILED, "clock/again-1": Ended.FAILED}


def _links(dark: str) -> Callable[[str, Sequence[str]], Outcome]:
    def step(name: str, nodes: Sequence[str]) -> Outcome:
        if not name.startswith("links/"):
            return 0, "", ""
        up = {"present": True, "carrier": True, "operstate": "up", "mtu": 1500}
        down = {**up, "carrier": False, "operstate": "lowerlayerdown"}
        interfaces = {"r0": up, "r1": down if nodes[0] == dark else up}
        line = {"schema": "rackwright/links/1", "kind": "result", "host": nodes[0], "interfaces": interfaces}
        return 0, seal(dict(line)) + "\n", ""

    return step


def test_ports_that_the_links_check_found_dark_are_left_out_of_what_follows(
    make_course: Callable[..., Course],
) -> None:
    slurm = world(_links(dark="node-003"))
    course = make_course(slurm, LINKS, COLLECTIVES)
    course.run()
    assert ("collectives/compute-1", ("node-001", "node-002")) in slurm.ran
    left_out = next(
        step for step in course.evidence.run.steps if step.name == "collectives/compute-1/node-003"
    )
    assert (left_out.ended, left_out.reason) == (
        Ended.NOT_RUN,
        "node-003 has no carrier on rail 1 of compute",
    )


def test_an_interruption_cancels_the_job_and_keeps_what_was_made(
    make_course: Callable[..., Course],
) -> None:
    cancelled: list[bool] = []

    def step(_: str, nodes: Sequence[str]) -> Outcome:
        if nodes == ("node-002",):
            raise KeyboardInterrupt
        return 0, "", ""

    course = make_course(world(step), MATRIX)
    course.job = Job(7, NAMES, lambda: not cancelled.append(True))  # type: ignore[func-returns-value]  # (None)
    with pytest.raises(KeyboardInterrupt):
        course.run()
    assert cancelled == [True]
    assert [step.name for step in load(course.evidence.folder).steps] == ["matrix/node-001"]


@pytest.mark.parametrize("could_be_cancelled", [True, False])
def test_steps_that_hang_are_given_up_where_the_job_cannot_be_cancelled(
    make_course: Callable[..., Course], *, could_be_cancelled: bool
) -> None:
    """slurmctld is dead: a step is waited for as long as its limit lets it, 900 s of a collective."""
    slurm = world()

    def cancel() -> bool:
        if could_be_cancelled:
            ends.set()
        return could_be_cancelled

    def step(_: str, nodes: Sequence[str]) -> Outcome:
        if nodes == ("node-002",):
            raise KeyboardInterrupt
        assert (ends if could_be_cancelled else slurm.given_up).wait(60), "it was waited for"
        return 1, "", ""

    ends = Event()
    slurm.step = step
    course = make_course(slurm, {**LINKS})
    course.job = Job(7, NAMES, cancel)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        course.run()
    assert time.monotonic() - began < 30
    assert slurm.given_up.is_set() is not could_be_cancelled


COUNTERS = {"check": "counters", "folder": "/kept", "at_once": 8}
NCCL_TESTS = {
    "check": "nccl-tests",
    "programs": ["all_reduce_perf"],
    "from_bytes": 8,
    "to_bytes": 16,
    "iterations": 1,
    "repeat_on_survivors": True,
}


def test_counters_are_read_before_everything_else_and_after_it(make_course: Callable[..., Course]) -> None:
    course = make_course(world(), COUNTERS, CLOCK)
    course.run()
    made = list(ended(course))
    before, after = ([f"counters/{when}/{name}" for name in NAMES] for when in ("before", "after"))
    assert (sorted(made[:3]), made[3], sorted(made[4:])) == (before, "clock", after)
    words = {step.name: " ".join(step.command) for step in course.evidence.run.steps}
    run = "counters.py --run 2026-11-28T08:00:00Z"
    assert f"{run} --before /kept/rackwright-counters.json r0 r1" in words[before[0]]
    assert f"{run} --after /kept/rackwright-counters.json r0 r1" in words[after[0]]
    assert course.is_made()


def test_what_nccl_tests_print_is_also_read_as_their_log(make_course: Callable[..., Course]) -> None:
    course = make_course(world(), NCCL_TESTS, {"check": "transport"})
    course.run()
    test, log = course.evidence.run.steps
    assert (log.name, log.check, log.tool) == ("transport/all_reduce_perf", "transport", "nccl-log")
    assert (log.stdout, log.nodes, log.ended) == (test.stdout, test.nodes, test.ended)


def test_a_step_and_its_twin_are_never_written_apart(
    make_course: Callable[..., Course], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed between two writes would go on without the log, which nobody makes again."""
    course = make_course(world(), NCCL_TESTS, {"check": "transport"})
    seen: list[tuple[str, ...]] = []
    write = canonical.write_atomic

    def noting(path: Path, text: str) -> None:
        write(path, text)
        seen.append(tuple(step.check for step in load(course.evidence.folder).steps))

    monkeypatch.setattr(canonical, "write_atomic", noting)
    course.run()
    assert set(seen) == {("nccl-tests", "transport")}


def test_the_log_of_nccl_tests_is_left_alone_where_nobody_asks_for_it(
    make_course: Callable[..., Course],
) -> None:
    course = make_course(world(), NCCL_TESTS)
    course.run()
    assert list(ended(course)) == ["nccl-tests/all_reduce_perf"]
