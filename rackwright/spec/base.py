"""The ground all spec models stand on: strictness, common types, and each field's update policy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo


class Model(BaseModel):
    """A frozen value that knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)


class Misfit(ValueError):
    """Raised by a model's own validator: what it got, what it expected, what to do."""

    def __init__(self, message: str, *, got: str, expected: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.got = got
        self.expected = expected
        self.hint = hint


MEANINGS: dict[str, str] = {}
"""Pattern → what a text of that form is, in words; filled by `form`."""


def form(pattern: str, meaning: str) -> FieldInfo:
    """A text of a certain form; ``meaning`` is what errors and editors say of it."""
    MEANINGS[pattern] = meaning
    constraint: FieldInfo = Field(pattern=pattern, json_schema_extra={"patternErrorMessage": meaning})
    return constraint


class Change(StrEnum):
    """What a later change of a field does to what is already running."""

    IN_PLACE = "in place"
    ROLLING = "rolling"
    REPLACE = "replace"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class Update:
    """Update policy of one field: what a change does, and why that is so."""

    change: Change
    source: str


def in_place(source: str) -> Update:
    """A change is applied without touching a running node."""
    return Update(Change.IN_PLACE, source)


def rolling(source: str) -> Update:
    """A change drains and reconfigures nodes a few at a time."""
    return Update(Change.ROLLING, source)


def replace(source: str) -> Update:
    """A change replaces what the field describes."""
    return Update(Change.REPLACE, source)


def forbidden(source: str) -> Update:
    """A change is refused; make a new one under another name instead."""
    return Update(Change.FORBIDDEN, source)


NAME_PATTERN = r"^[a-z]([a-z0-9-]{0,30}[a-z0-9])?$"

Name = Annotated[str, form(NAME_PATTERN, "a name of 1 to 32 of a-z, 0-9 and -, that begins with a letter")]
"""A DNS label: names become host names, stack names and partitions."""

Port = Annotated[int, Field(ge=1, le=65535)]
Mtu = Annotated[int, Field(ge=1280, le=9216)]


_NETWORK = "an IPv4 network with its length: `10.2.0.0/18`"


def _is_network(value: str) -> str:
    """Raises Misfit for host bits set, a bad length, or numbers beyond 255."""
    try:
        network = IPv4Network(value, strict=False)
    except ValueError:
        network = None
    if network is None:
        raise Misfit("no IPv4 network", got=value, expected=_NETWORK)
    if str(network) != value:
        raise Misfit(
            "an address within a network, not the network",
            got=value,
            expected=str(network),
            hint=f"write {network}: all bits beyond the length are zero",
        )
    return value


Cidr = Annotated[str, form(r"^[0-9.]+/[0-9]+$", _NETWORK), AfterValidator(_is_network)]
"""An IPv4 network, host bits zero: ``10.2.0.0/18``."""
