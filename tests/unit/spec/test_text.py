"""A file that cannot be read says what it is instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.errors import SpecUnreadable
from rackwright.spec import text
from rackwright.spec.text import read_text

if TYPE_CHECKING:
    from pathlib import Path


def refused(path: Path) -> SpecUnreadable:
    with pytest.raises(SpecUnreadable) as caught:
        read_text(path, "a YAML file")
    return caught.value


def test_a_byte_order_mark_is_taken_off(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert read_text(tmp_path / "a", "x") == "a: 1\n"


def test_a_missing_file_names_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "atlas.yaml").touch()
    error = refused(tmp_path / "atlsa.yaml")
    assert error.hint == f"did you mean {tmp_path / 'atlas.yaml'}?"
    assert refused(tmp_path / "zzz").hint == f"here is {tmp_path / 'atlas.yaml'}"
    assert refused(tmp_path / "no" / "a.yaml").hint == f"there is no directory {tmp_path / 'no'}"


def test_a_directory_names_a_spec_within_it(tmp_path: Path) -> None:
    assert refused(tmp_path).hint == ""
    (tmp_path / "atlas.yaml").touch()
    error = refused(tmp_path)
    assert (error.got, error.hint) == ("a directory", f"it holds {tmp_path / 'atlas.yaml'}")


def test_other_encodings_are_named_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"a: 1\nb: caf\xe9\n")
    error = refused(file)
    assert error.where == f"{file}:2:7"
    assert error.got == "byte 0xe9"
    assert "latin1" in error.hint
    file.write_bytes("a: 1".encode("utf-16"))
    assert refused(file).got == "UTF-16"


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "LARGEST_MIB", 1)
    (tmp_path / "zero").symlink_to("/dev/zero")
    assert refused(tmp_path / "zero").got == "more than 1 MiB"
