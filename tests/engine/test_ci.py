"""The CI examples of docs/ci: every shell step is run, and a failure of rackwright is one of the step."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.doubles.ci_examples import FOLDER, HOSTLESS, JOBS, Job, Runner, read
from tests.doubles.command_lines import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.site import Site


def test_every_example_isread() -> None:
    files = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.suffix in {".yml", ".yaml"}}
    assert files == {f"github/{job.name}.yml" for job in JOBS[:3]} | {"gitlab/.gitlab-ci.yml"}
    jobs = {name for name, value in read("gitlab/.gitlab-ci.yml").items() if "script" in value}
    assert jobs == {job.name.removeprefix("gitlab ") for job in JOBS[3:]}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_the_command_line_takes_what_a_job_asks(job: Job) -> None:
    lines = [line.strip().removeprefix("code=0; ") for step in job.steps for line in step.splitlines()]
    asked = [line for line in lines if line.startswith("rackwright ")]
    assert asked
    assert [said for line in asked for said in refusals(line)] == []


@pytest.fixture
def runner(make_site: Callable[..., Site], tmp_path: Path) -> Runner:
    site = make_site(hosts=2)
    (site.state / "console").mkdir(parents=True, exist_ok=True)
    return Runner(tmp_path, site.spec, site.environment, HOSTLESS)


@pytest.mark.engine
def test_from_a_pull_request_to_the_night(runner: Runner) -> None:
    preview, deploy, night = JOBS[:3]
    assert runner.run(preview) == [0, 0, 0, 0]
    assert "rackwright preview: exit code 0" in runner.commands, "the comment"
    assert "2 changes" in runner.commands
    assert runner.run(night)[0] == 1, "hosts are off that the plan wants on"
    assert runner.run(deploy) == [0, 0, 0, 0]
    assert "2 of 2 hosts on" in Path(runner.environment["GITHUB_STEP_SUMMARY"]).read_text()
    done = [line.split()[0] for line in runner.commands.splitlines()]
    assert done == ["doctor", "up", "inventory", "converge"]
    assert runner.run(night) == [0, 0, 0]
    assert "drift clusters/" in runner.commands
    assert "validate clusters/" in runner.commands
    assert runner.run(JOBS[3]) == [0]
    assert "no changes" in runner.commands, "the note"


@pytest.mark.parametrize(
    ("job", "bad", "code"),
    [
        (JOBS[0], "check", 1),
        (JOBS[0], "preview", 3),
        (JOBS[1], "doctor", 2),
        (JOBS[1], "up", 2),
        (JOBS[1], "converge", 3),
        (JOBS[2], "drift", 1),
        (JOBS[2], "validate", 1),
        (JOBS[3], "preview", 3),
        (JOBS[4], "up", 2),
        (JOBS[5], "preview", 3),
        (JOBS[5], "drift", 1),
        (JOBS[5], "validate", 3),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_what_rackwright_says_is_the_end_of_the_step(job: Job, bad: str, code: int, tmp_path: Path) -> None:
    """No engine is needed: all other commands do nothing here."""
    shim = tmp_path / "rackwright"
    shim.write_text('#!/bin/sh\necho "{\\"stacks\\": {}}"\ntest "$1" != "$BAD" || exit "$BAD_CODE"\n')
    for name in ("gh", "glab", "git"):
        (tmp_path / name).write_text("#!/bin/sh\n")
    for path in tmp_path.iterdir():
        path.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "BAD": bad, "BAD_CODE": str(code), "SPEC": "x"}
    environment |= {"CI_PROJECT_DIR": str(tmp_path / "checkout"), "AWS_TOKEN": "", "ROLE": "", "NUMBER": "7"}
    environment |= {"CI_MERGE_REQUEST_IID": "7", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    (tmp_path / "checkout").mkdir()
    codes = [
        subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step], cwd=tmp_path / "checkout", env=environment, check=False
        ).returncode
        for step in job.steps
    ]
    assert [one for one in codes if one] == [code]
