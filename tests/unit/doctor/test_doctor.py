"""The doctor as a whole: order and needs of its checks, and its answers to readers and programs."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run
from rackwright.doctor import machine, sites
from rackwright.doctor.checks import CHECKS
from rackwright.doctor.model import Check, examine

if TYPE_CHECKING:
    from tests.doubles.doctored import Hybrid


def test_where_nothing_lacks_nothing_is_said_and_nothing_is_written(site: Hybrid) -> None:
    before = sorted(site.state.rglob("*"))
    results = examine(CHECKS, site.ground())
    assert [(result.check.name, result.lacks, result.not_run) for result in results] == [
        (check.name, (), "") for check in CHECKS
    ]
    assert sorted(site.state.rglob("*")) == before
    assert set(site.hall.asked("GET").values()) != {0}
    assert set(site.hall.asked("On").values()) == {0}


def test_what_cannot_be_told_is_not_told_as_good(site: Hybrid) -> None:
    site.credentials.unlink()
    results = examine(CHECKS, site.ground())
    assert {result.check.name: result.not_run for result in results if result.not_run} == {
        "bmcs": "bmc-logins"
    }


def test_needs_come_before_what_needs_them() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(names.index(need) < names.index(check.name) for check in CHECKS for need in check.needs)
    assert all(check.means for check in CHECKS)


def test_a_warning_lets_go_on_what_needs_the_check(site: Hybrid) -> None:
    first = Check("first", sites.assets)
    second = Check("second", sites.planned, needs=("first",))
    ground = replace(site.ground(), plan=site.ground().plan.model_copy(update={"undelivered": {"node": "1"}}))
    assert [result.not_run for result in examine((first, second), ground)] == ["", ""]


@pytest.mark.engine
def test_a_backend_that_is_not_there_is_told_in_the_engines_words(
    site: Hybrid, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = paths.cache() / "engine" / "current"
    if not (built / "pulumi").is_file():
        pytest.skip("set-up has built no engine")
    monkeypatch.setattr(machine, "engine", lambda: built)
    plan = site.ground().plan
    (lack,) = machine.backend(replace(site.ground(), plan=plan.model_copy(update={"backend": "file:///no"})))
    assert "no such file or directory" in lack.got
    folder = site.folder / "backend"
    folder.mkdir()
    there = plan.model_copy(update={"backend": f"file://{folder}"})
    assert list(machine.backend(replace(site.ground(), plan=there))) == []


def test_the_command_answers_readers_and_programs(site: Hybrid, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", str(site.spec), "-q"]) == 0
    capsys.readouterr()
    assert run(["doctor", str(site.spec)]) == 0
    assert capsys.readouterr().out == f"{len(CHECKS)} of {len(CHECKS)} checks good\n"
    site.credentials.unlink()
    assert run(["doctor", str(site.spec)]) == 2
    said = capsys.readouterr().out
    assert said.startswith("file:bmc.csv: error ENV002: a secret cannot be read\n  got       No such file")
    assert "not looked at: Every management controller answers" in said
    assert run(["doctor", str(site.spec), "--format", "json"]) == 2
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "rackwright/doctor/1"
    assert [(one["check"], one["code"], one["blocks"]) for one in answer["missing"]] == [
        ("bmc-logins", "ENV002", True)
    ]
    status = {one["check"]: one["status"] for one in answer["checks"]}
    assert (status["bmc-logins"], status["bmcs"], status["plan"]) == ("missing", "not_run", "good")


def test_a_spec_that_was_not_planned_is_told(site: Hybrid, capsys: pytest.CaptureFixture[str]) -> None:
    site.spec.with_suffix(".lock.yaml").unlink(missing_ok=True)
    assert run(["doctor", str(site.spec), "--format", "json"]) == 2
    assert [one["code"] for one in json.loads(capsys.readouterr().out)["missing"]] == ["PLAN001"]


def test_the_page_lists_every_check_and_no_other() -> None:
    page = (paths.repository() / "docs" / "doctor.md").read_text()
    told = [
        line
        for line in page.splitlines()
        if line.startswith("| `") and "rackwright" not in line.split("|")[1]
    ]
    assert told == [f"| `{check.name}` | {check.means} |" for check in CHECKS]
    assert f" of {len(CHECKS)} checks good" in page
