"""Hashes of what goes into a step: whatever decides its result changes them, and nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from bootstrap import digest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def change_bytes(tree: Path) -> None:
    (tree / "etc" / "unit").write_text("other")


def change_mode(tree: Path) -> None:
    (tree / "etc" / "unit").chmod(0o755)


def change_name(tree: Path) -> None:
    (tree / "etc" / "unit").rename(tree / "etc" / "unit2")


def change_link(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to("elsewhere")


def add_folder(tree: Path) -> None:
    (tree / "var").mkdir()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "unit").write_text("some")
    (root / "etc" / "unit").chmod(0o644)
    (root / "link").symlink_to("etc/unit")
    return root


@pytest.mark.parametrize("change", [change_bytes, change_mode, change_name, change_link, add_folder])
def test_whatever_changes_in_a_tree_changes_its_hash(tree: Path, change: Callable[[Path], None]) -> None:
    before = digest.of_tree(tree)
    change(tree)
    assert digest.of_tree(tree) != before


def test_a_checkout_made_later_has_the_same_hash(tree: Path) -> None:
    before = digest.of_tree(tree)
    os.utime(tree / "etc" / "unit", (1, 1))
    assert digest.of_tree(tree) == before


def test_borders_between_words_count() -> None:
    assert digest.of_words(["ab", "c"]) != digest.of_words(["a", "bc"])
