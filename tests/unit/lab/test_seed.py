"""A boot seed reaches the host's root, and nothing outside of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rackwright.lab import rootfs, seed


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "etc").mkdir(parents=True)
    return tmp_path / "root"


def _seed(folder: Path, **files: str) -> Path:
    for name, content in files.items():
        path = folder / "etc" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def test_the_slots_files_lie_over_the_sites(tmp_path: Path, root: Path) -> None:
    shared, own = _seed(tmp_path / "_hall", hosts="all", hostname="none"), _seed(tmp_path / "a", hostname="a")
    assert seed.lay([shared, own, tmp_path / "absent"], root) == 3
    assert (root / "etc/hosts").read_text() == "all"
    assert (root / "etc/hostname").read_text() == "a"
    assert sorted(path.name for path in (root / "etc").iterdir()) == ["hostname", "hosts"]


def test_files_are_for_all_to_read_whatever_the_umask(tmp_path: Path, root: Path) -> None:
    mask = os.umask(0o077)
    try:
        seed.lay([_seed(tmp_path / "a", hostname="a")], root)
    finally:
        os.umask(mask)
    assert (root / "etc/hostname").stat().st_mode & 0o777 == 0o644


def test_files_keep_their_modes_where_they_are_to(tmp_path: Path, root: Path) -> None:
    folder = _seed(tmp_path / "a", sudoers="all")
    (folder / "etc/sudoers").chmod(0o440)
    seed.lay([folder], root, keep_modes=True)
    assert (root / "etc/sudoers").stat().st_mode & 0o777 == 0o440


def test_a_file_that_is_a_link_out_of_the_root_is_replaced_not_followed(tmp_path: Path, root: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    (root / "etc/hostname").symlink_to(outside)
    (root / "etc/.hostname.new").symlink_to(outside)
    seed.lay([_seed(tmp_path / "a", hostname="a")], root)
    assert outside.read_text() == "untouched"
    assert (root / "etc/hostname").read_text() == "a"
    assert not (root / "etc/hostname").is_symlink()


def test_a_folder_that_is_a_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    root = tmp_path / "root"
    root.mkdir()
    (root / "etc").symlink_to(outside)
    with pytest.raises(rootfs.UnsafeRoot):
        seed.lay([_seed(tmp_path / "a", hostname="a")], root)
    assert list(outside.iterdir()) == []


def test_a_pipe_in_the_way_holds_up_nobody(tmp_path: Path, root: Path) -> None:
    os.mkfifo(root / "etc/.hostname.new")
    os.mkfifo(root / "etc/hostname")
    seed.lay([_seed(tmp_path / "a", hostname="a")], root)
    assert (root / "etc/hostname").read_text() == "a"


def test_no_open_folder_is_left(tmp_path: Path, root: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        seed.lay([_seed(tmp_path / "a", hostname="a")], root)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
