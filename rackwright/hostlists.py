"""Host names, and the one text that many of them fold into: ``node-[001-003]`` (ClusterShell)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ClusterShell.NodeSet import (  # type: ignore[import-untyped]  # (it has no types)
    RESOLVER_NOGROUP,
    NodeSet,
    NodeSetException,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


class NoHostlist(ValueError):
    """A text that means no hosts."""


def folded(names: Iterable[str]) -> str:
    """One text for many hosts; names of any kind, none of them a range of its own."""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def unfolded(text: str) -> tuple[str, ...]:
    """The hosts that a text means; an empty one means none. No group of this machine is looked up.

    Raises:
        NoHostlist: it is not understood.
    """
    try:
        return tuple(str(name) for name in NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException as error:
        raise NoHostlist(f"{text}: {error}") from None
