"""Every command, asked with something that is not there or is no such thing: told, and nothing is made."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest

from rackwright import paths
from rackwright.cli.commands import COMMANDS
from rackwright.cli.frame import run

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

LAB = "lab.yaml"
"""A good spec, planned."""
NONE, CUT, FOLDER = "nothere", "cut.json", "folder"


class Case(NamedTuple):
    """A command line and what is said of it."""

    words: tuple[str, ...]
    where: str
    got: str = ""


def of_spec(*words: str) -> list[Case]:
    """The same for a spec that is not there, is a folder, and is no YAML."""
    verbs = words
    return [
        Case((*verbs, NONE), NONE, "nothing there"),
        Case((*verbs, FOLDER), FOLDER, "a directory"),
        Case((*verbs, CUT), CUT),
    ]


CASES = [
    Case(("schema", "thing"), "rackwright schema"),
    *of_spec("check"),
    *of_spec("plan"),
    Case(("plan", LAB, "--diff", CUT), CUT),
    Case(("plan", LAB, "--diff", NONE), NONE, "nothing there"),
    *of_spec("stacks", "init"),
    *of_spec("env"),
    *of_spec("preview"),
    Case(("preview", LAB, "--stack", "hall-b"), "--stack", "hall-b"),
    *of_spec("up"),
    Case(("up", LAB, "--yes", "--plan", CUT), CUT, "document: Invalid JSON"),
    Case(("up", LAB, "--yes", "--plan", NONE), "rackwright up"),
    *of_spec("refresh"),
    *of_spec("destroy"),
    *of_spec("inventory"),
    *of_spec("converge"),
    Case(("converge", LAB, "--limit", "nobody"), "--limit", "nobody"),
    *of_spec("drift"),
    *of_spec("render", "--out", "rendered"),
    *of_spec("validate"),
    Case(("validate", LAB, "endurance"), "SUITE", "endurance"),
    Case(("validate", LAB, "--limit", "nobody"), "--limit", "nobody"),
    Case(("validate", LAB, "--resume", NONE), NONE, "nothing"),
    Case(("parse", "iperf", CUT), "TOOL", "iperf"),
    Case(("parse", "iperf3", NONE), NONE, "No such file"),
    Case(("judge", NONE), f"{NONE}/run.json", "No such file"),
    Case(("judge", FOLDER), f"{FOLDER}/run.json", "No such file"),
    Case(("expect", "explain", NONE), ""),
    Case(("compare", NONE, FOLDER), ""),
    Case(("catalogue", "show", "dgx-h10"), "", "dgx-h10"),
    Case(("nics", "p5.48xlrge"), "", "p5.48xlrge"),
    Case(("fabric", "size", NONE), NONE, "nothing there"),
    Case(("fabric", "diff", LAB, "--observed", CUT), ""),
    *of_spec("doctor"),
    *of_spec("lab", "up"),
    Case(("lab", "fault", "no-such", "node-001"), "", "no-such"),
    Case(("lab", "ssh", "--format", "json", "--spec", LAB, "node-001"), LAB, "no such lab"),
    Case(("completion", "tcsh"), "rackwright completion"),
    *(Case((name, "--no-such-option"), f"rackwright {name}") for name in COMMANDS),
]
LOCKS = {"converge", "lock", "runners.lock"}
"""Taken before anything is looked at."""


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good and bad files; the good spec is planned."""
    folder = tmp_path_factory.mktemp("planned")
    clusters = paths.repository() / "clusters"
    shutil.copytree(clusters / "assets", folder / "assets")
    shutil.copy(clusters / LAB, folder / LAB)
    (folder / CUT).write_text("[1,")
    (folder / FOLDER).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        assert run(["plan", str(folder / LAB), "-q"]) == 0
    return folder


@pytest.fixture
def folder(planned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Path:
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=[" ".join(case.words) for case in CASES])
def test_what_is_wrong_is_told_with_its_place_and_what_would_be_right(
    case: Case, folder: Path, capsys: Capture
) -> None:
    before = _files(folder)
    assert run([*case.words, "--format", "json"]) == 2
    error = json.loads(capsys.readouterr().out)
    assert error["code"] != "BUG001"
    assert error["where"].startswith(case.where) or error["where"].endswith(case.where)
    assert error["where"]
    assert case.got in error["got"]
    assert error["expected"] or error["hint"]
    assert _files(folder) == before, "nothing is made"


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.name not in LOCKS}
