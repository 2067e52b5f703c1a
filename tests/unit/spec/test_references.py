"""Secrets by reference: what is no text is refused, and not one byte of it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import TypeAdapter, ValidationError

from rackwright.errors import EnvironmentUnfit
from rackwright.spec.references import FileReference, SecretReference, read_secret

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LATIN_1 = "*,admin,Prüfung\n".encode("latin-1")


def _file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del monkeypatch
    (folder / "bmc.csv").write_bytes(LATIN_1)
    return "file:bmc.csv"


def _variable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    del folder
    monkeypatch.setenv("BMC_LOGINS", LATIN_1.decode("utf-8", "surrogateescape"))
    return "env:BMC_LOGINS"


@pytest.mark.parametrize("lay", [_file, _variable])
def test_a_secret_of_another_encoding_is_told_with_what_turns_it_into_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lay: Callable[[Path, pytest.MonkeyPatch], str]
) -> None:
    reference = lay(tmp_path, monkeypatch)
    with pytest.raises(EnvironmentUnfit) as caught:
        read_secret(reference, tmp_path, tmp_path)
    error = caught.value
    assert (error.code, error.where, error.got) == ("ENV002", reference, "bytes that are no UTF-8")
    assert "iconv -f latin1" in error.hint
    said = f"{error.message} {error.got} {error.expected} {error.hint}"
    assert "fung" not in said
    assert "0xfc" not in said


def test_a_secret_is_its_text_without_the_last_end_of_line(tmp_path: Path) -> None:
    (tmp_path / "bmc.csv").write_text("*,admin,Prüfung\r\n", encoding="utf-8")
    assert read_secret("file:bmc.csv", tmp_path, tmp_path) == "*,admin,Prüfung"


@pytest.mark.parametrize("kind", [FileReference, SecretReference])
@pytest.mark.parametrize("name", ["\0", "a\0b", "a\nb", " a", ""])
def test_a_name_that_no_file_can_have_is_no_reference(kind: type[str], name: str) -> None:
    assert TypeAdapter(kind).validate_python("file:a b.csv") == "file:a b.csv"
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_python(f"file:{name}")
