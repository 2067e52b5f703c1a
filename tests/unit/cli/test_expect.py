"""`rackwright expect`: learned files, which are never overwritten in silence, and explained figures."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from rackwright import canonical
from rackwright.cli.frame import run
from rackwright.validate.expectations import Expectations
from rackwright.validate.model import Unit
from tests.doubles import runs

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return runs.build(tmp_path / "run", replace(runs.fleet(8), rails=1))


def _learn(folder: Path, capsys: Capture, *more: str) -> tuple[int, Any]:
    code = run(
        [
            "expect",
            "learn",
            str(folder),
            "--out",
            str(folder.parent / "figures.json"),
            "--format",
            "json",
            *more,
        ]
    )
    out = capsys.readouterr().out
    return code, json.loads(out) if out else None


def test_learn_writes_a_file_that_judge_takes(fleet: Path, capsys: Capture) -> None:
    code, document = _learn(fleet, capsys)
    assert (code, document["schema"]) == (0, "rackwright/expect-learn/1")
    assert {one["provenance"] for one in document["learned"]} == {"learned"}
    assert all(one["learned"]["evidence"] for one in document["learned"])
    assert run(["judge", str(fleet), "--expect", str(fleet.parent / "figures.json")]) == 0


def test_learn_overwrites_nothing_without_being_told(fleet: Path, capsys: Capture) -> None:
    _learn(fleet, capsys)
    file = fleet.parent / "figures.json"
    kept = file.read_bytes()
    code, _ = _learn(fleet, capsys)
    assert code == 2
    assert file.read_bytes() == kept
    assert run(["expect", "learn", str(fleet), "--out", str(file)]) == 2
    assert "EXP006" in capsys.readouterr().err


def test_learn_tells_each_figure_that_it_replaces(fleet: Path, capsys: Capture) -> None:
    _learn(fleet, capsys)
    code, document = _learn(fleet, capsys, "--replace")
    assert code == 0
    assert len(document["replaced"]) == len(document["learned"])
    assert all({"key", "old", "new"} == one.keys() for one in document["replaced"])


def test_learn_keeps_figures_of_other_things(fleet: Path, capsys: Capture) -> None:
    file = fleet.parent / "figures.json"
    other = runs._bound("offset", "clock", Unit.SECONDS, at_most=0.01)  # noqa: SLF001 (a test's)
    file.write_text(canonical.dumps(Expectations(expectations=(other,))), encoding="utf-8")
    assert _learn(fleet, capsys)[0] == 0
    kept = Expectations.model_validate_json(file.read_bytes()).expectations
    assert kept[0] == other
    assert len(kept) > 1


@pytest.mark.parametrize(
    ("world", "code"),
    [
        (replace(runs.fleet(3), rails=1), 3),
        (replace(runs.fleet(9), rails=1, gflops={"node-001": 7.0, "node-002": 7.0}), 1),
    ],
)
def test_a_fleet_that_teaches_nothing_is_no_success(
    tmp_path: Path, capsys: Capture, world: runs.World, code: int
) -> None:
    folder = runs.build(tmp_path / "run", world)
    found, document = _learn(folder, capsys)
    assert found == code
    assert document["left_out"]
    assert (tmp_path / "figures.json").exists() == bool(document["learned"])


@pytest.mark.parametrize("name", ["expectations.json", "figures.json", "raw/figures.json"])
def test_learn_writes_nothing_into_a_run_folder(fleet: Path, capsys: Capture, name: str) -> None:
    before = {path: path.read_bytes() for path in fleet.rglob("*") if path.is_file()}
    assert run(["expect", "learn", str(fleet), "--out", str(fleet / name)]) == 2
    assert "EXP007" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in fleet.rglob("*") if path.is_file()} == before


def test_learn_below_a_link_to_itself_is_refused(fleet: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert run(["expect", "learn", str(fleet), "--out", str(tmp_path / "loop" / "figures.json")]) == 2
    assert "BUG001" not in capsys.readouterr().err


def test_learn_writes_beside_runs_and_beside_files_of_that_name(fleet: Path) -> None:
    (fleet.parent / "run.json").write_text("{}")
    assert run(["expect", "learn", str(fleet), "--out", str(fleet / ".." / "figures.json")]) == 0
    assert (fleet.parent / "figures.json").exists()


def test_a_slot_that_nobody_has_cannot_be_left_out(fleet: Path) -> None:
    assert (
        run(["expect", "learn", str(fleet), "--out", str(fleet.parent / "x"), "--without", "node-999"]) == 2
    )


def _explained(folder: Path, capsys: Capture, subject: str, *more: str) -> tuple[int, Any]:
    code = run(["expect", "explain", str(folder), subject, "--format", "json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_explain_tells_figure_provenance_source_date_and_why(fleet: Path, capsys: Capture) -> None:
    code, document = _explained(fleet, capsys, "node-001/r0")
    assert (code, document["schema"]) == (0, "rackwright/expect-explain/1")
    pair = next(one for one in document["values"] if one["name"] == "bandwidth")
    assert (pair["expected"], pair["provenance"]) == ("at least 75 mbit_s", "plan")
    assert (pair["source"], pair["date"]) == ("0.75 of the planned 1 x 100 Mbit/s", "2026-11-28")
    assert pair["why"].startswith("the only one that fits; it is for fabric compute, rails 1")


def test_explain_says_where_there_is_no_figure(fleet: Path, capsys: Capture) -> None:
    code, document = _explained(fleet, capsys, "node-001")
    gflops = next(one for one in document["values"] if one["name"] == "gflops")
    assert (code, gflops["expected"]) == (3, None)
    assert gflops["why"].startswith("no figure: nobody published")


def test_explain_names_the_figure_that_says_most(fleet: Path, capsys: Capture) -> None:
    _learn(fleet, capsys)
    file = fleet.parent / "figures.json"
    _, document = _explained(fleet, capsys, "node-001/r0", "--expect", str(file))
    pair = next(one for one in document["values"] if one["name"] == "bandwidth")
    assert pair["provenance"] == "learned"
    assert pair["why"].startswith("of 2 that fit it says the most")
    assert [one["expected"] for one in pair["others"]] == ["at least 75 mbit_s"]


def test_explain_tells_parameters_as_words(fleet: Path, capsys: Capture) -> None:
    _learn(fleet, capsys)
    file = fleet.parent / "figures.json"
    _, document = _explained(fleet, capsys, "node-001", "--expect", str(file))
    gflops = next(one for one in document["values"] if one["name"] == "gflops")
    assert gflops["why"].endswith("order 768, threads 1")
    assert "{" not in gflops["why"]


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/null"])
def test_a_device_is_no_file_of_figures_and_is_not_read_to_its_end(
    fleet: Path, capsys: Capture, device: str
) -> None:
    for told in (["expect", "learn", str(fleet), "--out", device], ["judge", str(fleet), "--expect", device]):
        assert run(told) == 2
        assert "a device, and no file" in capsys.readouterr().err


def test_figures_may_come_out_of_a_pipe(fleet: Path, capsys: Capture) -> None:
    _learn(fleet, capsys)
    text = (fleet.parent / "figures.json").read_bytes()
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as end:
        end.write(text)
    assert run(["judge", str(fleet), "--expect", f"/dev/fd/{reading}"]) == 0
    os.close(reading)


def test_explain_in_text_is_for_a_reader(fleet: Path, capsys: Capture) -> None:
    assert run(["expect", "explain", str(fleet), "hall"]) == 0
    shown = capsys.readouterr().out
    assert "collectives busbw of all_reduce, 1048572 bytes: " in shown
    assert "    from      plan: 0.5 of the planned 1 x 100 Mbit/s" in shown


def test_explain_refuses_who_is_not_there(fleet: Path, capsys: Capture) -> None:
    assert run(["expect", "explain", str(fleet), "node-999"]) == 2
    assert "the run has no such subject" in capsys.readouterr().err
