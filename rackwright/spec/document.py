"""One YAML file in, plain JSON-like values and the place of each of them out.

YAML 1.2: ``yes`` and ``on`` are texts. Dates stay texts; the model knows where it wants one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from rackwright.errors import SpecUnreadable
from rackwright.findings import Finding, Place, SpecPath
from rackwright.spec import faults
from rackwright.spec.positions import Mark
from rackwright.spec.yaml_errors import unprintable, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ruamel.yaml.nodes import Node

    from rackwright.canonical import Json

DEEPEST = 50
"""Levels of maps and lists; a spec has nine."""
MOST_REPEATED = 100_000
"""Values that aliases may stand for together, against files that explode when expanded."""

_TAG = "tag:yaml.org,2002:"
_TEXTS = {_TAG + "str", _TAG + "timestamp", _TAG + "value"}


@dataclass
class Document:
    """One file as values and marks; findings are what can be said without the model."""

    values: dict[str, Json] = field(default_factory=dict)
    marks: dict[SpecPath, Mark] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def read_document(path: Path, text: str) -> Document:
    """Read one YAML file.

    Args:
        path: named in marks and errors; nothing is opened.
        text: what it holds.

    Raises:
        SpecUnreadable: not YAML, empty, or no map.
    """
    return _Reader(path).document(_compose(path, text))


def _compose(path: Path, text: str) -> MappingNode:
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except RecursionError:
        raise _too_deep(Place(path)) from None
    except MarkedYAMLError as error:
        raise unreadable(path, text, error) from None
    except ReaderError as error:
        raise unprintable(path, text, error) from None
    if root is None:
        raise SpecUnreadable(
            "the file is empty",
            where=Place(path),
            got="no YAML value",
            expected="a map that begins with `rackwright: 1`",
            hint="start from an example in clusters/",
        )
    if not isinstance(root, MappingNode):
        raise SpecUnreadable(
            "the file is no map",
            where=_place(path, root),
            got=kind_of(root),
            expected="a map that begins with `rackwright: 1`",
            hint="a spec is keys with values, not a list of items" if _is_list(root) else "",
        )
    return root


class _Reader:
    """Turns the nodes of one file into values, keeping a mark for each."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.out = Document()
        self.seen: set[int] = set()
        self.repeated = 0

    def document(self, root: MappingNode) -> Document:
        self.out.values = self._map(root, SpecPath())
        return self.out

    def _value(self, node: Node, path: SpecPath, key: Place | None) -> Json:
        place = _place(self.file, node)
        self._count(node, place)
        if len(path) > DEEPEST:
            raise _too_deep(place)
        text = str(node.value) if isinstance(node, ScalarNode) else None
        self.out.marks[path] = Mark(value=place, key=key, text=text)
        if isinstance(node, MappingNode):
            return self._map(node, path)
        if isinstance(node, SequenceNode):
            return [self._value(item, path / index, None) for index, item in enumerate(node.value)]
        return self._scalar(node, path, place)

    def _count(self, node: Node, place: Place) -> None:
        """Refuse aliases of aliases of aliases, which explode when they are written out."""
        self.repeated += id(node) in self.seen
        self.seen.add(id(node))
        if self.repeated > MOST_REPEATED:
            raise SpecUnreadable(
                "aliases stand for too much",
                where=place,
                got=f"more than {MOST_REPEATED:,} values by aliases alone",
                expected="a spec that stays small when its aliases are written out",
            )

    def _map(self, node: MappingNode, path: SpecPath) -> dict[str, Json]:
        values: dict[str, Json] = {}
        own = {id(key) for key, _ in node.value}
        for key, value in self._pairs(node):
            place = _place(self.file, key)
            name = self._key(key, place)
            if name not in values:
                values[name] = self._value(value, path / name, place)
            elif id(key) in own:
                self._duplicate(path / name, place)
        return values

    def _pairs(self, node: MappingNode, depth: int = 0) -> Iterator[tuple[Node, Node]]:
        """A map's own keys, then those that ``<<: *anchor`` brings; the first of a name wins."""
        if depth > DEEPEST:
            raise _too_deep(_place(self.file, node))
        yield from ((key, value) for key, value in node.value if key.tag != _TAG + "merge")
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                for source in self._merged(value):
                    yield from self._pairs(source, depth + 1)

    def _merged(self, node: Node) -> Iterator[MappingNode]:
        for source in node.value if isinstance(node, SequenceNode) else [node]:
            place = _place(self.file, source)
            if not isinstance(source, MappingNode):
                raise SpecUnreadable("`<<` needs a map", where=place, got=kind_of(source), expected="a map")
            self._count(source, place)
            yield source

    def _key(self, node: Node, place: Place) -> str:
        if isinstance(node, ScalarNode):
            return str(node.value)
        raise SpecUnreadable("a key must be a text", where=place, got=kind_of(node), expected="a name")

    def _duplicate(self, path: SpecPath, place: Place) -> None:
        first = self.out.marks[path].key
        self.out.findings.append(
            Finding(
                code=faults.DUPLICATE_KEY,
                message=f"`{path[-1]}` is given twice",
                path=path,
                got=f"a second `{path[-1]}`",
                expected=f"one; the first is at {first}",
                hint="merge the two, or give the second another name",
                place=place,
            )
        )

    def _scalar(self, node: Node, path: SpecPath, place: Place) -> Json:
        if node.tag in _TEXTS:
            return str(node.value)
        if node.tag == _TAG + "null":
            return None
        if node.tag == _TAG + "bool":
            return str(node.value).lower() == "true"
        if node.tag in {_TAG + "int", _TAG + "float"}:
            return self._number(node, path, place)
        raise SpecUnreadable(
            "a YAML tag that means nothing here",
            where=place,
            got=str(node.tag),
            expected="plain values",
            hint="take the tag away, or quote the value",
        )

    def _number(self, node: Node, path: SpecPath, place: Place) -> Json:
        try:
            number = _parse_number(str(node.value), whole=node.tag == _TAG + "int")
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
        self.out.findings.append(
            Finding(
                code=faults.WRONG_TYPE,
                message=f"`{path[-1]}` is no number that can be counted with",
                path=path,
                got=str(node.value)[:40],
                expected="a finite number",
                place=place,
            )
        )
        return 0


def _parse_number(text: str, *, whole: bool) -> int | float:
    plain = text.replace("_", "")
    if not whole:
        return float(plain.replace(".inf", "inf").replace(".nan", "nan").replace(".Inf", "inf"))
    digits = plain.lstrip("+-")
    base = {"0x": 16, "0o": 8, "0b": 2}.get(digits[:2].lower(), 10)
    return int(plain, base)


def kind_of(node: Node) -> str:
    """A node in words."""
    if isinstance(node, MappingNode):
        return "a map"
    return "a list" if _is_list(node) else f"`{str(node.value)[:40]}`"


def _is_list(node: Node) -> bool:
    return isinstance(node, SequenceNode)


def _place(file: Path, node: Node) -> Place:
    mark = node.start_mark
    return Place(file, mark.line + 1, mark.column + 1)


def _too_deep(where: Place) -> SpecUnreadable:
    return SpecUnreadable(
        "nested too deep",
        where=where,
        got=f"more than {DEEPEST} levels, or a value inside itself",
        expected="maps and lists as the spec has them",
    )
