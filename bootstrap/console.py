"""What set-up and stages print: one line per step on stderr, one block per error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.errors import RackwrightError


def tell(text: str) -> None:
    """One line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def working(what: str, log: Path) -> None:
    """Say what takes its time now, and where to watch it."""
    tell(f"setup: {what} … (log: {log})")


def duration(seconds: float) -> str:
    """A time for a reader: ``0.4 s``, ``3 min 07 s``."""
    if seconds < 60:  # noqa: PLR2004 (seconds of a minute)
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def complain(error: RackwrightError) -> int:
    """Print an error in the form `rackwright` has, and return its exit code."""
    first = f"error {error.code}: {error.message}"
    tell(f"{error.where}: {first}" if error.where else first)
    for name, fact in (("got", error.got), ("expected", error.expected), ("hint", error.hint)):
        if fact:
            tell(f"  {name:<9} " + fact.replace("\n", "\n" + " " * 12))
    return error.exit_code
