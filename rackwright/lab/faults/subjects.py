"""What a fault can be planted on: a host by its slot, a rail by its slot and interface."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwright.lab.model import Host, Nic, World


class SubjectKind(StrEnum):
    """Kind of a subject."""

    HOST = "host"
    """``node-002``."""
    RAIL = "rail"
    """``node-002/r1``; a slot alone is its last rail."""


def possible(world: World, kind: SubjectKind) -> list[str]:
    """All subjects of a kind."""
    if kind is SubjectKind.HOST:
        return [host.slot for host in world.hosts]
    return [f"{host.slot}/{nic.interface}" for host in world.hosts for nic in host.rails]


def find(world: World, kind: SubjectKind, text: str) -> str | None:
    """The full name of a subject; None where there is no such one."""
    names = possible(world, kind)
    if text in names:
        return text
    rails = [name for name in names if name.partition("/")[0] == text]
    return rails[-1] if rails else None


def slot_of(subject: str) -> str:
    """The host that a subject is, or is part of."""
    return subject.partition("/")[0]


def rail(world: World, subject: str) -> tuple[Host, Nic]:
    """Host and interface of a rail's full name.

    Raises:
        KeyError: no such rail.
    """
    host = world.host(slot_of(subject))
    for nic in host.rails:
        if f"{host.slot}/{nic.interface}" == subject:
            return host, nic
    raise KeyError(subject)
