"""YAML that machines wrote or that is shipped: text in, plain values out, nothing guessed.

Read by libyaml, ten times faster than the parser of the specs, which keeps comments and places.
A key that stands twice is an error here, where PyYAML would silently keep the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Hashable

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_VALUE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What PyYAML's constructors raise where a value is none, beside its own errors."""


@dataclass(frozen=True, slots=True)
class NotYaml(Exception):
    """What is wrong with a text, and where; lines and columns count from 1."""

    problem: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.problem}"


class _StrictLoader(_Loader):  # type: ignore[misc, valid-type]
    """Safe loader that refuses duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:  # noqa: FBT001, FBT002 (PyYAML's signature)
        """As PyYAML.

        Raises:
            NotYaml: a key stands twice.
        """
        seen: set[object] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                mark = key.start_mark
                raise NotYaml(f"the key {key.value} stands twice", mark.line + 1, mark.column + 1)
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
        mapping: dict[Hashable, object] = super().construct_mapping(node, deep)
        return mapping


class _PlacingLoader(_StrictLoader):
    """Says where a value is that is none, at half as much time again."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:  # noqa: FBT001, FBT002 (PyYAML's signature)
        """As PyYAML.

        Raises:
            NotYaml: a day that no month has, a number without a digit, a list for a key.
        """
        try:
            return super().construct_object(node, deep)
        except _NO_VALUE as error:
            mark = node.start_mark
            raise NotYaml(f"no value: {error}", mark.line + 1, mark.column + 1) from None


def load(text: str) -> object:
    """The value of one YAML document.

    Raises:
        NotYaml: no YAML, more than one document, an unknown tag, or a key that stands twice.
    """
    try:
        value: object = yaml.load(text, _StrictLoader)  # noqa: S506 (a subclass of the safe loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise NotYaml(error.problem or error.context or "no YAML", line, column) from None
    except yaml.YAMLError as error:
        raise NotYaml(" ".join(str(error).split()), 0, 0) from None
    except _NO_VALUE as error:
        raise _placed(text, error) from None
    return value


def _placed(text: str, error: Exception) -> NotYaml:
    """The same, with its place where it has one."""
    try:
        yaml.load(text, _PlacingLoader)  # noqa: S506 (a subclass of the safe loader)
    except NotYaml as placed:
        return placed
    except _NO_VALUE:
        pass
    return NotYaml(f"no value: {error}", 0, 0)
