"""What a lab makes outside its own folders is noted before it is made, and only that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import files, teardown

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.lab.places import Places


@pytest.fixture
def made(places: Places) -> Places:
    places.lab.mkdir(parents=True)
    return places


def test_what_is_made_elsewhere_goes_and_what_was_there_stays(made: Places, tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "other").write_text("somebody's")
    for path in (tmp_path / "log/a/b/head.log", tmp_path / "log/other", tmp_path / "new/x.log"):
        files.note(made, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "new/later").write_text("somebody's")
    teardown._remove_outside(made)  # noqa: SLF001 (the other half of `note`)
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        "log/other", "new/later", "state/lab/lab/outside",
    ]  # fmt: skip
    assert not (tmp_path / "log/a").exists()


def test_a_second_note_says_nothing_new(made: Places, tmp_path: Path) -> None:
    for _ in range(2):
        files.note(made, tmp_path / "a/x")
    assert made.outside.read_text().splitlines() == [f"{tmp_path}/a", f"{tmp_path}/a/x"]


def test_the_state_folder_needs_no_note(made: Places) -> None:
    files.note(made, made.state / "console" / "head-001.log")
    assert not made.outside.exists()


def test_a_file_of_somebody_else_is_not_overwritten(made: Places, tmp_path: Path) -> None:
    files.publish(made, tmp_path / "ca.pem", "ours")
    files.publish(made, tmp_path / "ca.pem", "ours")
    with pytest.raises(EnvironmentUnfit) as refused:
        files.publish(made, tmp_path / "ca.pem", "newer")
    assert refused.value.code == "LAB013"
    assert (tmp_path / "ca.pem").read_text() == "ours"
