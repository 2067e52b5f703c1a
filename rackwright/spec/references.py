"""References to files and secrets: the spec names where a value is, never the value.

| form | meaning |
|---|---|
| ``env:NAME`` | environment variable, read when the value is used |
| ``file:PATH`` | file, relative to the spec's folder |
| ``state:PATH`` | file in the cluster's state folder, for what rackwright makes itself |
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from rackwright import paths
from rackwright.errors import EnvironmentUnfit
from rackwright.spec.base import form

FileReference = Annotated[
    str,
    form(
        r"^(file|state):[^\s:\x00][^\n\x00]*$", "a file: `file:PATH` or `state:PATH`, relative to its folder"
    ),
]
"""``file:assets/h100.csv`` or ``state:secrets/bmc.csv``."""

REFERENCE_PATTERN = r"^(env:[A-Z_][A-Z0-9_]*|(file|state):[^\s:\x00][^\n\x00]*)$"

SecretReference = Annotated[
    str,
    form(
        REFERENCE_PATTERN,
        "where the secret is, never the secret: `env:NAME`, `file:PATH` or `state:PATH`",
    ),
]
"""As `FileReference`, or ``env:NAME``."""


def locate(reference: str, spec_folder: Path, state_folder: Path) -> Path:
    """The file a ``file:`` or ``state:`` reference means; nothing is opened."""
    scheme, _, rest = reference.partition(":")
    base = state_folder if scheme == "state" else spec_folder
    return paths.real(base / rest)


def read_secret(reference: str, spec_folder: Path, state_folder: Path) -> str:
    """The secret text behind a reference, without a final newline.

    Raises:
        EnvironmentUnfit: variable unset, file missing or not readable, or no UTF-8; the message never
            holds the value.
    """
    scheme, _, rest = reference.partition(":")
    if scheme == "env":
        return _from_environment(rest)
    path = locate(reference, spec_folder, state_folder)
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except UnicodeDecodeError:
        raise _no_text(reference) from None
    except OSError as error:
        raise EnvironmentUnfit(
            "a secret cannot be read",
            code="ENV002",
            where=reference,
            got=error.strerror or "no answer",
            expected=f"a readable file at {path}",
        ) from None


def _from_environment(name: str) -> str:
    try:
        value = os.environ[name]
        value.encode()  # Python keeps bytes that are no text as half characters, which nothing takes later
    except KeyError:
        raise EnvironmentUnfit(
            "a secret is not set",
            code="ENV002",
            where=f"env:{name}",
            got="unset",
            expected=f"the value in the environment variable {name}",
        ) from None
    except UnicodeEncodeError:
        raise _no_text(f"env:{name}") from None
    return value


def _no_text(reference: str) -> EnvironmentUnfit:
    """Of a secret not even one byte is told."""
    return EnvironmentUnfit(
        "a secret cannot be read",
        code="ENV002",
        where=reference,
        got="bytes that are no UTF-8",
        expected="UTF-8 text",
        hint="save it as UTF-8; from Latin-1: iconv -f latin1 -t utf-8",
    )
