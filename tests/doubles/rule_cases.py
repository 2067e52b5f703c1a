"""A counter-example of a rule: an example spec with one mistake in it."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """One mistake: the rule that sees it, and where it says it is."""

    code: str
    path: str
    example: str
    edits: dict[str, object]


def case(code: str, path: str, example: str, **edits: object) -> Case:
    """Keywords are dotted paths, with ``__`` for the dots."""
    return Case(code, path, example, {name.replace("__", "."): value for name, value in edits.items()})
