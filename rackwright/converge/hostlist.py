"""Host names in, the shortest hostlist of them out (ClusterShell): ``node-[001-003]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ClusterShell.NodeSet import (  # type: ignore[import-untyped]  # (it has no types)
    RESOLVER_NOGROUP,
    NodeSet,
)

if TYPE_CHECKING:
    from collections.abc import Iterable


def folded(names: Iterable[str]) -> str:
    """One text for many hosts; names of any kind, none of them a range of its own."""
    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))
