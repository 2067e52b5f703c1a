"""A file of the user's in, its text out, or an error that says what it is instead."""

from __future__ import annotations

import difflib
from shlex import quote
from typing import TYPE_CHECKING

from rackwright.errors import SpecUnreadable
from rackwright.findings import Place

if TYPE_CHECKING:
    from pathlib import Path

LARGEST_MIB = 16


def read_text(path: Path, kind: str) -> str:
    """The whole file as text, a byte order mark taken off.

    Args:
        path: the file.
        kind: what it should be, in words: ``a YAML file``.

    Raises:
        SpecUnreadable: missing, a directory, no permission, too large, or not UTF-8.
    """
    return _decode(path, _read_bytes(path, kind))


def _read_bytes(path: Path, kind: str) -> bytes:
    limit = LARGEST_MIB * 2**20
    try:
        with path.open("rb") as file:
            raw = file.read(limit + 1)
    except OSError as error:
        raise _unopened(path, kind, error) from None
    if len(raw) > limit:
        raise SpecUnreadable(
            "the file is too large", where=Place(path), got=f"more than {LARGEST_MIB} MiB", expected=kind
        )
    return raw


def _unopened(path: Path, kind: str, error: OSError) -> SpecUnreadable:
    """What is there instead of a file that can be read."""
    if isinstance(error, FileNotFoundError):
        return SpecUnreadable(
            "no such file", where=Place(path), got="nothing there", expected=kind, hint=_nearest(path)
        )
    if isinstance(error, IsADirectoryError):
        return SpecUnreadable(
            "a directory, not a file",
            where=Place(path),
            got="a directory",
            expected=kind,
            hint=_name_one(path, "it holds"),
        )
    return SpecUnreadable(
        "the file cannot be read",
        where=Place(path),
        got=error.strerror or type(error).__name__,
        expected=f"{kind} that you may read",
        hint=f"see `ls -l {quote(str(path))}`",
    )


def _decode(path: Path, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line = before.count(b"\n") + 1
        column = error.start - (before.rfind(b"\n") + 1) + 1
        wide = raw[:2] in {b"\xff\xfe", b"\xfe\xff"}
        raise SpecUnreadable(
            "the file is not UTF-8",
            where=Place(path, line, column),
            got="UTF-16" if wide else f"byte 0x{raw[error.start]:02x}",
            expected="UTF-8 text",
            hint=f"iconv -f {'utf-16' if wide else 'latin1'} -t utf-8 {quote(str(path))}",
        ) from None


def _nearest(path: Path) -> str:
    """A hint that names the file that was probably meant."""
    if not path.parent.is_dir():
        return f"there is no directory {path.parent}"
    try:
        names = sorted(entry.name for entry in path.parent.iterdir())
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.with_name(near[0])}?" if near else _name_one(path.parent, "here is")


def _name_one(folder: Path, words: str) -> str:
    try:
        first = min(folder.glob("*.yaml"), default=None)
    except OSError:
        return ""
    return f"{words} {first}" if first else ""
