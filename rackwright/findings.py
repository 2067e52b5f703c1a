"""What a check found: one value, from the spec's first syntax error to the last rule.

A `Finding` names the place in the spec twice: as a path (``pools.h100.nodes``) that survives
reformatting, and as file, line and column for the reader's editor.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path


class Level(StrEnum):
    """How much a finding weighs; only an error makes the answer bad."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class SpecPath(tuple[str | int, ...]):
    """Keys from the spec's root to a value: ``SpecPath() / "pools" / "h100"``."""

    __slots__ = ()

    def __truediv__(self, key: str | int) -> SpecPath:
        return SpecPath((*self, key))

    def __str__(self) -> str:
        return ".".join(str(key) for key in self)


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file; line and column count from 1, 0 where unknown."""

    file: Path
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if not self.line:
            return str(self.file)
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Waiver:
    """Why a finding is tolerated, and until when (``suppress:`` of the spec)."""

    reason: str
    until: date


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or worth knowing, with its place and its remedy."""

    code: str
    message: str
    path: SpecPath = field(default_factory=SpecPath)
    level: Level = Level.ERROR
    got: str = ""
    expected: str = ""
    hint: str = ""
    source: str = ""
    place: Place | None = None
    waiver: Waiver | None = None

    def at(self, place: Place | None) -> Finding:
        """The same finding, located."""
        return replace(self, place=place)

    def waived(self, waiver: Waiver) -> Finding:
        """The same finding, tolerated: it stays visible and counts for nothing."""
        return replace(self, waiver=waiver)

    @property
    def blocks(self) -> bool:
        """Whether this finding alone makes the answer bad."""
        return self.level is Level.ERROR and self.waiver is None


def did_you_mean(got: str, known: Iterable[str]) -> str:
    """A hint with the known name nearest to what was written; empty where none is near."""
    near = difflib.get_close_matches(got, list(known), n=1, cutoff=0.65)
    return f"did you mean `{near[0]}`?" if near else ""
