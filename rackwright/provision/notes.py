"""What both kinds of node sets note of a slot: what differs, and why it is not as wanted."""

from __future__ import annotations

from dataclasses import dataclass

from rackwright.errors import Failure
from rackwright.spec.base import Model

GONE = "forgotten"
"""A slot that is no longer wanted."""


class FailureNote(Model):
    """Why a slot is not as wanted."""

    code: str
    cause: str
    hint: str

    def of(self, slot: str) -> Failure:
        """The same, with its subject."""
        return Failure(slot, self.code, self.cause, self.hint)


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one slot; an empty side means the slot is new."""

    slot: str
    field: str
    before: str
    after: str

    def __str__(self) -> str:
        before = f"{self.before or 'none'} -> " if self.field != "slot" else ""
        return f"{self.slot}: {self.field} {before}{self.after or 'none'}"
