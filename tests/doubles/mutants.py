"""An output in, the same output spoiled in every simple way out, each with its name."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACES = 80
"""At how many bytes of a text it is cut, or has bytes taken out."""
_KEY, _HUGE = "unheard-of", 1e30


def of_text(text: str) -> Iterator[tuple[str, str]]:
    """Cut after every line and at many bytes; each line gone, or twice; bytes gone; all of it twice."""
    lines = text.splitlines(keepends=True)
    for number in range(len(lines)):
        yield f"cut after line {number}", "".join(lines[:number])
        yield f"without line {number + 1}", "".join(lines[:number] + lines[number + 1 :])
        if lines[number].strip():
            yield f"line {number + 1} twice", "".join(lines[: number + 1] + lines[number:])
    step = max(len(text) // PLACES, 1)
    for place in range(0, len(text) - 2, step):
        yield f"cut at {place}", text[:place]
        yield f"3 bytes gone at {place}", text[:place] + text[place + 3 :]
        yield f"begins at {place + 1}", text[place + 1 :]
    yield "twice", text + text


def of_document(document: dict[str, Any], *, values: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each key dropped, renamed or given a value of another type; with `values` each number made absurd."""
    for path in _paths(document):
        name = ".".join(map(str, path))
        if isinstance(path[-1], str):
            yield f"drop {name}", _changed(document, path, drop=True)
            yield f"rename {name}", _changed(document, path, rename=True)
        for shown, value in _values(_at(document, path), values=values):
            yield f"set {name} {shown}", _changed(document, path, value=value)


def _values(value: object, *, values: bool) -> Iterator[tuple[str, object]]:
    yield "to nothing", None
    if isinstance(value, (dict, list)) or value is None:
        yield "to a text", "text"
        return
    yield "to an object", {"a": 1}
    if isinstance(value, bool):
        yield from [("to the opposite", not value)] if values else []
    elif isinstance(value, (int, float)):
        yield "to a text", str(value)
        yield "to NaN", float("nan")
        yield "to infinity", float("inf")
        yield "to something negative", -abs(value) - 1e10
        yield from [("to something huge", _HUGE), ("to double and one", value * 2 + 1)] if values else []


def _paths(value: object, here: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, child in children:
        yield (*here, key)
        yield from _paths(child, (*here, key))


def _at(document: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401 (any JSON)
    for key in path:
        document = document[key]
    return document


def _changed(
    document: dict[str, Any],
    path: tuple[str | int, ...],
    *,
    drop: bool = False,
    rename: bool = False,
    value: object = None,
) -> dict[str, Any]:
    mutant = copy.deepcopy(document)
    parent, key = _at(mutant, path[:-1]), path[-1]
    if drop:
        del parent[key]
    elif rename:
        parent[f"{key}-{_KEY}"] = parent.pop(key)
    else:
        parent[key] = value
    return mutant
