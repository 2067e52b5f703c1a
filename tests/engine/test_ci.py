"""The CI examples of docs/ci: every shell step is run, and a failure of rackwright is one of the step."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from rackwright import paths
from tests.doubles.command_lines import refusals

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.doubles.site import Site

FOLDER = paths.repository() / "docs" / "ci"
SCRIPTS = Path(sys.executable).parent
REAL = "check|plan|preview|doctor|up"
"""Commands that need an engine and BMCs, and no host."""
_SHIM = f"""#!/bin/sh
printf '%s\\n' "$*" >> "$SAID"
test "$1" != "$BAD" || exit "$BAD_CODE"
case "$1" in {REAL}) exec "{SCRIPTS / "rackwright"}" "$@";; esac
"""
"""rackwright itself; of what needs hosts, only that it was called."""
_CLIENT = """#!/bin/sh
for word; do
    test -f "$word" && word=$(cat "$word")
    printf '%s\\n' "$word" >> "$SAID"
done
"""
"""Of a code host's own client, what it was told, files by their content."""
WITHIN_S = 900


class Job(NamedTuple):
    """One job of a file: its shell steps, one script each."""

    name: str
    steps: list[str]


def _read(name: str) -> dict[str, Any]:
    return YAML(typ="safe", pure=True).load(FOLDER / name)  # type: ignore[no-any-return]  # (a mapping, by the format)


def github(name: str) -> Job:
    """The one job of a workflow; a step that uses an action is GitHub's."""
    (job,) = _read(f"github/{name}.yml")["jobs"].values()
    return Job(name, [step["run"] for step in job["steps"] if "run" in step])


def gitlab(name: str) -> Job:
    """GitLab runs all lines of a job in one shell."""
    read = _read("gitlab/.gitlab-ci.yml")
    return Job(f"gitlab {name}", ["\n".join([*read["default"]["before_script"], *read[name]["script"]])])


JOBS = [*map(github, ("pull-request", "deploy", "nightly")), *map(gitlab, ("preview", "up", "nightly"))]


def test_every_example_is_read() -> None:
    files = {str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.suffix in {".yml", ".yaml"}}
    assert files == {f"github/{job.name}.yml" for job in JOBS[:3]} | {"gitlab/.gitlab-ci.yml"}
    jobs = {name for name, value in _read("gitlab/.gitlab-ci.yml").items() if "script" in value}
    assert jobs == {job.name.removeprefix("gitlab ") for job in JOBS[3:]}


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_the_command_line_takes_what_a_job_asks(job: Job) -> None:
    lines = [line.strip().removeprefix("code=0; ") for step in job.steps for line in step.splitlines()]
    asked = [line for line in lines if line.startswith("rackwright ")]
    assert asked
    assert [said for line in asked for said in refusals(line)] == []


class Runner:
    """A CI runner in a checkout of a site's spec."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.checkout, self.said = folder / "checkout", folder / "said"
        (self.checkout / "clusters").mkdir(parents=True)
        for path in site.folder.iterdir():
            if path.is_file():
                shutil.copy(path, self.checkout / "clusters")
        (site.state / "console").mkdir(parents=True, exist_ok=True)
        self.environment = site.environment | {
            "PATH": f"{folder / 'bin'}:{SCRIPTS}:{os.environ['PATH']}",
            "SPEC": f"clusters/{site.spec.name}",
            "SAID": str(self.said),
            "BAD": "",
            "BAD_CODE": "0",
            "NUMBER": "7",
            "CI_MERGE_REQUEST_IID": "7",
            "CI_PROJECT_DIR": str(self.checkout),
            "AWS_TOKEN": "token",
            "ROLE": "arn:aws:iam::123456789012:role/ci",
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        (folder / "bin").mkdir()
        for name, text in (("rackwright", _SHIM), ("gh", _CLIENT), ("glab", _CLIENT)):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        author = ["-c", "user.name=ci", "-c", "user.email=ci@test.example"]
        for words in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "spec"]):
            subprocess.run(["git", *words], cwd=self.checkout, env=self.environment, check=True)

    def run(self, job: Job, bad: str = "", code: int = 0) -> list[int]:
        """Exit codes of a job's steps; as by GitHub, bash ends a step at its first failure."""
        self.said.write_text("")
        environment = self.environment | {"BAD": bad, "BAD_CODE": str(code)}
        return [self._step(step, environment) for step in job.steps]

    def _step(self, step: str, environment: dict[str, str]) -> int:
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", step],
            cwd=self.checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=WITHIN_S,
        ).returncode

    @property
    def commands(self) -> str:
        return self.said.read_text()


@pytest.fixture
def runner(make_site: Callable[..., Site], tmp_path: Path) -> Runner:
    return Runner(make_site(hosts=2), tmp_path)


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
