"""`rackwright plan`: what it writes, what it prints, and when it writes nothing."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rackwright"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """The lab's spec, as its owner begins: without a lock."""
    clusters = paths.repository() / "clusters"
    (tmp_path / "assets").mkdir()
    shutil.copy(clusters / "assets/lab.csv", tmp_path / "assets")
    shutil.copy(clusters / "lab.yaml", tmp_path)
    return tmp_path / "lab.yaml"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file."""
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_it_writes_the_lock_and_the_plan(spec: Path, state: Path, capsys: Capture) -> None:
    assert run(["plan", str(spec)]) == 0
    assert (spec.parent / "lab.lock.yaml").read_text(encoding="utf-8").startswith("# What is allocated")
    plan = json.loads((state / "lab" / "plan.json").read_text(encoding="utf-8"))
    assert plan["schema"] == "rackwright/plan/1"
    out, err = capsys.readouterr()
    assert "4 nodes, 0 accelerators, 2 switches, 6 cables, 2 racks, 0.8 kW" in out
    assert "node-[001-003]" in out
    assert err == ""


def _written(file: Path) -> tuple[int, int]:
    """Which file it is and when it was last written; when it was read says nothing."""
    status = file.stat()
    return status.st_ino, status.st_mtime_ns


def test_a_second_run_writes_the_same_bytes_and_leaves_the_lock_alone(spec: Path, state: Path) -> None:
    run(["plan", str(spec)])
    lock, plan = spec.parent / "lab.lock.yaml", state / "lab" / "plan.json"
    before, content = _written(lock), plan.read_bytes()
    assert run(["plan", str(spec)]) == 0
    assert _written(lock) == before
    assert plan.read_bytes() == content


def test_out_gets_the_same_plan(spec: Path, state: Path, tmp_path: Path) -> None:
    assert run(["plan", str(spec), "--out", str(tmp_path / "new" / "folder")]) == 0
    written = (tmp_path / "new" / "folder" / "plan.json").read_bytes()
    assert written == (state / "lab" / "plan.json").read_bytes()


def test_json_is_one_document_with_what_the_contract_names(spec: Path, capsys: Capture) -> None:
    assert run(["plan", str(spec), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rackwright/plan-summary/1"
    assert set(document["totals"]) == {
        "nodes",
        "accelerators",
        "switches",
        "cables",
        "racks",
        "power_kw",
        "resources",
    }
    assert document["totals"]["nodes"] == 4
    nulls = {name for name, total in document["totals"].items() if total is None}
    nulls |= {name for name in ("pools", "fabrics", "storage", "failure", "cost") if document[name] is None}
    assert nulls == {"failure", "cost"} == set(document["not_planned"])
    assert document["pools"]["node"]["slots"] == "node-[001-003]"
    assert document["fabrics"]["compute"]["endpoints"] == 6


def test_what_does_not_fit_is_located_and_nothing_is_written(
    spec: Path, tmp_path: Path, capsys: Capture
) -> None:
    edit(spec, "nodes: {static: 3}", "nodes: {static: 300}")
    before = files(tmp_path)
    line = 1 + spec.read_text(encoding="utf-8").splitlines().index("    nodes: {static: 300}")
    assert run(["plan", str(spec)]) == 1
    assert f"{spec}:{line}:5: error ADDR001" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_a_rule_that_is_broken_keeps_the_plan_from_being_written(
    spec: Path, tmp_path: Path, capsys: Capture
) -> None:
    edit(spec, "bmc: {cidr: 10.77.1.0/24}", "bmc: {cidr: 10.77.0.0/24}")
    before = files(tmp_path)
    assert run(["plan", str(spec)]) == 1
    assert "error NET001: network bmc of hall overlaps network management of hall" in capsys.readouterr().err
    assert files(tmp_path) == before


def test_plan_and_rules_speak_at_once(spec: Path, capsys: Capture) -> None:
    edit(spec, "nodes: {static: 3}", "nodes: {static: 300}")
    edit(spec, "image: debian", "image: debina")
    assert run(["plan", str(spec)]) == 1
    err = capsys.readouterr().err
    assert "ADDR001" in err
    assert "did you mean `debian`?" in err
    assert "2 errors in the spec" in err


def test_a_warning_is_told_and_the_plan_written(spec: Path, state: Path, capsys: Capture) -> None:
    edit(spec, '    assets: "file:assets/lab.csv"\n', "")
    edit(spec, '    assets: "file:assets/lab.csv"\n', "")
    assert run(["plan", str(spec)]) == 0
    assert "warning ASSET" in capsys.readouterr().err
    assert (state / "lab" / "plan.json").exists()


def test_a_corrupt_lock_is_left_as_it_is_and_nothing_is_planned(
    spec: Path, tmp_path: Path, capsys: Capture
) -> None:
    run(["plan", str(spec)])
    lock = tmp_path / "lab.lock.yaml"
    lock.write_text(
        "".join(lock.read_text(encoding="utf-8").splitlines(keepends=True)[:12]), encoding="utf-8"
    )
    before = files(tmp_path)
    capsys.readouterr()
    assert run(["plan", str(spec)]) == 2
    err = capsys.readouterr().err
    assert f"{lock}: error LOCK001" in err
    assert "version control" in err
    assert files(tmp_path) == before


def test_a_lock_that_is_no_text_is_refused(spec: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "lab.lock.yaml").write_bytes(b"\xff\xfe")
    assert run(["plan", str(spec)]) == 2
    assert "LOCK001" in capsys.readouterr().err


def test_the_lock_of_another_cluster_is_refused(spec: Path, capsys: Capture) -> None:
    run(["plan", str(spec)])
    edit(spec, "name: lab,", "name: lab2,")
    capsys.readouterr()
    assert run(["plan", str(spec)]) == 2
    assert "another cluster's" in capsys.readouterr().err


def test_a_folder_that_takes_no_file_is_said_and_the_old_lock_stays(
    spec: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["plan", str(spec)])
    before = files(tmp_path)
    edit(spec, "nodes: {static: 3}", "nodes: {static: 4}")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / "lab.lock.yaml"))

    monkeypatch.setattr("os.fsync", full)
    capsys.readouterr()
    assert run(["plan", str(spec)]) == 2
    assert "No space left on device" in capsys.readouterr().err
    after = files(tmp_path)
    del before["lab.yaml"], after["lab.yaml"]
    assert after == before
