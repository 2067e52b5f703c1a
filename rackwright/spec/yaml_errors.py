"""What ruamel.yaml says about broken YAML in, what a person should do about it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.errors import SpecUnreadable
from rackwright.findings import Place

if TYPE_CHECKING:
    from pathlib import Path

    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.reader import ReaderError

_LATE = "could not find expected ':'"
"""Noticed a line too late: the key that lacks it is where the scanner began."""

_REMEDIES = (
    ("'\\t'", "spaces", "YAML indents with spaces only: replace the tab"),
    ("cannot start any token", "a value", "quote a text that begins with this character"),
    (
        "mapping values are not allowed",
        "one key and one value a line",
        "quote a text that holds `: `, or check the indentation of this line and the one before",
    ),
    (_LATE, "`key: value`", "a colon and a space go between a key and its value"),
    ("expected <block end>", "the same indentation as the lines above", "align it with its neighbours"),
    ("expected the node content", "a value, or the closing bracket", "close every `[` and `{`"),
    (
        "but got ':'",
        "a comma or the closing bracket",
        "quote a text that holds `: `, or close every `{`",
    ),
    ("expected ',' or", "a comma or the closing bracket", "close every `[` and `{`"),
    ("unexpected end of stream", "a closing quote", "close the quote"),
    ("undefined alias", "an anchor above it: `&name`", "define the anchor before the alias"),
    ("duplicate anchor", "one anchor of each name", "rename the second anchor"),
    ("another document", "one document", "take away the second `---`"),
    ("unknown escape", "an escape that YAML knows", "use single quotes, or write the backslash twice"),
)
"""Part of ruamel's sentence → what was expected there → what to do."""


def unreadable(path: Path, text: str, error: MarkedYAMLError) -> SpecUnreadable:
    """The error for broken YAML, at the line and column where it broke."""
    problem = error.problem or "broken YAML"
    noticed, began = error.problem_mark, error.context_mark
    mark = began if _LATE in problem and began else noticed or began
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    expected, hint = next((rest for part, *rest in _REMEDIES if part in problem), ("YAML 1.2", ""))
    return SpecUnreadable(
        f"not YAML: {problem.removeprefix('but ')}",
        where=Place(path, line, column),
        got=_line(text, line),
        expected=expected,
        hint=hint,
    )


def unprintable(path: Path, text: str, error: ReaderError) -> SpecUnreadable:
    """The error for a character that no YAML holds."""
    before = text[: error.position]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return SpecUnreadable(
        "a character that no YAML holds",
        where=Place(path, line, column),
        got=f"U+{ord(text[error.position]):04X}",
        expected="printable text, UTF-8",
        hint="take it away; an editor that shows control characters finds it",
    )


def _line(text: str, line: int) -> str:
    """The line as it stands, tabs made visible."""
    lines = text.splitlines()
    return lines[line - 1].replace("\t", "→")[:80] if 0 < line <= len(lines) else "the end of the file"
