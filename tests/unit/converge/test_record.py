"""The report of the run before, which only says how long the next one may take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rackwright.converge import record

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "left",
    [b"", b"{", b"[]", b'{"schema": "rackwright/converge/0"}', b"\xff\xfe", b'"\\ud800"', b"[" * 100_000],
)
def test_one_that_cannot_be_read_is_none(tmp_path: Path, left: bytes) -> None:
    (tmp_path / record.REPORT).write_bytes(left)
    assert record.last(tmp_path) is None


def test_what_is_no_file_is_none(tmp_path: Path) -> None:
    assert record.last(tmp_path) is None
    (tmp_path / record.REPORT).mkdir()
    assert record.last(tmp_path) is None
