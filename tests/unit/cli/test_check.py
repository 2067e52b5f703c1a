"""`rackwright check`: one answer with all findings, what was not run and why, and the exit code."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import paths
from rackwright.checks.registry import rules
from rackwright.checks.run import Report, none_run
from rackwright.cli import check
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

CLUSTERS = paths.repository() / "clusters"


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shutil.copytree(CLUSTERS / "assets", tmp_path / "assets")
    shutil.copy(CLUSTERS / "lab.yaml", tmp_path)
    return tmp_path / "lab.yaml"


def append(spec: Path, text: str) -> None:
    spec.write_text(spec.read_text(encoding="utf-8") + text, encoding="utf-8")


def answer(spec: Path, capsys: Capture, code: int) -> Any:  # noqa: ANN401 (a JSON document)
    assert run(["check", str(spec), "--format", "json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_every_finding_has_all_its_fields(spec: Path, capsys: Capture) -> None:
    document = answer(spec, capsys, 0)
    assert document["schema"] == "rackwright/check/1"
    (finding,) = document["findings"]
    assert finding == {
        "code": "SLURM002",
        "level": "info",
        "path": "schedulers.main",
        "file": str(spec),
        "line": 41,
        "column": 3,
        "message": "main has no login nodes",
        "got": "no pool of hall has the role login",
        "expected": "one, where users log in",
        "hint": finding["hint"],
        "source": finding["source"],
        "suppressed": None,
    }
    assert finding["hint"]
    assert finding["source"]


def test_a_suppressed_error_stays_visible_and_weighs_nothing(spec: Path, capsys: Capture) -> None:
    spec.write_text(spec.read_text().replace("cidr: 10.77.16.0/23", "cidr: 10.77.0.0/24"))
    assert answer(spec, capsys, 1)["counts"]["error"] == 1
    append(
        spec, "suppress: [{rule: NET001, path: fabrics.compute, reason: moved in May, until: 2099-01-01}]\n"
    )
    document = answer(spec, capsys, 0)
    assert document["counts"] == {"error": 0, "warning": 0, "info": 1, "suppressed": 1, "not_run": 0}
    (tolerated,) = [one for one in document["findings"] if one["suppressed"]]
    assert tolerated["code"] == "NET001"
    assert tolerated["suppressed"] == {"reason": "moved in May", "until": "2099-01-01"}
    assert run(["check", str(spec)]) == 0
    assert "suppressed error NET001" in (shown := capsys.readouterr().out)
    assert "moved in May (until 2099-01-01)" in shown


def test_a_suppression_that_has_expired_hides_nothing(spec: Path, capsys: Capture) -> None:
    spec.write_text(spec.read_text().replace("cidr: 10.77.16.0/23", "cidr: 10.77.0.0/24"))
    append(
        spec, "suppress: [{rule: NET001, path: fabrics.compute, reason: moved in May, until: 2020-01-01}]\n"
    )
    document = answer(spec, capsys, 1)
    assert document["counts"]["error"] == 1
    assert [one["code"] for one in document["findings"]] == ["NET001", "SLURM002", "SUP002"]


def test_a_rule_on_plans_has_not_run_where_there_is_no_plan(spec: Path, capsys: Capture) -> None:
    spec.write_text(spec.read_text().replace("units: 12", "units: 1"))
    document = answer(spec, capsys, 1)
    assert {one["code"] for one in document["not_run"]} == {rule.code for rule in rules() if rule.needs_plan}
    assert all(one["reason"] for one in document["not_run"])
    assert run(["check", str(spec)]) == 1
    assert "not run: there is no plan" in capsys.readouterr().out


def test_no_rule_has_run_where_the_schema_is_broken(spec: Path, capsys: Capture) -> None:
    append(spec, "colour: red\n")
    document = answer(spec, capsys, 1)
    assert [one["code"] for one in document["findings"]] == ["SPEC011"]
    assert document["counts"]["not_run"] == len(rules())


def test_what_was_not_run_is_incomplete_by_itself(
    spec: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_report", lambda _: Report((), none_run("x")))
    assert answer(spec, capsys, 3)["counts"]["error"] == 0


def test_there_is_no_online_tier_yet(spec: Path, capsys: Capture) -> None:
    assert run(["check", str(spec), "--online", "--format", "json"]) == 2
    document = json.loads(capsys.readouterr().out)
    assert document["where"] == "rackwright check --online"
    assert "no rules that ask a cloud" in document["message"]


def test_in_text_the_last_line_counts(spec: Path, capsys: Capture) -> None:
    assert run(["check", str(spec)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{spec}:41:3: info SLURM002: main has no login nodes\n  got       no pool")
    assert out.endswith(f"{spec}: 0 error, 0 warning, 1 info, 0 suppressed, 0 not run\n")
