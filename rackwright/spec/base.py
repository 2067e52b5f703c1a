"""The ground all spec models stand on: strictness, common types, and each field's update policy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints


class Model(BaseModel):
    """A frozen value that knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


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

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
"""1 to 32 of a-z, 0-9 and -, as a DNS label: names become host names, stack names and partitions."""

Port = Annotated[int, Field(ge=1, le=65535)]
Mtu = Annotated[int, Field(ge=1280, le=9216)]


def _is_network(value: str) -> str:
    """Raises ValueError for host bits set, a bad mask, or anything but IPv4."""
    return str(IPv4Network(value))


Cidr = Annotated[str, AfterValidator(_is_network)]
"""An IPv4 network, host bits zero: ``10.2.0.0/18``."""
