"""The image of guests is made once for what it holds, and by root alone."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from bootstrap import guest, image, places
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program


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


def test_the_image_is_another_where_it_is_made_otherwise_and_the_same_in_another_checkout(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = guest.folder()
    assert before.is_relative_to(cache)
    shutil.copytree(guest.OVERLAY, tmp_path / "an other" / "overlay", symlinks=True)
    monkeypatch.setattr(guest, "OVERLAY", tmp_path / "an other" / "overlay")
    assert guest.folder() == before
    monkeypatch.setattr(guest, "OPTIONS", (*guest.OPTIONS, "--customize-hook=true"))
    assert guest.folder() != before


def test_paths_with_blanks_and_signs_are_one_word(
    program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "a cache; touch oops"
    boot = folder / "root" / "usr/lib/grub/i386-pc/boot.img"
    core = folder / "root" / "boot/grub/i386-pc/core.img"
    for file in (boot, core):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"x" * 512)
    program("sfdisk", f'cat > {tmp_path}/table; echo "$@" > {tmp_path}/said')
    program("mkfs.ext4", "exit 0")
    monkeypatch.chdir(tmp_path)
    guest.make_disk(folder / "root", folder / "disk.raw", tmp_path / "log")
    assert (tmp_path / "said").read_text() == f"-q {folder}/disk.raw\n"
    assert (tmp_path / "table").read_text() == "2048,,L,*\n"
    assert not (tmp_path / "oops").exists()


def test_only_root_can_make_one(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(places, "is_root", lambda: False)
    with pytest.raises(EnvironmentUnfit) as raised:
        guest.install(tmp_path / "log")
    assert raised.value.code == "SET011"
    assert cache.is_dir()
