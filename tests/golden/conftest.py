"""Golden copies: what is made from each example spec, kept as files and compared as texts."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_HERE = Path(__file__).parent


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with its golden copy, or with ``--update-golden`` make it the copy."""
    update: bool = request.config.getoption("--update-golden")

    def compare(name: str, text: str) -> None:
        copy = _HERE / name
        if update:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")
            return
        if not copy.exists():
            pytest.fail(
                f"no golden copy {copy}; if it should be there: pytest --update-golden", pytrace=False
            )
        before = copy.read_text(encoding="utf-8")
        if before != text:
            pytest.fail(_difference(name, before, text), pytrace=False)

    return compare


def _difference(name: str, before: str, now: str) -> str:
    lines = list(
        difflib.unified_diff(before.splitlines(), now.splitlines(), f"golden/{name}", "now", lineterm="", n=4)
    )
    more = f"\n… {len(lines) - 80} more lines" if len(lines) > 80 else ""
    return "\n".join(lines[:80]) + more + "\nif this is meant: pytest --update-golden, and read the diff"
