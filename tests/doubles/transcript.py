"""Fenced blocks of the documentation: what they show, and what is meant to be done with them.

The word after a block's language says who runs it:

| mark | run by |
|---|---|
| `run` | `tests/unit/test_docs.py`: commands, and what they print, word for word (`…` stands for lines) |
| `file=NAME` | nobody: the content of a file that the commands after it use |
| `lab` | `tests/roles/test_pages.py`, on a lab |
| `runs` | `tests/unit/test_docs.py`, on run folders of the names that the commands have |
| `machine: WHY` | nobody in a test: it takes a whole machine, or a shell of its own |
| `hardware: WHY` | nobody yet: it needs a real machine room |
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHELLS = ("console", "sh")
MARKS = ("run", "lab", "runs")
UNRUN_MARKS = ("machine", "hardware")
_FENCE = re.compile(r"^```(?P<info>\S.*)?$")


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    mark: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"

    @property
    def has_runner(self) -> bool:
        """Whether its mark says who runs it, or why nobody does."""
        mark, _, why = self.mark.partition(": ")
        return self.mark in MARKS or (mark in UNRUN_MARKS and bool(why))

    def commands(self) -> list[str]:
        """The command lines: behind `$` in a console, every line of a script."""
        if self.language == "console":
            return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]
        lines = self.text.replace("\\\n", " ").splitlines()
        return [line for line in lines if line and not line.startswith("#")]

    def steps(self) -> list[tuple[str, str]]:
        """Each command of a console with the output that is shown for it."""
        steps = re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]
        return [(command, output) for command, _, output in (step.partition("\n") for step in steps)]


def blocks(page: Path) -> Iterator[Block]:
    """All fenced blocks of a Markdown page."""
    opened: tuple[int, str] | None = None
    body: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if fence and opened is None:
            opened, body = (number, fence["info"] or ""), []
        elif fence and opened:
            language, _, mark = opened[1].partition(" ")
            yield Block(page, opened[0], language, mark, "".join(f"{one}\n" for one in body))
            opened = None
        else:
            body.append(line)
    if opened:
        msg = f"{page}:{opened[0]}: a block without an end"
        raise ValueError(msg)


def shows(expected: str, output: str) -> bool:
    """Whether an output is the one shown, a line `…` standing for any lines."""
    parts = re.split(r"^…\n", expected, flags=re.MULTILINE)
    pattern = r"(?:.*\n)*?".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, output) is not None
