"""A folder is there whole or not at all, whatever was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import fresh
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path


def test_a_folder_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "target"
    with fresh.new_folder(target) as work:
        (work / "file").write_text("1")
        assert not target.exists()
    assert (target / "file").read_text() == "1"
    assert list(target.parent.iterdir()) == [target]


def test_a_folder_that_could_not_be_filled_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "target"

    def fail() -> None:
        with fresh.new_folder(target) as work:
            (work / "file").write_text("1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_run_left_is_removed_and_the_rest_stays(tmp_path: Path) -> None:
    (tmp_path / "other.partial").mkdir()
    (tmp_path / "other.partial" / "half").write_text("")
    (tmp_path / "kept").mkdir()
    with fresh.new_folder(tmp_path / "target"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"kept", "target"}


def test_a_link_that_a_killed_run_left_half_moved_stands_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "kept").touch()
    (tmp_path / "current.partial").symlink_to("one")
    (tmp_path / "dangling.partial").symlink_to("gone")
    with fresh.new_folder(tmp_path / "two"):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"one", "two"}
    assert (tmp_path / "one" / "kept").exists()


def test_nothing_is_deleted_through_a_mount(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = tmp_path / "with blank.partial" / "root"
    left.mkdir(parents=True)
    table = tmp_path / "mountinfo"
    table.write_text("1 0 0:1 / {} rw - tmpfs tmpfs rw\n".format(str(left / "proc").replace(" ", "\\040")))
    monkeypatch.setattr(fresh, "MOUNT_TABLE", table)
    with pytest.raises(EnvironmentUnfit) as caught:
        fresh.remove(left.parent)
    assert left.exists()
    assert caught.value.got == str(left / "proc")
    table.write_text("")
    fresh.remove(left.parent)
    assert not left.exists()


def test_a_link_moves_and_says_whether_it_did(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "current"
    assert fresh.point(link, tmp_path / "one")
    assert not fresh.point(link, tmp_path / "one")
    assert fresh.point(link, tmp_path / "two")
    assert link.resolve() == tmp_path / "two"
    assert not link.readlink().is_absolute()


def test_too_little_space_is_told_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit) as caught:
        fresh.require_space(tmp_path / "not" / "yet", 1e6, "a test")
    assert caught.value.exit_code == 2
    assert "1000000.0 GiB" in caught.value.expected
    fresh.require_space(tmp_path / "not" / "yet", 0.0, "a test")
