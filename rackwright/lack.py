"""One thing that a machine, a hall or an account lacks, or that its owner should know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from rackwright.errors import RackwrightError


@dataclass(frozen=True, slots=True)
class Lack:
    """What, and what to do about it.

    Args:
        code: stable.
        what: one clause.
        got: what is there.
        expected: what would be right.
        hint: what to do.
        blocks: whether the work cannot be done until it is put right.
        where: file, hosts or field concerned.
    """

    code: str
    what: str
    got: str
    expected: str
    hint: str
    blocks: bool = True
    where: str = ""

    @classmethod
    def of(cls, error: RackwrightError, *, hint: str = "", blocks: bool = True) -> Lack:
        """What a refusal would say later, said now.

        Args:
            error: the refusal.
            hint: what to do, where the error does not say.
            blocks: as above.
        """
        return cls(
            error.code, error.message, error.got, error.expected, error.hint or hint, blocks, error.where
        )

    def error(self) -> EnvironmentUnfit:
        """The same as an error."""
        return EnvironmentUnfit(
            self.what,
            code=self.code,
            where=self.where,
            got=self.got,
            expected=self.expected,
            hint=self.hint,
        )
