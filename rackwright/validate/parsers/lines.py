"""What our own programs on hosts print: JSON lines, each with its schema and a check sum of itself.

A line is one object::

    {"schema": "rackwright/links/1", "kind": "result", "host": "node-001", …, "crc32": 2774532101}

``crc32`` is zlib's CRC-32 of the object without that key, as Python writes it by
``json.dumps(object, sort_keys=True, separators=(",", ":"), ensure_ascii=True)``. So a line that was cut,
mixed with another's, or changed on its way is never read for another one. A program that could
not measure prints one line of kind ``not-run`` with a ``reason``, instead of or after others.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from rackwright.spec.base import Model
from rackwright.validate.parsers.core.unreadable import object_of
from rackwright.validate.parsers.unread import corrupt, incomplete, misfit, not_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Line = TypeVar("Line", bound=Model)
SEAL = "crc32"
_NOT_RUN = "not-run"


def seal(fields: dict[str, object]) -> str:
    """A line as the programs print it, without its line end."""
    return _text({**fields, SEAL: zlib.crc32(_text(fields).encode())})


def sealed(text: str, schema: str) -> list[dict[str, object]]:
    """The objects of all lines, in order, without schema and check sum.

    Raises:
        Unread: a line is cut off, is not whole, or is of another schema; the program did not measure.
    """
    lines = text.splitlines(keepends=True)
    objects = [_object(line, number, schema) for number, line in enumerate(lines, 1)]
    refusal = next((one for one in objects if one.get("kind") == _NOT_RUN), None)
    if refusal is not None:
        raise not_run(str(refusal.get("reason") or "the program gave no reason"))
    return objects


def taken(objects: list[dict[str, object]]) -> Iterator[tuple[int, dict[str, object]]]:
    """Number and object of each line, from the first on, none of them held any longer."""
    objects.reverse()
    count = len(objects)
    while objects:
        yield count - len(objects) + 1, objects.pop()


def fitting(model: type[Line], fields: dict[str, object], what: str) -> Line:
    """One line as its model has it.

    Raises:
        Unread: it lacks a key, has one too many, or has a value of another type or range.
    """
    try:
        return model.model_validate_json(json.dumps(fields), strict=True)
    except ValidationError as error:
        raise misfit(error, what) from None


def one_a_host(hosts: Iterable[str]) -> None:
    """Refuse an output that tells twice of one host."""
    seen: set[str] = set()
    for host in hosts:
        if host in seen:
            raise corrupt(f"{host} stands twice")
        seen.add(host)


def _object(line: str, number: int, schema: str) -> dict[str, object]:
    what = f"line {number}"
    if not line.endswith("\n"):
        raise incomplete(f"{what} is cut off")
    fields = object_of(line, what)
    got = fields.pop("schema", None)
    if got != schema:
        raise corrupt(f"{what}: schema {got!r}, expected {schema!r}")
    if fields.pop(SEAL, None) != zlib.crc32(_text({"schema": schema, **fields}).encode()):
        raise corrupt(f"{what}: its check sum is not that of its content")
    return fields


def _text(fields: dict[str, object]) -> str:
    return json.dumps(fields, sort_keys=True, separators=(",", ":"))
