"""While a run is at work on a cluster, no other command replaces what it goes by."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from rackwright import locks, paths
from rackwright.cli import preview
from rackwright.cli.frame import run
from rackwright.provision.locks import WORK, at_work

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A planned spec, its state beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(locks, "TRIED_FOR_S", 0)
    shutil.copytree(paths.repository() / "clusters" / "assets", tmp_path / "assets")
    spec = tmp_path / "lab.yaml"
    shutil.copy(paths.repository() / "clusters" / "lab.yaml", spec)
    assert run(["plan", str(spec), "-q"]) == 0
    return spec


def _edit(spec: Path) -> None:
    """Change the plan, and nothing that its lock holds."""
    text = spec.read_text()
    spec.write_text(text.replace("lab.internal", "other.internal"))
    assert spec.read_text() != text


def _contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.name != WORK}


@pytest.mark.parametrize("command", ["up --yes", "destroy --yes", "refresh", "preview", "stacks init"])
def test_another_run_is_refused_with_who_is_at_work_and_nothing_is_replaced(
    spec: Path, capsys: Capture, command: str
) -> None:
    state = paths.state("lab")
    before = _contents(state)
    _edit(spec)
    with at_work(state):
        assert run([*command.split(), str(spec), "--format", "json"]) == 2
    error = json.loads(capsys.readouterr().out)
    assert (error["code"], error["where"]) == ("UP003", str(state / WORK))
    assert error["got"].startswith("process ")
    assert _contents(state) == before


def test_a_preview_of_the_same_plan_looks_while_somebody_is_at_work(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "run", lambda *_: 0)
    with at_work(paths.state("lab")):
        assert run(["preview", str(spec)]) == 0


def test_a_preview_holds_nothing_once_its_plan_is_written(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(*_: object) -> int:
        with at_work(paths.state("lab")):
            return 0

    _edit(spec)
    monkeypatch.setattr(preview, "run", look)
    assert run(["preview", str(spec)]) == 0
    assert "other.internal" in paths.plan_file("lab").read_text()
