"""Credentials of management controllers: a CSV by reference in, user and password of one slot out.

The text is read when a controller is talked to and is held nowhere else: not in state, not in
logs, not in an error.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterable

COLUMNS = ("slot", "user", "password")
ANY_SLOT = "*"


@dataclass(frozen=True, slots=True)
class Login:
    """User and password of one controller; its text shows neither."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Credentials:
    """The logins of a site, by slot; ``*`` stands for all that are not named."""

    logins: dict[str, Login] = field(repr=False)

    def of(self, slot: str) -> Login | None:
        """The login for a slot, or None where the file has neither it nor ``*``."""
        return self.logins.get(slot, self.logins.get(ANY_SLOT))


def parse(text: str, where: str) -> Credentials:
    """Read the CSV; its first line names the columns ``slot,user,password``.

    Args:
        text: the file's content.
        where: the reference it came from, for errors.

    Raises:
        EnvironmentUnfit: not that form; names the line, never a value.
    """
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        rows = [row for row in reader if row]
    except csv.Error:
        raise _malformed(where, f"a broken quotation in line {reader.line_num}") from None
    if not rows or tuple(name.strip() for name in rows[0]) != COLUMNS:
        raise _malformed(where, "another first line")
    return Credentials(_logins(rows[1:], where))


def _logins(rows: Iterable[list[str]], where: str) -> dict[str, Login]:
    logins: dict[str, Login] = {}
    for number, row in enumerate(rows, start=1):
        if len(row) != len(COLUMNS):
            raise _malformed(where, f"{len(row)} fields in entry {number}")
        slot, user, password = row
        if slot in logins:
            raise _malformed(where, f"slot {slot} twice")
        logins[slot] = Login(user, password)
    return logins


def _malformed(where: str, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the BMC credentials are not understood",
        code="BMC010",
        where=where,
        got=got,
        expected=f"CSV whose first line is {','.join(COLUMNS)}, then one entry a slot, or * for the rest",
    )
