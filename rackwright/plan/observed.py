"""What exists only after launch: one typed, stored value, built by `inventory` alone.

The type lives beside the plan because templates and stacks read both; this module does no I/O.
`seal` and `unseal` are its file form: the value beside its own hash, so that a file cut short or
edited by hand is refused as a whole, never half read.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from rackwright import canonical
from rackwright.spec.base import Model

SCHEMA: Literal["rackwright/observed/1"] = "rackwright/observed/1"


class HostKey(Model):
    """A public SSH host key, as it stands in a `known_hosts` file."""

    type: str
    """``ssh-ed25519``, ``ecdsa-sha2-nistp256`` …"""
    key: str
    """Base64 of the key's wire form (RFC 4253 §6.6)."""

    @property
    def fingerprint(self) -> str:
        """As ``ssh-keygen -l`` prints it."""
        digest = hashlib.sha256(base64.b64decode(self.key)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class ReplacedKeys(Model):
    """Host keys that were given up on an operator's word."""

    host_keys: tuple[HostKey, ...]
    reason: str
    on: str
    """Day of the acceptance, ISO 8601."""


class ObservedSlot(Model):
    """What is known of the machine that fills a slot."""

    host_keys: tuple[HostKey, ...]
    """As the host printed them on its console."""
    instance: str = ""
    """Id of the instance that did; empty on-prem."""
    address: str = ""
    """Private, as EC2 gave it; empty on-prem."""
    replaced: tuple[ReplacedKeys, ...] = ()
    """Oldest first."""


class Observed(Model):
    """What is known of a cluster's machines, by slot."""

    schema_: Annotated[Literal["rackwright/observed/1"], Field(alias="schema")] = SCHEMA
    cluster: str
    slots: dict[str, ObservedSlot] = Field(default_factory=dict)


class Sealed(Model):
    """The file form: a value and the hash of its canonical text."""

    sha256: str
    observed: Observed


def seal(observed: Observed) -> str:
    """The text of the file."""
    return canonical.dumps(Sealed(sha256=canonical.sha256(canonical.dumps(observed)), observed=observed))


def unseal(text: str) -> Observed:
    """The value of a file's text.

    Raises:
        ValueError: not JSON, not of this schema, or not what was sealed; the message says which.
    """
    try:
        sealed = Sealed.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(key) for key in first["loc"])
        msg = f"{place}: {first['msg']}" if place else first["msg"]
        raise ValueError(msg) from None
    if sealed.sha256 != canonical.sha256(canonical.dumps(sealed.observed)):
        msg = "the content does not match its own hash"
        raise ValueError(msg)
    return sealed.observed
