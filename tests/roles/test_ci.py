"""The CI examples of docs/ci on a lab: every shell step of a merge and of a night, by the real commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.doubles.ci_examples import ALL, JOBS, Job, Runner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.roles.conftest import Site

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.slow]

BY_NAME = {job.name: job for job in JOBS}


@pytest.fixture
def runner(site: Site, tmp_path: Path) -> Runner:
    """A runner whose state is that of the lab."""
    return Runner(tmp_path, site.lab.spec, site.lab.environment, ALL)


def _verdicts(runner: Runner) -> list[str]:
    """Of all runs that a job leaves as artefacts."""
    found = sorted((runner.checkout / "runs").glob("*/*/verdict.json"))
    return [json.loads(path.read_text())["verdict"] for path in found]


@pytest.mark.parametrize(
    "names",
    [("pull-request", "deploy", "nightly"), ("gitlab preview", "gitlab up", "gitlab nightly")],
    ids=["github", "gitlab"],
)
def test_a_request_a_merge_and_a_night(runner: Runner, names: tuple[str, ...]) -> None:
    jobs: list[Job] = [BY_NAME[name] for name in names]
    for job in jobs:
        assert set(runner.run(job)) == {0}, f"{job.name}: {runner.commands}"
    assert _verdicts(runner) == ["PASS"]


def test_a_night_names_what_a_hand_has_changed_and_still_validates(site: Site, runner: Runner) -> None:
    node = site.host("node-001")
    kept = node.check_output("cat /etc/security/limits.d/60-rackwright.conf")
    node.check_output("echo '* - memlock 64' >> /etc/security/limits.d/60-rackwright.conf")
    try:
        _preview, drift, validate = runner.run(BY_NAME["nightly"])
        assert (drift, validate) == (1, 0)
    finally:
        again = site.converge()
    assert again.code == 0, again.said
    assert node.check_output("cat /etc/security/limits.d/60-rackwright.conf") == kept
    assert _verdicts(runner) == ["PASS"]
