"""One thing that keeps a machine from holding a lab, or that its owner should know."""

from __future__ import annotations

from dataclasses import dataclass

from rackwright.errors import EnvironmentUnfit


@dataclass(frozen=True, slots=True)
class Lack:
    """What, and what to do about it.

    Args:
        code: stable.
        what: one clause.
        got: what is there.
        expected: what would be right.
        hint: what to do.
        blocks: whether no lab can be made here until it is put right.
    """

    code: str
    what: str
    got: str
    expected: str
    hint: str
    blocks: bool = True

    def error(self) -> EnvironmentUnfit:
        """The same as an error."""
        return EnvironmentUnfit(
            self.what, code=self.code, got=self.got, expected=self.expected, hint=self.hint
        )
