"""Logins of the lab's management controllers: made at random where the spec's file is not there yet."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import bcrypt

from rackwright.canonical import write_atomic
from rackwright.errors import EnvironmentUnfit
from rackwright.spec import credentials
from rackwright.spec.references import locate, read_secret

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rackwright.lab.places import Places
    from rackwright.spec.credentials import Credentials, Login

USER = "admin"
_RANDOM_BYTES = 24
_BCRYPT_ROUNDS = 4
"""The least: against 192 random bits no more work is needed, and each request pays for it."""


def logins(reference: str, slots: Iterable[str], spec_folder: Path, places: Places) -> Credentials:
    """The logins that a reference of the spec means, made where its file is missing.

    Raises:
        EnvironmentUnfit: not readable, not that form, or without a login for one of the slots.
    """
    slots = list(slots)
    if not reference.startswith("env:"):
        path = locate(reference, spec_folder, places.state)
        if not path.exists():
            _make(path, slots)
    known = credentials.parse(read_secret(reference, spec_folder, places.state), reference)
    without = [slot for slot in slots if known.of(slot) is None]
    if without:
        raise EnvironmentUnfit(
            "a BMC of the lab has no login",
            code="LAB008",
            where=reference,
            got=f"no entry for {', '.join(without)}",
            expected="one for each slot, or `*` for the rest",
            hint="add it, or remove the file: it is then made anew",
        )
    return known


def _make(path: Path, slots: Iterable[str]) -> None:
    if not path.parent.exists():
        path.parent.mkdir(parents=True, mode=0o700)
    rows = [f"{slot},{USER},{random()}" for slot in slots]
    write_atomic(path, "\n".join([",".join(credentials.COLUMNS), *rows]) + "\n", mode=0o600)


def random() -> str:
    """A password that nobody guesses."""
    return secrets.token_urlsafe(_RANDOM_BYTES)


def hashed(login: Login) -> str:
    """One line of an Apache password file (`htpasswd -B`)."""
    digest = bcrypt.hashpw(login.password.encode(), bcrypt.gensalt(_BCRYPT_ROUNDS)).decode()
    return f"{login.user}:{digest}\n"
