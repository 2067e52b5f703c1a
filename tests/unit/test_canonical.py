"""Canonical JSON is Python's own, sorted and indented, however it is made."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright import canonical
from rackwright.findings import SpecPath

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.canonical import Json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(max_size=5), below, max_size=4),
    max_leaves=20,
)


def reference(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


@given(values)
def test_it_is_pythons_json_sorted_and_indented(value: Json) -> None:
    assert canonical.dumps(value) == reference(value)


@pytest.mark.parametrize(
    "value",
    [
        1e16,
        1e22,
        1e-5,
        5e-324,
        -1e300,
        0.1,
        100.0,
        -0.0,
        2**70,
        9999999999999998.0,
        1e-4,
        "\x1f\x7f\u2028\U0001f600",
    ],
)
def test_it_is_pythons_json_at_the_edges(value: Json) -> None:
    assert canonical.dumps({"a": value}) == reference({"a": value})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical.dumps({"a": value})


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        canonical.dumps({"a": {1, 2}})  # type: ignore[dict-item]


def test_enums_and_paths_are_their_texts() -> None:
    class Colour(StrEnum):
        RED = "red"

    value: Json = {"b": Colour.RED, "a": list(SpecPath(("x", 1)))}
    assert canonical.dumps(value) == reference(value)


def test_writing_leaves_the_old_file_where_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "plan.json"
    canonical.write_atomic(file, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        canonical.write_atomic(file, "new")
    assert file.read_text(encoding="utf-8") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_file_that_is_there_is_not_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "below" / "once"
    canonical.write_new(file, "first", mode=0o600)
    with pytest.raises(FileExistsError) as caught:
        canonical.write_new(file, "second")
    assert caught.value.filename == str(file)
    assert file.read_text() == "first"
    assert file.stat().st_mode & 0o777 == 0o600
    assert list(file.parent.iterdir()) == [file]
