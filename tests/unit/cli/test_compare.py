"""`rackwright compare`: exit codes, one document, and a text that begins with what is worse."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rackwright.cli.frame import run
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

WORLD = replace(runs.fleet(8), rails=1)


@pytest.mark.parametrize(
    ("changed", "code", "change"),
    [
        ({}, 0, "within-noise"),
        ({"gflops": {"node-003": 13.0}}, 0, "better"),
        ({"gflops": {"node-003": 10.0}}, 1, "worse"),
        ({"lost": "node-003", "lost_at": "matrix"}, 3, "missing"),
    ],
)
def test_exit_code_tells_what_became_of_them(
    tmp_path: Path, capsys: Capture, changed: dict[str, Any], code: int, change: str
) -> None:
    before = runs.build(tmp_path / "a", WORLD)
    after = runs.build(tmp_path / "b", replace(WORLD, **changed))
    assert run(["compare", str(before), str(after), "--format", "json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rackwright/compare/1"
    assert next(one["change"] for one in document["subjects"] if one["name"] == "node-003") == change


def test_text_begins_with_who_is_worse_and_ends_with_a_count(tmp_path: Path, capsys: Capture) -> None:
    before = runs.build(tmp_path / "a", WORLD)
    after = runs.build(tmp_path / "b", replace(WORLD, gflops={"node-003": 10.0}))
    assert run(["compare", str(before), str(after)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "worse  node-003"
    assert lines[1].strip().startswith("worse: matrix gflops (order 768, threads 1): ")
    assert lines[1].endswith("-8%; noise 5%")
    assert lines[-1].startswith("1 worse, ")


def test_a_run_is_not_compared_with_itself(tmp_path: Path, capsys: Capture) -> None:
    folder = runs.build(tmp_path / "a", WORLD)
    (tmp_path / "b").symlink_to(folder)
    for other in (folder, tmp_path / "b", tmp_path / "." / "a"):
        assert run(["compare", str(folder), str(other)]) == 2
        assert "CMP002" in capsys.readouterr().err


def test_a_run_that_is_a_link_to_itself_is_refused(tmp_path: Path, capsys: Capture) -> None:
    folder = runs.build(tmp_path / "a", WORLD)
    (tmp_path / "loop").symlink_to("loop")
    assert run(["compare", str(folder), str(tmp_path / "loop")]) == 2
    assert "BUG001" not in capsys.readouterr().err


def test_runs_of_other_machines_are_refused_with_the_reason(tmp_path: Path, capsys: Capture) -> None:
    before, after = runs.build(tmp_path / "a", WORLD), runs.build(tmp_path / "b", "pass")
    assert run(["compare", str(before), str(after)]) == 2
    shown = capsys.readouterr().err
    assert "CMP001" in shown
    assert "not of the same slots" in shown
