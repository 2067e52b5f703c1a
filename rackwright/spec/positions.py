"""Where each value of a spec stands: `SpecPath` in, `Place` out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.findings import SpecPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwright.findings import Finding, Place


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one value stands and how it is written."""

    value: Place
    key: Place | None = None
    """Place of the key it belongs to; None for the items of a list."""
    text: str | None = None
    """A scalar as written, without quotes; None for a map or a list."""

    @property
    def place(self) -> Place:
        """What a reader should look at: a scalar itself; a map, a list or nothing at all by its key."""
        return self.value if self.key is None or self.text else self.key


@dataclass(frozen=True, slots=True)
class Positions:
    """The marks of one spec, its included files with it."""

    marks: Mapping[SpecPath, Mark]
    root: Place
    """The spec itself, for what stands nowhere."""

    def mark(self, path: SpecPath) -> Mark | None:
        """The mark of exactly that path."""
        return self.marks.get(path)

    def of(self, path: SpecPath) -> Place:
        """Place of a path; of the nearest one above it where it is missing."""
        for length in range(len(path), 0, -1):
            mark = self.marks.get(SpecPath(path[:length]))
            if mark:
                return mark.place
        return self.root

    def key(self, path: SpecPath) -> Place:
        """Place of the key itself, for a key that should not be there."""
        mark = self.marks.get(path)
        return mark.key if mark and mark.key else self.of(path)

    def locate(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """The same findings, each with its place, in the order of the file."""
        placed = [finding if finding.place else finding.at(self.of(finding.path)) for finding in findings]
        return tuple(sorted(placed, key=_reading_order))


def _reading_order(finding: Finding) -> tuple[str, int, int, str, str]:
    place = finding.place
    if place is None:
        return ("", 0, 0, finding.code, finding.message)
    return (str(place.file), place.line, place.column, finding.code, finding.message)
