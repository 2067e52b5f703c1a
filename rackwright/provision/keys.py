"""What rackwright makes itself: passphrase and login key, each made once, mode 0600.

A file that is there is never replaced, not even by who saw none a moment ago: the engine's state could
no longer be decrypted, and hosts would no longer be reached.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit
from rackwright.paths import LOGIN_KEY

if TYPE_CHECKING:
    from pathlib import Path

PASSPHRASE, BURST_KEY = "passphrase", "burst_ed25519"
"""Names in the cluster's secrets folder, beside `paths.LOGIN_KEY`."""
_PASSPHRASE_BYTES = 32
_FILE, _FOLDER = 0o600, 0o700


def passphrase_file(folder: Path) -> Path:
    """The file with the passphrase that encrypts secrets in the engine's state."""
    path = folder / PASSPHRASE
    if not path.exists():
        _make(path, secrets.token_urlsafe(_PASSPHRASE_BYTES) + "\n")
    return path


def login_public_key(folder: Path) -> str:
    """The public key that hosts authorize, as a line of ``authorized_keys``.

    Raises:
        EnvironmentUnfit: the private key is there but is no ed25519 key.
    """
    return _public_key(folder / LOGIN_KEY)


def burst_public_key(folder: Path) -> str:
    """The key by which a controller enters the instances that it has launched, and no other host.

    Raises:
        EnvironmentUnfit: the private key is there but is no ed25519 key.
    """
    return _public_key(folder / BURST_KEY)


def _public_key(path: Path) -> str:
    if not path.exists():
        _make(path, _new_key())
    line = public_half(path)
    canonical.write_atomic(path.with_name(path.name + ".pub"), line + "\n", mode=0o644)
    return line


def _new_key() -> str:
    key = Ed25519PrivateKey.generate()
    return key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()


def public_half(path: Path) -> str:
    """The public line of a private key.

    Raises:
        EnvironmentUnfit: it is no ed25519 key.
    """
    try:
        key = load_ssh_private_key(path.read_bytes(), password=None)
    except ValueError as error:
        raise EnvironmentUnfit(
            "the login key cannot be read",
            code="ENV004",
            where=str(path),
            got=str(error),
            expected="an ed25519 key in OpenSSH's format, without a passphrase",
            hint="put the key back from a copy; a new one would lock us out of the hosts",
        ) from None
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return f"{public.decode()} rackwright"


def _make(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    os.chmod(path.parent, _FOLDER)  # noqa: PTH101 (also of a folder that somebody made wider)
    with suppress(FileExistsError):
        canonical.write_new(path, content, mode=_FILE)
