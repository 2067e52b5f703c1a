"""A spec and the files it includes in, one document out.

Maps are merged key by key; anything else that two files give is a conflict, named with both places.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.canonical import sha256
from rackwright.errors import SpecUnreadable
from rackwright.findings import Finding, Place, SpecPath
from rackwright.spec import faults
from rackwright.spec.document import Document, read_document
from rackwright.spec.text import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.canonical import Json

INCLUDE = "include"


@dataclass
class Gathered:
    """All files of one spec."""

    document: Document = field(default_factory=Document)
    hashes: dict[Path, str] = field(default_factory=dict)
    """File → SHA-256 of its text, in the order they were read."""


def gather(path: Path) -> Gathered:
    """Read a spec with all that it includes, each file once.

    Raises:
        SpecUnreadable: one of the files; where an included one is missing, its place in ``include``.
    """
    gathered = Gathered()
    _add(gathered, path, ())
    return gathered


def _add(gathered: Gathered, path: Path, above: tuple[Path, ...]) -> None:
    text = read_text(path, "a YAML file")
    gathered.hashes[paths.real(path)] = sha256(text)
    document = read_document(path, text)
    includes = _includes(document)
    if above:
        document.values.pop(INCLUDE, None)
    _merge(gathered.document, document)
    for place, name in includes:
        _include(gathered, path.parent / name, place, (*above, paths.real(path)))


def _include(gathered: Gathered, path: Path, place: Place, above: tuple[Path, ...]) -> None:
    if paths.real(path) in above:
        gathered.document.findings.append(_cycle(path, place))
    elif paths.real(path) not in gathered.hashes:
        try:
            _add(gathered, path, above)
        except SpecUnreadable as error:
            raise _named(error, path, place) from None


def _named(error: SpecUnreadable, path: Path, place: Place) -> SpecUnreadable:
    """An error of an included file that cannot be opened, shown where it is included."""
    if error.where != str(path):
        return error
    return SpecUnreadable(
        f"an included file cannot be used: {error.message}",
        where=place,
        got=f"{path}: {error.got}",
        expected=error.expected,
        hint=error.hint or "files are named relative to the one that includes them",
    )


def _includes(document: Document) -> list[tuple[Place, str]]:
    """The files a document includes; anything but a list of texts is left for the schema to say."""
    names = document.values.get(INCLUDE)
    if not isinstance(names, list):
        return []
    marks = (document.marks[SpecPath((INCLUDE, index))] for index in range(len(names)))
    return [(mark.value, name) for mark, name in zip(marks, names, strict=True) if isinstance(name, str)]


def _merge(into: Document, added: Document) -> None:
    into.findings += added.findings
    _merge_map(into, added, into.values, added.values, SpecPath())


def _merge_map(
    into: Document, added: Document, values: dict[str, Json], more: dict[str, Json], path: SpecPath
) -> None:
    for key, value in more.items():
        at = path / key
        known = values.get(key)
        if key not in values:
            values[key] = value
            _copy_marks(into, added, at, value)
        elif isinstance(known, dict) and isinstance(value, dict):
            _merge_map(into, added, known, value, at)
        else:
            into.findings.append(_conflict(into, added, at))


def _copy_marks(into: Document, added: Document, path: SpecPath, value: Json) -> None:
    into.marks[path] = added.marks[path]
    if isinstance(value, dict):
        for key, below in value.items():
            _copy_marks(into, added, path / key, below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            _copy_marks(into, added, path / index, below)


def _conflict(into: Document, added: Document, path: SpecPath) -> Finding:
    return Finding(
        code=faults.INCLUDE_CONFLICT,
        message=f"`{path}` is given in two files",
        path=path,
        got="a second value",
        expected=f"one; the first is at {into.marks[path].place}",
        hint="keep it in one of the files; only maps are merged",
        place=added.marks[path].place,
    )


def _cycle(path: Path, place: Place) -> Finding:
    return Finding(
        code=faults.INCLUDE_CYCLE,
        message="a file includes itself",
        path=SpecPath((INCLUDE,)),
        got=f"{path}, which is being read already",
        expected="files that do not include one another in a circle",
        hint="take this line away",
        place=place,
    )
