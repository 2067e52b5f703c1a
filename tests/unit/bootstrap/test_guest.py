"""The image of guests is made once for what it holds, and by root alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import guest, image, places
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path


def test_the_image_is_another_where_the_roles_want_other_packages(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = guest.folder()
    assert before.is_relative_to(cache)
    (tmp_path / "role" / "files").mkdir(parents=True)
    (tmp_path / "role" / "files" / f"packages.{image.SYSTEM}.txt").write_text("sl\n")
    monkeypatch.setattr(image, "ROLES", tmp_path)
    assert guest.folder() != before


def test_one_that_is_there_is_found_and_pointed_at(cache: Path, tmp_path: Path) -> None:
    guest.folder().mkdir(parents=True)
    assert guest.install(tmp_path / "log").word == "done"
    assert guest.current().resolve() == guest.folder().resolve()
    assert guest.install(tmp_path / "log").word == "cached"
    assert cache.is_dir()


def test_only_root_can_make_one(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(places, "is_root", lambda: False)
    with pytest.raises(EnvironmentUnfit) as raised:
        guest.install(tmp_path / "log")
    assert raised.value.code == "SET011"
    assert cache.is_dir()
