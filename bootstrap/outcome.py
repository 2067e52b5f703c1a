"""How a step of set-up ended well."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outcome:
    """``cached``, ``done``, ``not needed`` or ``not run``, and what a reader may want to know of it."""

    word: str
    detail: str = ""


NOT_NEEDED = Outcome("not needed")
