"""A file in, its model out: read whole, or refused with the place of what is wrong in it."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from rackwright.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

Read = TypeVar("Read", bound=BaseModel)


def read(model: type[Read], path: Path, code: str, expected: str) -> Read:
    """The document of a file.

    Args:
        model: what it is.
        path: of the file.
        code: of the error.
        expected: what should be there.

    Raises:
        UsageError: it cannot be read, or is no such document.
    """
    return parsed(model, text_of(path, code, expected), path, code)


def text_of(path: Path, code: str, expected: str) -> str:
    """The text of a file.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        _refuse_device(path)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:  # also bytes that are no text, and a path that no file can have
        raise UsageError(
            "the file cannot be read", code=code, where=str(path), got=_cause(error), expected=expected
        ) from None


def _refuse_device(path: Path) -> None:
    """Some never end; a pipe does, and may be read."""
    if path.is_char_device() or path.is_block_device():
        raise OSError(errno.EINVAL, "a device, and no file")


def _cause(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def parsed(model: type[Read], text: str, path: Path, code: str) -> Read:
    """The document of a text.

    Raises:
        UsageError: it is no such document.
    """
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "document"
        raise UsageError(
            f"{path.name} is not what its schema says",
            code=code,
            where=str(path),
            got=f"{key}: {first['msg']}",
            expected=f"a document of schema {model.model_fields['schema_'].default}",
        ) from None
