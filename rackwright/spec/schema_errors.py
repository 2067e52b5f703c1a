"""What pydantic found wrong in, one `Finding` for each mistake out.

Pydantic names the members of unions in its locations and repeats a mistake for each of them;
here a location becomes the path in the spec, and what is said of one path is said once.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rackwright.findings import Finding, SpecPath, did_you_mean
from rackwright.spec import faults
from rackwright.spec.base import MEANINGS, NAME_PATTERN, Misfit
from rackwright.spec.cluster import ClusterSpec
from rackwright.spec.references import REFERENCE_PATTERN
from rackwright.spec.walk import kinds_at, model_at, one_of, patterns, size_at, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

    from rackwright.canonical import Json
    from rackwright.spec.positions import Positions

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "string": "a text",
    "bool": "true or false",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen": "a list",
    "dict": "a map",
    "model": "a map",
    "date": "a date: `2027-03-01`",
}
"""First word of pydantic's error type → what was expected."""

_HINTS = {"rackwright": "this release reads version 1; a spec of a later one needs a later release"}
"""Path → what to do where its value is none of the known ones, and the nearest one is not the answer."""

_BOUNDS = {
    "greater_than_equal": ("ge", "at least {}"),
    "greater_than": ("gt", "more than {}"),
    "less_than_equal": ("le", "at most {}"),
    "less_than": ("lt", "less than {}"),
    "too_short": ("min_length", "at least {} of them"),
    "too_long": ("max_length", "at most {} of them"),
    "string_too_short": ("min_length", "at least {} character"),
    "string_too_long": ("max_length", "at most {} characters"),
}
"""Pydantic's error type → key of its bound, and the bound in words."""


def schema_findings(
    error: ValidationError, values: Mapping[str, Json], positions: Positions
) -> tuple[Finding, ...]:
    """All mistakes at once, each with path, line and column."""
    translator = _Translator(values, positions)
    found = [translator.finding(details) for details in error.errors(include_url=False)]
    return positions.locate(_without_echoes(_merged(found)))


class _Translator:
    """Turns one of pydantic's errors into a finding, with the spec's values beside it."""

    def __init__(self, values: Mapping[str, Json], positions: Positions) -> None:
        self.values = values
        self.positions = positions

    def finding(self, details: ErrorDetails) -> Finding:
        """One error as a finding; what is not known here keeps pydantic's own sentence."""
        path, is_key = self._path(details)
        if is_key:
            return self._bad_key(path)
        return self._of_keys(path, details) or self._of_value(path, details)

    def _of_keys(self, path: SpecPath, details: ErrorDetails) -> Finding | None:
        if details["type"] == "extra_forbidden":
            return self._unknown_key(path)
        if details["type"] == "missing":
            return self._missing(path)
        return self._missing_kind(path) if details["type"] == "union_tag_not_found" else None

    def _of_value(self, path: SpecPath, details: ErrorDetails) -> Finding:
        kind, context = details["type"], details.get("ctx", {})
        if kind == "union_tag_invalid":
            return self._unknown_value(path / "kind", _quoted(context["expected_tags"]))
        if kind in {"enum", "literal_error"}:
            return self._unknown_value(path, _quoted(context["expected"]))
        if kind in _BOUNDS:
            key, text = _BOUNDS[kind]
            return self._out_of_range(path, text.format(_plain(context[key])))
        if kind == "string_pattern_mismatch":
            return self._wrong_form(path, MEANINGS[context["pattern"]])
        fault = context.get("error")
        if isinstance(fault, Misfit):
            return self._misfit(path, fault)
        return self._wrong_type(path, _TYPES.get(kind.split("_", maxsplit=1)[0], details["msg"]))

    def _wrong_form(self, path: SpecPath, meaning: str) -> Finding:
        message = f"`{path}` has the wrong form"
        return Finding(faults.WRONG_FORM, message, path, got=self._got(path), expected=meaning)

    def _misfit(self, path: SpecPath, fault: Misfit) -> Finding:
        message = f"`{path}`: {fault.message}"
        return Finding(faults.MISFIT, message, path, got=fault.got, expected=fault.expected, hint=fault.hint)

    def _wrong_type(self, path: SpecPath, expected: str) -> Finding:
        return Finding(
            faults.WRONG_TYPE,
            f"`{path}` must be {expected.split(':', maxsplit=1)[0]}",
            path,
            got=self._got(path),
            expected=expected,
            hint=self._type_hint(path, expected),
        )

    def _type_hint(self, path: SpecPath, expected: str) -> str:
        if not self._is_secret(path):
            return _type_hint(expected, self._at(path), self._text(path))
        return 'one text, no space after its colon: "env:NAME"' if isinstance(self._at(path), dict) else ""

    def _path(self, details: ErrorDetails) -> tuple[SpecPath, bool]:
        """Path in the spec of pydantic's location, and whether it means the key itself."""
        path = SpecPath()
        value: Json = self.values
        steps = details["loc"]
        for index, step in enumerate(steps):
            if step == "[key]":
                return path, True
            last = index == len(steps) - 1
            held = _holds(value, step)
            if held and not (_is_tag(value, step) and not last):
                path, value = path / step, _item(value, step)
            elif last and details["type"] == "missing":
                path = path / step
        return path, False

    def _missing(self, path: SpecPath) -> Finding:
        key, parent = path[-1], SpecPath(path[:-1])
        if isinstance(key, int):
            return self._out_of_range(parent, f"{size_at(ClusterSpec, parent, self.values)} of them")
        model = model_at(ClusterSpec, parent, self.values)
        return self._missing_key(path, words(model.model_fields[key]) if model else "a value")

    def _missing_kind(self, path: SpecPath) -> Finding:
        return self._missing_key(path / "kind", one_of(kinds_at(ClusterSpec, path, self.values)))

    def _missing_key(self, path: SpecPath, expected: str) -> Finding:
        key, parent = path[-1], SpecPath(path[:-1])
        within = f"in `{parent}`" if parent else "in the spec"
        present = self._at(parent)
        return Finding(
            faults.MISSING_KEY,
            f"`{key}` is missing {within}",
            path,
            got=f"only {', '.join(present)}" if isinstance(present, dict) and present else "no keys",
            expected=f"`{key}`: {expected}",
            hint=f"add `{key}:` {within}",
        )

    def _unknown_key(self, path: SpecPath) -> Finding:
        parent, key = SpecPath(path[:-1]), str(path[-1])
        model = model_at(ClusterSpec, parent, self.values)
        known = list(model.model_fields) if model else []
        return Finding(
            faults.UNKNOWN_KEY,
            f"unknown key `{key}`" + (f" in `{parent}`" if parent else ""),
            path,
            got=key,
            expected=one_of(known) if known else "no key",
            hint=did_you_mean(key, known),
            place=self.positions.key(path),
        )

    def _bad_key(self, path: SpecPath) -> Finding:
        name = str(path[-1])
        return Finding(
            faults.WRONG_FORM,
            f"`{name}` cannot be a name",
            path,
            got=name,
            expected=MEANINGS[NAME_PATTERN],
            hint=_renamed(name),
            place=self.positions.key(path),
        )

    def _unknown_value(self, path: SpecPath, known: Sequence[str]) -> Finding:
        got = self._got(path)
        return Finding(
            faults.UNKNOWN_VALUE,
            f"`{path}` is none of the known values",
            path,
            got=got,
            expected=one_of(known),
            hint=_HINTS.get(str(path)) or did_you_mean(self._text(path), known),
        )

    def _out_of_range(self, path: SpecPath, expected: str) -> Finding:
        value = self._at(path)
        got = f"{len(value)}" if isinstance(value, (list, dict)) else self._text(path).strip() or "nothing"
        message = f"`{path}` is out of its range"
        return Finding(faults.OUT_OF_RANGE, message, path, got=got, expected=expected)

    def _at(self, path: SpecPath) -> Json:
        value: Json = self.values
        for key in path:
            value = _item(value, key)
        return value

    def _text(self, path: SpecPath) -> str:
        mark = self.positions.mark(path)
        return (mark.text or "") if mark else ""

    def _is_secret(self, path: SpecPath) -> bool:
        model = model_at(ClusterSpec, SpecPath(path[:-1]), self.values)
        field = model.model_fields.get(str(path[-1])) if model else None
        return field is not None and REFERENCE_PATTERN in patterns(field)

    def _got(self, path: SpecPath) -> str:
        """A value as it stands in the file, with what YAML takes it for."""
        value, text = self._at(path), self._text(path)[:60]
        if self._is_secret(path):
            return "something else (not shown: it may be a secret)"
        if value is None:
            return "nothing"
        if isinstance(value, bool):
            return f"{text} (true or false)"
        if isinstance(value, (int, float)):
            return f"{text} (a number)"
        if isinstance(value, str):
            return f"{text} (a text)" if text else "an empty text"
        return "a list" if isinstance(value, list) else "a map"


def _holds(value: Json, step: int | str) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _is_tag(value: Json, step: int | str) -> bool:
    """Whether a step names the member of a union that ``kind`` chose."""
    return isinstance(value, dict) and value.get("kind") == step


def _plain(bound: object) -> str:
    return str(int(bound)) if isinstance(bound, float) and bound.is_integer() else str(bound)


def _item(value: Json, key: int | str) -> Json:
    if isinstance(value, dict):
        return value.get(str(key))
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        item: Json = value[key]
        return item
    return None


def _quoted(alternatives: object) -> list[str]:
    """Pydantic's ``'a', 'b' or 'c'`` as a list; numbers have no quotes there."""
    text = str(alternatives)
    return re.findall(r"'([^']*)'", text) or re.findall(r"[^\s,]+", text.replace(" or ", " "))


def _type_hint(expected: str, value: Json, text: str) -> str:
    if expected == "a text" and isinstance(value, (int, float)):
        return f'quote it: "{text}"'
    if expected in {"a whole number", "a number"} and isinstance(value, str) and value.isdigit():
        return f"take the quotes away: {value}"
    if expected == "true or false" and text.lower() in {"yes", "on", "no", "off"}:
        return f"write {'true' if text.lower() in {'yes', 'on'} else 'false'}: YAML 1.2 knows no other"
    if expected == "a list" and value is not None:
        return f"put it in brackets: [{text}]" if text else "write a list: `- ` before each item"
    return ""


def _renamed(name: str) -> str:
    fitting = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:32]
    return f"for example `{fitting}`" if re.match("[a-z]", fitting) and fitting != name else ""


def _merged(findings: Iterable[Finding]) -> Iterator[Finding]:
    """One finding a path: what the members of a union expected is joined by *or*."""
    by_path: dict[tuple[SpecPath, str], Finding] = {}
    for finding in findings:
        known = by_path.setdefault((finding.path, finding.code), finding)
        if known.expected != finding.expected:
            joined = f"{known.expected} or {finding.expected}"
            by_path[finding.path, finding.code] = replace(
                known, expected=joined, message=f"`{finding.path}` must be {joined}"
            )
    yield from by_path.values()


def _without_echoes(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Without the missing keys that are there, misspelt."""
    found = list(findings)
    misspelt = {
        SpecPath(finding.path[:-1]) / finding.hint.split("`")[1]
        for finding in found
        if finding.code == faults.UNKNOWN_KEY and finding.hint
    }
    yield from (
        finding for finding in found if not (finding.code == faults.MISSING_KEY and finding.path in misspelt)
    )
