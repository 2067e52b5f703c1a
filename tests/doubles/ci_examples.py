"""The CI examples of docs/ci: their shell steps, and a runner for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ruamel.yaml import YAML

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = paths.repository() / "docs" / "ci"
SCRIPTS = Path(sys.executable).parent
HOSTLESS = "check|plan|preview|doctor|up"
"""Commands that need an engine and BMCs, and no host."""
ALL = "*"
"""Every command, where there are hosts; both are patterns of sh."""
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


def read(name: str) -> dict[str, Any]:
    """A file of docs/ci."""
    return YAML(typ="safe", pure=True).load(FOLDER / name)  # type: ignore[no-any-return]  # (a mapping, by the format)


def github(name: str) -> Job:
    """The one job of a workflow; a step that uses an action is GitHub's."""
    (job,) = read(f"github/{name}.yml")["jobs"].values()
    return Job(name, [step["run"] for step in job["steps"] if "run" in step])


def gitlab(name: str) -> Job:
    """GitLab runs all lines of a job in one shell."""
    jobs = read("gitlab/.gitlab-ci.yml")
    return Job(f"gitlab {name}", ["\n".join([*jobs["default"]["before_script"], *jobs[name]["script"]])])


JOBS = [*map(github, ("pull-request", "deploy", "nightly")), *map(gitlab, ("preview", "up", "nightly"))]


def _shim(real: str) -> str:
    """Rackwright itself, as far as it is real."""
    return f"""#!/bin/sh
printf '%s\\n' "$*" >> "$SAID"
test "$1" != "$BAD" || exit "$BAD_CODE"
case "$1" in {real}) exec "{SCRIPTS / "rackwright"}" "$@";; esac
"""


class Runner:
    """A CI runner in a checkout of a spec.

    Args:
        folder: for checkout and notes.
        spec: what is checked out, with the asset files beside it.
        environment: of each step.
        real: commands of rackwright that run; of the others only that they were called is noted.
    """

    def __init__(self, folder: Path, spec: Path, environment: Mapping[str, str], real: str) -> None:
        self.checkout, self.said = folder / "checkout", folder / "said"
        (self.checkout / "clusters").mkdir(parents=True)
        for path in spec.parent.iterdir():
            if path.is_file():
                shutil.copy(path, self.checkout / "clusters")
            elif path.name == "assets":
                shutil.copytree(path, self.checkout / "clusters" / path.name)
        self.environment = {
            **environment,
            "PATH": f"{folder / 'bin'}:{SCRIPTS}:{os.environ['PATH']}",
            "SPEC": f"clusters/{spec.name}",
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
        for name, text in (("rackwright", _shim(real)), ("gh", _CLIENT), ("glab", _CLIENT)):
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
