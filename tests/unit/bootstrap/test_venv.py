"""The Python environment: made once, brought up to date, made anew where a run left it unfinished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import places, venv
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program

PROJECT = """
[build-system]
requires = ["builder"]
[project]
name = "x"
version = "{version}"
dependencies = ["{dependency}"]
"""

PYTHON = """
case "$2" in
    venv) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; echo made >> {calls}
         [ -e {killed} ] && exit 1
         touch "$3/whole"; exit ;;
    pip) echo "$@" >> {calls}; [ -e "$(dirname "$0")/../whole" ] || {{ echo no pip; exit 1; }}
         [ -e {broken} ] && {{ echo no index; exit 1; }}
         touch "$(dirname "$0")/rackwright"; exit ;;
esac
echo {version}
"""


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> Path:
    """A checkout whose Python notes what it is asked to do in `calls`."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    monkeypatch.setattr(places, "REPOSITORY", folder)
    monkeypatch.setattr(venv, "PROJECT", folder / "pyproject.toml")
    monkeypatch.setattr(venv, "CONSTRAINTS", folder / "constraints.txt")
    (folder / "pyproject.toml").write_text(PROJECT.format(version=1, dependency="click"))
    (folder / "constraints.txt").write_text("click==8\n")
    files = {name: folder / name for name in ("calls", "broken", "killed")}
    body = PYTHON.format(**files, version="3.11")
    python = program("python", body)
    monkeypatch.setattr(places, "python", lambda: str(python))
    return folder


def calls(checkout: Path) -> list[str]:
    """What Python did since the last time this was asked."""
    found = (checkout / "calls").read_text().splitlines() if (checkout / "calls").exists() else []
    (checkout / "calls").unlink(missing_ok=True)
    return found


def test_it_is_made_once(checkout: Path, log: Path) -> None:
    assert venv.install(log).word == "done"
    did = calls(checkout)
    assert did[0] == "made"
    assert did[-1].endswith("check")
    assert f"--constraint {checkout}/constraints.txt" in did[1]
    assert venv.install(log).word == "cached"
    assert calls(checkout) == []


@pytest.mark.parametrize(
    ("file", "text"),
    [("pyproject.toml", PROJECT.format(version=1, dependency="rich")), ("constraints.txt", "click==9\n")],
)
def test_it_is_brought_up_to_date_when_what_it_holds_changes(
    checkout: Path, log: Path, file: str, text: str
) -> None:
    venv.install(log)
    calls(checkout)
    (checkout / file).write_text(text)
    assert venv.install(log).word == "done"
    assert "made" not in calls(checkout)
    assert venv.install(log).word == "cached"


def test_other_changes_of_the_project_change_nothing(checkout: Path, log: Path) -> None:
    venv.install(log)
    (checkout / "pyproject.toml").write_text(PROJECT.format(version=2, dependency="click"))
    assert venv.install(log).word == "cached"


def test_one_that_a_run_left_unfinished_is_made_anew(checkout: Path, log: Path) -> None:
    (checkout / "broken").touch()
    with pytest.raises(EnvironmentUnfit) as caught:
        venv.install(log)
    assert "no index" in caught.value.got
    assert caught.value.exit_code == 2
    calls(checkout)
    (checkout / ".venv" / "half").touch()
    (checkout / "broken").unlink()
    assert venv.install(log).word == "done"
    assert "made" in calls(checkout)
    assert not (checkout / ".venv" / "half").exists()


def test_one_whose_making_was_cut_off_is_mended_by_the_next_run(checkout: Path, log: Path) -> None:
    """It has a Python that runs, and nothing else."""
    (checkout / "killed").touch()
    with pytest.raises(EnvironmentUnfit):
        venv.install(log)
    (checkout / "killed").unlink()
    assert venv.install(log).word == "done"
    assert venv.install(log).word == "cached"


def test_one_made_by_hand_is_kept_and_completed(checkout: Path, log: Path) -> None:
    venv.install(log)
    calls(checkout)
    (checkout / ".venv" / "rackwright-setup").unlink()
    (checkout / ".venv" / "by-hand").touch()
    assert venv.install(log).word == "done"
    assert "made" not in calls(checkout)
    assert (checkout / ".venv" / "by-hand").exists()


def test_one_whose_python_went_away_is_made_anew(checkout: Path, log: Path) -> None:
    venv.install(log)
    calls(checkout)
    (checkout / ".venv" / "bin" / "python").unlink()
    assert venv.install(log).word == "done"
    assert "made" in calls(checkout)
