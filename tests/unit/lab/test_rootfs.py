"""Files of a host's root are read, replaced and removed, and nothing outside of it is ever touched."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import pytest

from rackwright.lab import rootfs
from rackwright.lab.rootfs import Content, UnsafeRoot

FILE = PurePosixPath("etc/deep/file")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_what_was_written_is_read_with_its_mode(root: Path) -> None:
    rootfs.write(root, FILE, Content(b"\0raw", mode=0o600))
    read = rootfs.read(root, FILE)
    assert read == Content(b"\0raw", 0o600, (os.geteuid(), os.getegid()))
    assert sorted(path.name for path in (root / "etc/deep").iterdir()) == ["file"]


def test_reading_and_removing_what_is_not_there_makes_nothing(root: Path) -> None:
    assert rootfs.read(root, FILE) is None
    rootfs.remove(root, FILE)
    assert list(root.iterdir()) == []


def test_a_link_in_place_of_the_file_is_not_read_but_removed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    (root / "etc/deep").mkdir(parents=True)
    (root / FILE).symlink_to(outside)
    with pytest.raises(UnsafeRoot):
        rootfs.read(root, FILE)
    rootfs.remove(root, FILE)
    assert (outside.read_text(), (root / FILE).is_symlink()) == ("secret", False)


def test_a_pipe_in_place_of_the_file_holds_up_nobody(root: Path) -> None:
    (root / "etc/deep").mkdir(parents=True)
    os.mkfifo(root / FILE)
    with pytest.raises(UnsafeRoot):
        rootfs.read(root, FILE)


def test_no_folder_that_is_a_link_is_gone_through(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/file").write_text("untouched")
    (root / "etc").mkdir()
    (root / "etc/deep").symlink_to(tmp_path / "outside")
    with pytest.raises(UnsafeRoot):
        rootfs.read(root, FILE)
    with pytest.raises(UnsafeRoot):
        rootfs.remove(root, FILE)
    with pytest.raises(UnsafeRoot):
        rootfs.write(root, FILE, Content(b"new"))
    assert (tmp_path / "outside/file").read_text() == "untouched"


def test_no_open_folder_is_left(root: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        rootfs.write(root, FILE, Content(b""))
        rootfs.read(root, FILE)
        rootfs.read(root, PurePosixPath("no/such"))
        rootfs.remove(root, FILE)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
