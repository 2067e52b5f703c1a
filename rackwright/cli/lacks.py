"""How the doctors' findings look: one block each, as errors look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.cli.output import block

if TYPE_CHECKING:
    from rackwright.lack import Lack


def text(lack: Lack) -> str:
    """One finding for a reader; what blocks nothing is a warning."""
    facts = {"got": lack.got, "expected": lack.expected, "hint": lack.hint}
    return block(lack.where, "error" if lack.blocks else "warning", lack.code, lack.what, facts)
