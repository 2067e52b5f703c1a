"""`rackwright judge`: what is printed of a run folder, and the exit code."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from rackwright.cli.frame import run
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("world", "code", "verdict"),
    [
        ("pass", 0, "PASS"),
        ("slow-rail", 1, "FAIL"),
        ("cut-rail", 1, "FAIL"),
        ("wrong-value", 1, "FAIL"),
        ("killed-node", 3, "ERROR"),
        ("held", 3, "NOT_RUN"),
    ],
)
def test_verdict_is_the_exit_code(
    tmp_path: Path, capsys: Capture, world: str, code: int, verdict: str
) -> None:
    folder = runs.build(tmp_path / "run", world)
    assert run(["judge", str(folder), "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["verdict"]) == ("rackwright/verdict/1", verdict)
    for subject in document["subjects"]:
        assert {"name", "verdict", "reasons", "measurements"} <= subject.keys()


def test_a_fail_outweighs_what_was_not_measured(tmp_path: Path) -> None:
    world = runs.World(held={"node-003": "runs job 42"}, down=frozenset({("node-002", 1)}))
    assert run(["judge", str(runs.build(tmp_path / "run", world)), "-q"]) == 1


def test_text_begins_with_who_is_at_fault_and_what_to_do(tmp_path: Path, capsys: Capture) -> None:
    folder = runs.build(tmp_path / "run", "slow-rail")
    assert run(["judge", str(folder)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0]
        == "FAIL    node-002/r1: r1 is slow to both of its partners, and these are not slow to each other"
    )
    assert [line.split()[0] for line in lines[1:6]] == ["measured", "expected", "from", "next", "evidence"]
    assert lines[6].startswith("FAIL    hall: ")
    assert lines[7].split() == ["because", "of", "node-002/r1"]
    assert lines[-2] == f"report: {folder / 'report.html'}"
    assert lines[-1] == "FAIL: lab by acceptance: 7 PASS, 3 FAIL"


def test_changed_evidence_is_refused(tmp_path: Path, capsys: Capture) -> None:
    folder = runs.build(tmp_path / "run", "pass")
    (folder / "raw" / "matrix" / "node-001.out").write_text("better", encoding="utf-8")
    assert run(["judge", str(folder)]) == 2
    assert "RUN002" in capsys.readouterr().err
    assert not (folder / "verdict.json").exists()


def test_folder_that_is_no_run_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run(["judge", str(tmp_path)]) == 2
    assert "RUN001" in capsys.readouterr().err


def test_expectations_of_an_operator_count(tmp_path: Path, capsys: Capture) -> None:
    folder = runs.build(tmp_path / "run", "pass")
    spoiled = tmp_path / "expect.json"
    spoiled.write_text("[]", encoding="utf-8")
    assert run(["judge", str(folder), "--expect", str(spoiled)]) == 2
    assert "EXP002" in capsys.readouterr().err
