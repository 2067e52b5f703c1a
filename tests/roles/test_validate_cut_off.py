"""One validation, cut off again and again in every kind of step and between them: it goes on each time."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from rackwright.validate.evidence import artefacts, check
from rackwright.validate.model import Ended
from tests.roles.conftest import HEAD, HOSTS, NODES, WITHIN_S, wait
from tests.roles.cut_off import (
    CODES,
    LOST,
    STOPPED,
    Left,
    Validation,
    Way,
    all_is_made,
    asks_for_a_job,
    ended,
    has_a_job,
    has_begun,
    is_finished,
    reaches_out,
    under_way,
)
from tests.roles.validation import everything, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.validate.model import Run
    from tests.roles.conftest import Site

pytestmark = [pytest.mark.lab, pytest.mark.slow]

CUTS: tuple[tuple[str, Callable[[Validation], bool], Way], ...] = (
    ("before anything is written", reaches_out, Way.CTRL_C),
    ("before anything is written", reaches_out, Way.KILL_ALL),
    ("as it begins", has_begun, Way.CTRL_C),
    ("as it begins", has_begun, Way.KILL),
    ("as it begins", has_begun, Way.IMPATIENT),
    ("while its job waits", asks_for_a_job, Way.CTRL_C),
    ("while its job waits", asks_for_a_job, Way.KILL),
    ("while its job waits", asks_for_a_job, Way.IMPATIENT),
    ("while its job waits", asks_for_a_job, Way.KILL_ALL),
    ("while its job waits", asks_for_a_job, Way.CONNECTION),
    ("right when it has a job", has_a_job, Way.TERM),
    ("right when it has a job", has_a_job, Way.KILL),
    ("in links", under_way("links/*"), Way.KILL),
    ("in clock", under_way("clock"), Way.CTRL_C),
    ("in counters before", under_way("counters/before/*"), Way.KILL_ALL),
    ("after counters before", ended("counters/before/*"), Way.KILL),
    ("in matrix", under_way("matrix/node-001"), Way.TERM),
    ("between two products", ended("matrix/node-001"), Way.KILL_ALL),
    ("in matrix", under_way("matrix/node-002"), Way.STEP),
    ("in matrix", under_way("matrix/node-003"), Way.KILL),
    ("in memory", under_way("memory/*"), Way.CTRL_C),
    ("in memory", under_way("memory/*"), Way.KILL_ALL),
    ("in disk", under_way("disk/*"), Way.KILL),
    ("in disk", under_way("disk/*"), Way.IMPATIENT),
    ("in pairs of rail 0", under_way("pairs/compute-0/*/forward"), Way.TERM),
    ("in pairs of rail 1", under_way("pairs/compute-1/*/reverse"), Way.KILL),
    ("after pairs of rail 1", ended("pairs/compute-1/*/reverse"), Way.KILL_ALL),
    ("in pairs of rail 1", under_way("pairs/compute-1/*/forward"), Way.STEP),
    ("in collectives of rail 0", under_way("collectives/compute-0"), Way.CTRL_C),
    ("in collectives of rail 1", under_way("collectives/compute-1"), Way.KILL_ALL),
    ("in collectives of all rails", under_way("collectives/compute"), Way.CONNECTION),
    ("in collectives of all rails", under_way("collectives/compute"), Way.KILL),
    ("after collectives", ended("collectives/compute"), Way.IMPATIENT),
    ("in counters after", under_way("counters/after/*"), Way.TERM),
    ("in counters after", under_way("counters/after/*"), Way.KILL),
    ("when all is made", all_is_made, Way.KILL),
    ("when all is made", all_is_made, Way.CTRL_C),
)
JOBLESS = {"before anything is written", "as it begins", "while its job waits", "when all is made"}
PROGRAMS = ("watch", "counters", "clock", "links", "matrix", "pair", "collectives")
THEIRS = (
    *("stress-ng", "fio --", "iperf3", "slurmstepd: [", "salloc", "srun "),
    *(f"rackwright/{program}.py" for program in PROGRAMS),
)
MADE = ("report.html", "junit.xml", "measurements.json", "verdict.json")


@dataclass
class Course:
    """All of that, and how it ended."""

    one: Validation
    said: str
    faults: list[str]
    """What was not as it must be after a cut."""
    stats: dict[str, tuple[int, int]]
    """Raw file of each step that was kept before a cut → its inode and the time of its last byte, then."""
    unfinished: Path
    """A copy of it, as it was before its end."""

    @property
    def run(self) -> Run:
        run = self.one.run
        assert run is not None
        return run


def _stats(one: Validation) -> dict[str, tuple[int, int]]:
    run = one.run
    files = [kept.path for kept in artefacts(run)] if run else []
    return {name: (stat.st_ino, stat.st_mtime_ns) for name in files for stat in [(one.folder / name).stat()]}


@pytest.fixture(scope="module")
def own() -> Iterator[Path]:
    """A path short enough for sockets; of nobody else."""
    with tempfile.TemporaryDirectory(prefix="cut-") as folder:
        yield Path(folder)


@contextmanager
def closed(site: Site) -> Iterator[None]:
    """A partition that starts no job meanwhile; what waits is started after it."""
    scontrol = site.host(HEAD).check_output
    scontrol("scontrol update partitionname=all state=down")
    try:
        yield
    finally:
        scontrol("scontrol update partitionname=all state=up")


@pytest.fixture(scope="module")
def course(site: Site, tmp_path_factory: pytest.TempPathFactory, own: Path) -> Iterator[Course]:
    site.await_idle()
    root = tmp_path_factory.mktemp("cut-off")
    one = Validation(site, root / "run", own)
    stats: dict[str, tuple[int, int]] = {}
    found: list[str] = []
    try:
        for name, moment, way in CUTS:
            with closed(site) if moment is asks_for_a_job else nullcontext():
                left = one.cut(name, moment, way)
            found += [f"{name}, {way}: {fault}" for fault in faults(left, one)]
            stats |= _stats(one)
        shutil.copytree(one.folder, root / "unfinished")
        one.begin()
        yield Course(one, one.process.communicate(timeout=2 * WITHIN_S)[0], found, stats, root / "unfinished")
    except AssertionError as error:
        error.add_note("\n".join(found))
        raise
    finally:
        one.kill_all()
        site.user("scancel --me")


def faults(left: Left, one: Validation) -> Iterator[str]:
    """What is not as it must be after every cut."""
    if left.code != CODES[left.way]:
        yield f"exit code {left.code}"
    if "Traceback" in left.errors or "Exception ignored" in left.errors:
        yield left.errors
    if left.way in STOPPED | LOST:
        if not _says_how_it_goes_on(left, one):
            yield f"{left.said} {left.errors}"
        if jobs := one.site.user("squeue --me --noheader --states=PENDING,RUNNING"):
            yield jobs
    if left.run is not None:
        yield from _faults_of_evidence(left.run, one)


def _faults_of_evidence(run: Run, one: Validation) -> Iterator[str]:
    if run.lost or run.held or run.finished:
        yield f"lost {run.lost}, held {run.held}, finished {run.finished}"
    if bad := [f"{step.name}: {step.reason}" for step in run.steps if step.ended is not Ended.DONE]:
        yield str(bad)
    before = one.before.steps if one.before else ()
    if run.steps[: len(before)] != before:
        yield f"{len(before)} steps before it, {len(run.steps)} after it"
    for kept in artefacts(run):
        check(one.folder, kept)


def _says_how_it_goes_on(left: Left, one: Validation) -> bool:
    if left.way is Way.IMPATIENT and left.errors.endswith("interrupted\n"):
        return True  # it was stopped once more, as it said that it was
    code = "INT001" if left.way in STOPPED else "VAL005"
    way_on = f"--resume {one.folder}" if left.run else "the same command goes on from here"
    return left.said.get("code") == code and way_on in f"{left.said['message']} {left.said['hint']}"


def test_each_cut_is_told_with_the_way_on_and_loses_nothing(course: Course) -> None:
    assert course.faults == []


def test_in_the_end_all_pass_as_if_nothing_had_been(course: Course) -> None:
    assert verdicts(course.said) == everything(NODES)
    assert course.one.process.returncode == 0
    assert {step.ended for step in course.run.steps} == {Ended.DONE}
    assert course.run.finished is not None


def test_what_had_ended_before_a_cut_is_as_it_was_and_no_file_of_it_was_touched(course: Course) -> None:
    run = course.run
    for left in course.one.left:
        if left.run is not None:
            assert run.steps[: len(left.run.steps)] == left.run.steps, left.name
    now = _stats(course.one)
    assert {name: now[name] for name in course.stats} == course.stats


def test_no_step_that_had_ended_ran_in_a_later_job(course: Course) -> None:
    """By Slurm's own accounts."""
    known = [left for left in course.one.left if left.run is not None]
    complete = {
        job: before.run.steps
        for before, after in pairwise(known)
        if before.run and after.run
        for job in after.run.job_ids[len(before.run.job_ids) :]
    }
    assert len(complete) > len(CUTS) / 2
    names = _accounted(course)
    again = {job: names[job] & {step.name for step in steps} for job, steps in complete.items()}
    assert again == {job: set() for job in complete}


def _accounted(course: Course) -> dict[int, set[str]]:
    """Job → names of its steps."""
    jobs = ",".join(map(str, course.run.job_ids))
    lines = course.one.site.user(
        f"sacct --jobs={jobs} --noheader --parsable2 --format=JobID,JobName%80"
    ).splitlines()
    found: dict[int, set[str]] = {job: set() for job in course.run.job_ids}
    for line in lines:
        number, _, name = line.partition("|")
        found[int(number.partition(".")[0])].add(name)
    return found


def test_each_beginning_has_one_job_and_all_of_them_have_ended(course: Course) -> None:
    """One that was cut off before it noted its job may have had one all the same."""
    assert {left.jobs for left in course.one.left} == {0, 1}
    assert {left.name for left in course.one.left if not left.jobs} <= JOBLESS
    states = _states(course)
    assert set(course.run.job_ids) <= states.keys()
    assert len(states) <= len(CUTS) + 1
    assert set(states.values()) <= {"CANCELLED", "COMPLETED"}, states
    assert course.one.site.user("squeue --noheader") == ""


def _states(course: Course) -> dict[int, str]:
    """How all jobs of its name ended."""
    ask = "sacct --allocations --noheader --parsable2 --starttime=now-1day"
    name = course.one.site.user(f"{ask} --jobs={course.run.job_ids[0]} --format=JobName")
    rows = course.one.site.user(f"{ask} --name={name} --format=JobID,State").splitlines()
    return {int(job): state.split()[0] for job, _, state in (row.partition("|") for row in rows)}


def test_no_process_of_it_is_left_here_or_on_a_host(course: Course) -> None:
    wait(lambda: not course.one.processes(), lambda: str(course.one.processes()))
    course.one.site.await_idle()
    for host in HOSTS:
        lines = course.one.site.host(host).check_output("ps -eo args").splitlines()
        assert [line for line in lines if any(word in line for word in THEIRS)] == [], host
    for node in NODES:
        assert "rackwright" not in course.one.site.host(node).check_output("ls /var/tmp"), "fio's file"
    assert course.one.site.user("sinfo --noheader --list-reasons") == "", "nobody was drained"


def test_judge_says_the_same(course: Course) -> None:
    verdict = (course.one.folder / "verdict.json").read_bytes()
    course.one.site.lab.rackwright("judge", str(course.one.folder))
    assert (course.one.folder / "verdict.json").read_bytes() == verdict


@pytest.mark.parametrize("way", [Way.CTRL_C, Way.TERM, Way.IMPATIENT, Way.KILL])
def test_cut_off_while_it_judges_it_says_so_and_judge_does_it(
    course: Course, way: Way, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(course.unfinished, folder)
    one = Validation(course.one.site, folder, course.one.own)
    left = one.cut("as it judges", is_finished, way)
    assert left.code == CODES[way]
    assert "Traceback" not in left.errors
    if way in {Way.CTRL_C, Way.TERM}:
        assert f"rackwright judge {folder}" in str(left.said["hint"])
    one.begin()
    out, _ = one.process.communicate(timeout=WITHIN_S)
    refused = json.loads(out)
    assert (one.process.returncode, refused["code"]) == (2, "VAL009")
    assert f"rackwright judge {folder}" in refused["hint"]
    assert one.site.lab.json("judge", str(folder), code=0)["verdict"] == "PASS"


def test_a_judge_that_is_cut_off_while_it_writes_leaves_whole_files(course: Course, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(course.one.folder, folder)
    whole = {name: (folder / name).read_bytes() for name in MADE}
    cut = Counter[int]()
    for number, seen in enumerate(name for name in ("", *MADE) for _ in range(2)):
        for file in [*folder.glob(".*"), *(folder / name for name in MADE)]:
            file.unlink(missing_ok=True)
        how = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)[number % 3]
        cut[_cut_judge(course, folder, seen, how)] += 1
        for name in MADE:
            if (folder / name).exists():
                assert _whole(folder / name), (name, how)
    assert set(cut) <= {0, 130, -signal.SIGKILL, -signal.SIGTERM}
    course.one.site.lab.rackwright("judge", str(folder))
    assert {name: (folder / name).read_bytes() for name in MADE} == whole


def _cut_judge(course: Course, folder: Path, seen: str, how: signal.Signals) -> int:
    """Judge, and cut it off once that file is there, or one is being written."""
    with subprocess.Popen(
        course.one.site.lab.command("judge", str(folder)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as judging:
        while judging.poll() is None:
            if (folder / seen).is_file() or (not seen and any(folder.glob(".*.json.*"))):
                break
            time.sleep(0.001)
        judging.send_signal(how)
        _, errors = judging.communicate(timeout=WITHIN_S)
        assert "Traceback" not in errors
        return judging.returncode


def _whole(file: Path) -> bool:
    text = file.read_text()
    if file.suffix == ".json":
        return "schema" in json.loads(text)
    return text.rstrip().endswith("</html>") if file.suffix == ".html" else ET.fromstring(text) is not None  # noqa: S314 (our own)
