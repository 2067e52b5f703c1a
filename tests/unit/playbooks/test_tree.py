"""Many files in one call: changed exactly when something differs, and told truly in check mode."""

from __future__ import annotations

import base64
import grp
import os
import pwd
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.unit.playbooks.conftest import Library

    Wanted = str | dict[str, object] | None

OWNER, GROUP = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
MINE = {"owner": OWNER, "group": GROUP}


class Tree:
    """Arguments for a tree below a folder, as its action plugin hands them over."""

    def __init__(self, library: Library, root: Path) -> None:
        self.library, self.root = library, root

    def lay(self, **entries: Wanted) -> dict[str, object]:
        """Keys are names; a text is a file's content, None a folder, else what the task says."""
        return self._run(entries, check=False)

    def check(self, **entries: Wanted) -> dict[str, object]:
        """The same in check mode."""
        return self._run(entries, check=True)

    def _run(self, entries: Mapping[str, Wanted], *, check: bool) -> dict[str, object]:
        files, contents = {}, {}
        for name, entry in entries.items():
            wanted = dict(entry) if isinstance(entry, dict) else {}
            content = entry if isinstance(entry, str) else wanted.pop("content", None)
            files[str(self.root / name)] = {**MINE, **wanted}
            if content is not None:
                contents[str(self.root / name)] = base64.b64encode(str(content).encode()).decode()
        return self.library.run("tree", check=check, files=files, contents=contents)


@pytest.fixture
def tree(library: Library, tmp_path: Path) -> Tree:
    return Tree(library, tmp_path / "root")


def names(answer: dict[str, object]) -> list[str]:
    paths = answer["changed_paths"]
    assert isinstance(paths, list)
    return [path.rpartition("/")[2] for path in paths]


def test_files_and_folders_are_laid_and_the_second_call_changes_nothing(tree: Tree) -> None:
    wanted: dict[str, Wanted] = {"b": "two\n", "a": "", "folder": {"mode": "0700"}}
    assert names(tree.lay(**wanted)) == ["folder", "a", "b"]
    assert (tree.root / "b").read_text() == "two\n"
    assert (tree.root / "a").read_text() == ""
    assert (tree.root / "folder").stat().st_mode & 0o777 == 0o700
    again = tree.lay(**wanted)
    assert again["changed"] is False
    assert names(again) == []


def test_check_mode_says_the_same_and_touches_nothing(tree: Tree) -> None:
    answer = tree.check(a="new\n", folder=None)
    assert answer["changed"] is True
    assert names(answer) == ["folder", "a"]
    assert not tree.root.exists()


@pytest.mark.parametrize("check", [False, True])
def test_only_what_differs_is_changed_and_shown(tree: Tree, *, check: bool) -> None:
    tree.lay(a="one\n", b="two\n")
    answer = (tree.check if check else tree.lay)(a="one\n", b="three\n")
    assert names(answer) == ["b"]
    assert isinstance(answer["diff"], list)
    (diff,) = answer["diff"]
    assert (diff["before"], diff["after"]) == ("two\n", "three\n")
    assert (tree.root / "b").read_text() == ("two\n" if check else "three\n")


@pytest.mark.parametrize("check", [False, True])
def test_a_wrong_mode_is_a_change(tree: Tree, *, check: bool) -> None:
    tree.lay(a={"content": "x", "mode": "0600"})
    (tree.root / "a").chmod(0o644)
    answer = (tree.check if check else tree.lay)(a={"content": "x", "mode": "0600"})
    assert names(answer) == ["a"]
    assert (tree.root / "a").stat().st_mode & 0o777 == (0o644 if check else 0o600)


def test_a_file_is_never_seen_half_written_or_with_another_mode(tree: Tree) -> None:
    tree.lay(a={"content": "old", "mode": "0600"})
    with (tree.root / "a").open() as reader:
        tree.lay(a={"content": "new", "mode": "0600"})
        assert reader.read() == "old", "the file was written in place"
    assert os.listdir(tree.root) == ["a"]  # noqa: PTH208 (nothing is left beside it)


def test_a_secret_is_in_no_answer(tree: Tree) -> None:
    tree.lay(key={"content": "old-canary", "secret": True})
    answer = tree.lay(key={"content": "new-canary", "secret": True})
    assert names(answer) == ["key"]
    assert "canary" not in str(answer)
    assert base64.b64encode(b"new-canary").decode() not in str(answer)


def test_a_link_is_not_followed(tree: Tree, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    tree.root.mkdir()
    (tree.root / "a").symlink_to(target)
    answer = tree.lay(a="new")
    assert answer["failed"] is True
    assert f"is a link to {target}" in str(answer["msg"])
    assert target.read_text() == "precious"


def test_what_must_not_be_there_goes_and_what_is_not_there_is_no_change(tree: Tree) -> None:
    tree.lay(a="x")
    assert names(tree.check(a={"absent": True})) == ["a"]
    assert (tree.root / "a").exists()
    assert names(tree.lay(a={"absent": True})) == ["a"]
    assert not (tree.root / "a").exists()
    assert tree.lay(a={"absent": True})["changed"] is False


@pytest.mark.parametrize("check", [False, True])
def test_a_mark_is_told_and_left(tree: Tree, *, check: bool) -> None:
    way = tree.check if check else tree.lay
    tree.lay(mark="of a run that was cut off")
    told = way(mark={"left": True}, other={"left": True})
    assert not told["changed"]
    assert told["there"] == [str(tree.root / "mark")]
    assert (tree.root / "mark").read_text() == "of a run that was cut off"
    assert not (tree.root / "other").exists()
    marks: dict[str, str | dict[str, object]] = {name: {"left": True} for name in ("m*k", "*.py")}
    assert way(**marks)["there"] == [str(tree.root / "mark")]


def test_a_full_disk_names_the_file_and_leaves_the_old_one(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.lay(a="old")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device", str(tree.root / "a"))

    monkeypatch.setattr(os, "fsync", full)
    answer = tree.lay(a="new")
    assert answer["msg"] == f"{tree.root / 'a'}: No space left on device"
    assert (tree.root / "a").read_text() == "old"
    assert os.listdir(tree.root) == ["a"]  # noqa: PTH208 (nothing is left beside it)
