"""A frame in, numbers out: how many switches of each role, and cables between them, over all planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.plan.fabric.frame import frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.fabric.frame import Demand, Frame


@dataclass(frozen=True, slots=True)
class Tier:
    """Switches of one role, over all planes."""

    role: str
    switches: int


@dataclass(frozen=True, slots=True)
class Cables:
    """Cables between two roles, over all planes."""

    between: tuple[str, str]
    count: int


@dataclass(frozen=True, slots=True)
class Counts:
    """A fat tree in numbers."""

    endpoints: int
    tiers: tuple[Tier, ...]
    cables: tuple[Cables, ...]
    uplinks_per_leaf: int
    leaf_spine_links: int
    """Of each leaf to each spine that it reaches."""


def size(demand: Demand) -> Counts:
    """Number of switches and cables.

    Raises:
        Infeasible: no such tree; says what would do.
    """
    return counts(frame(demand), demand.endpoints, demand.manager_uplinks)


def counts(tree: Frame, endpoints: int, manager_uplinks: int) -> Counts:
    """The numbers of a tree that carries these NICs.

    Args:
        tree: in one plane.
        endpoints: NIC ports of nodes in one plane.
        manager_uplinks: of the fabric manager in one plane.
    """
    return Counts(
        endpoints=endpoints,
        tiers=tuple(_tiers(tree)),
        cables=tuple(_cables(tree, endpoints * tree.links_per_nic + manager_uplinks)),
        uplinks_per_leaf=tree.uplinks,
        leaf_spine_links=tree.leaf_spine_links,
    )


def _tiers(tree: Frame) -> Iterator[Tier]:
    yield Tier("leaf", tree.leaves * tree.planes)
    yield Tier("spine", tree.pods * tree.spines * tree.planes)
    if tree.cores:
        yield Tier("core", tree.spines * tree.cores * tree.planes)


def _cables(tree: Frame, node_links: int) -> Iterator[Cables]:
    yield Cables(("node", "leaf"), node_links * tree.planes)
    yield Cables(("leaf", "spine"), tree.leaves * tree.uplinks * tree.planes)
    if tree.cores:
        yield Cables(("spine", "core"), tree.pods * tree.spines * tree.spine_uplinks * tree.planes)
