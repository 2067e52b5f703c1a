"""Canonical JSON and its hash: the same value is the same bytes on every machine.

Sorted keys, UTF-8, no spaces that carry nothing, two-space indent so that `diff` reads well,
and one final newline. Written atomically: a reader sees the old file or the new one.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

from pydantic import BaseModel
from pydantic_core import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Json = Mapping[str, "Json"] | Sequence["Json"] | str | int | float | bool | None


_LEAST, _MOST = 1e-4, 1e16
"""Floats between them are written without exponent, by every encoder alike."""
_PLAIN = (str, int, float, bool, NoneType)


def dumps(value: BaseModel | Json) -> str:
    """The canonical text of a model or of plain JSON values."""
    plain = value.model_dump(mode="json", by_alias=True) if isinstance(value, BaseModel) else value
    try:
        return to_json(_sorted(plain), indent=2).decode() + "\n"
    except _Exotic:
        return json.dumps(plain, sort_keys=True, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


class _Exotic(Exception):
    """A value that the fast encoder writes otherwise than Python's `json`, which is the norm here."""


def _sorted(value: Json) -> Json:
    """The same value, its keys in order, for an encoder ten times as fast on a big plan."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    if isinstance(value, float) and value and not _LEAST <= abs(value) < _MOST:
        raise _Exotic
    if not isinstance(value, _PLAIN):
        raise _Exotic
    return value


def sha256(content: str | bytes) -> str:
    """Hex digest of a text (as UTF-8) or of bytes."""
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()


def write_atomic(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Replace a file in one step; on any error, a full disk included, the old one stays.

    Raises:
        OSError: the new content could not be written whole; nothing was replaced. It names `path`.
    """
    _put(path, content, mode, os.replace)


def write_new(path: Path, content: str | bytes, mode: int = 0o644) -> None:
    """Write a file that is not there yet, in one step; of two who do so at once, the first one's stays.

    Raises:
        FileExistsError: it is there by now, whole.
        OSError: the content could not be written whole; nothing is there. It names `path`.
    """
    _put(path, content, mode, os.link)


def _put(path: Path, content: str | bytes, mode: int, put: Callable[[str, Path], object]) -> None:
    try:
        _write(path, content.encode() if isinstance(content, str) else content, mode, put)
    except OSError as error:
        # A full disk is told by a file handle, which has no name, or by the name of a temporary file.
        error.filename = str(path)
        raise


def is_left_of(path: Path, of: Path) -> bool:
    """Whether a file is what a writer of another one left that was killed."""
    return path.parent == of.parent and path.name.startswith(_unfinished(of))


def _unfinished(path: Path) -> str:
    return f".{path.name}."


def _write(path: Path, raw: bytes, mode: int, put: Callable[[str, Path], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_unfinished(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        put(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
