"""What a fault can be planted on: a host, a rail of one, a link, a cloud, or what is had in a cloud."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rackwright.lab.model import CloudSite, Host, Nic, World


class SubjectKind(StrEnum):
    """Kind of a subject."""

    HOST = "host"
    """``node-002``."""
    RAIL = "rail"
    """``node-002/r1``; a slot alone is its last rail."""
    LINK = "link"
    """``wan``: by its name in the spec."""
    CAPACITY = "pool-or-type"
    """``cnode``, or ``lab1.2rail``."""
    CLOUD = "cloud"
    """A site of kind aws."""


EXAMPLES = {
    SubjectKind.HOST: "node-002",
    SubjectKind.RAIL: "node-002",
    SubjectKind.LINK: "wan",
    SubjectKind.CAPACITY: "cnode",
    SubjectKind.CLOUD: "cloud",
}


def possible(world: World, kind: SubjectKind) -> list[str]:
    """All subjects of a kind."""
    return list(dict.fromkeys(_POSSIBLE[kind](world)))


def _rails(world: World) -> Iterator[str]:
    return (f"{host.slot}/{nic.interface}" for host in world.hosts for nic in host.rails)


def _capacity(world: World) -> Iterator[str]:
    """Pools, then types."""
    for site in world.cloud:
        yield from site.pools
    for site in world.cloud:
        yield from (pool.type for pool in site.pools.values())


_POSSIBLE: dict[SubjectKind, Callable[[World], Iterable[str]]] = {
    SubjectKind.HOST: lambda world: [host.slot for host in world.hosts],
    SubjectKind.RAIL: _rails,
    SubjectKind.LINK: lambda world: [site.line.link for site in world.cloud],
    SubjectKind.CAPACITY: _capacity,
    SubjectKind.CLOUD: lambda world: [site.site for site in world.cloud],
}


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


def line_site(world: World, link: str) -> CloudSite:
    """The cloud that a link leads to.

    Raises:
        KeyError: no such link.
    """
    for site in world.cloud:
        if site.line.link == link:
            return site
    raise KeyError(link)
