"""How many switches and cables a fat tree of given endpoints takes: counts only, no names.

A tree is built of units. With ``attach: rail`` the NIC of rail r of every node of a unit goes to
leaf r of that unit; with ``tor`` all NICs of a unit go to one leaf; with ``dual-tor`` each NIC has
a link to both leaves of its unit. Leaves, spines and cores have the same number of ports. Each
plane is such a tree of its own; totals are over all planes.

Source: facts/fabric.md §1.1 and §2.1, computed from the reference architectures named there.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from rackwright.spec.base import Misfit
from rackwright.spec.fabrics import Attach

if TYPE_CHECKING:
    from collections.abc import Iterator

TWO, THREE = 2, 3


class Infeasible(Misfit):
    """No tree of these switches carries these endpoints as asked."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a fat tree has to carry, and what it is made of.

    Args:
        endpoints: NIC ports of nodes in one plane.
        ports: of one switch.
        rails: NICs of each node on this fabric.
        unit_nodes: nodes of a scalable unit.
        attach: which leaf a NIC goes to.
        planes: independent trees; each NIC has a link to every one.
        tiers: 2 or 3; None for as few as carry the endpoints.
        leaf_oversubscription: downlink over uplink bandwidth of a leaf.
        spine_oversubscription: the same of a spine, with three tiers.
        breakout: node links that share one port of a leaf; an uplink has the rate of all of them.
        manager_uplinks: ports of leaves given to the fabric manager.
        partial: the last unit may have fewer nodes; its switches are built in full.
    """

    endpoints: int
    ports: int
    rails: int = 1
    unit_nodes: int = 1
    attach: Attach = Attach.RAIL
    planes: int = 1
    tiers: int | None = None
    leaf_oversubscription: Fraction = Fraction(1)
    spine_oversubscription: Fraction = Fraction(1)
    breakout: int = 1
    manager_uplinks: int = 0
    partial: bool = False

    @property
    def units(self) -> int:
        """Scalable units, the last one maybe not full."""
        return ceil(self.endpoints / (self.unit_nodes * self.rails))

    @property
    def leaves_per_unit(self) -> int:
        """Leaves of a unit in one plane."""
        return {Attach.RAIL: self.rails, Attach.TOR: 1, Attach.DUAL_TOR: 2}[self.attach]

    @property
    def downlinks(self) -> int:
        """Node links of a leaf of a full unit."""
        return self.unit_nodes * (1 if self.attach is Attach.RAIL else self.rails)

    @property
    def node_links(self) -> int:
        """Cables from nodes, and from the fabric manager, to leaves in one plane."""
        each = 2 if self.attach is Attach.DUAL_TOR else 1
        return self.endpoints * each + self.manager_uplinks


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


@dataclass(frozen=True, slots=True)
class _Stage:
    """Switches above a tier: how many, and the links of each lower switch to each."""

    switches: int
    links: int


def size(demand: Demand) -> Counts:
    """Number of switches and cables.

    Raises:
        Infeasible: no such tree; says what would do.
    """
    _refuse(demand)
    leaves = demand.units * demand.leaves_per_unit
    uplinks = _uplinks(demand)
    spines = above(leaves, uplinks, demand.ports) if demand.tiers != THREE else None
    if spines is not None:
        return _two_tiers(demand, leaves, uplinks, spines)
    if demand.tiers == TWO:
        raise _too_big(demand, leaves * demand.downlinks, "two")
    return _three_tiers(demand, leaves, uplinks)


def above(lower: int, uplinks: int, ports: int) -> _Stage | None:
    """The smallest number of upper switches that takes all uplinks and divides each one's.

    So every lower switch has the same number of links to every upper one; published designs follow
    this rule (facts/fabric.md §0, finding 1).

    Args:
        lower: switches below.
        uplinks: of each of them.
        ports: of an upper switch.

    Returns:
        None where no number up to ``uplinks`` does: a further tier is needed.
    """
    fewest = ceil(lower * uplinks / ports)
    fitting = (count for count in range(max(fewest, 1), uplinks + 1) if uplinks % count == 0)
    count = next(fitting, None)
    return None if count is None else _Stage(count, uplinks // count)


def _uplinks(demand: Demand) -> int:
    """Links of a full leaf upwards: its downlink bandwidth over the oversubscription, rounded up."""
    return ceil(Fraction(demand.downlinks, demand.breakout) / demand.leaf_oversubscription)


def _refuse(demand: Demand) -> None:
    for misfit in _misfits(demand):
        raise misfit


def _misfits(demand: Demand) -> Iterator[Infeasible]:
    """What is wrong before anything is counted, the plainest first."""
    if demand.ports < TWO or demand.ports % TWO:
        yield Infeasible(
            "a fat tree needs switches with an even number of ports",
            got=f"{demand.ports} ports",
            expected="an even number, at least 2",
        )
    if demand.endpoints % demand.rails:
        yield Infeasible(
            "every node has one NIC on each rail",
            got=f"{demand.endpoints} endpoints on {demand.rails} rails",
            expected=f"a multiple of {demand.rails} endpoints",
            hint="a node with fewer NICs than rails cannot be on this fabric",
        )
    taken, uplinks = ceil(demand.downlinks / demand.breakout), _uplinks(demand)
    if taken + uplinks > demand.ports:
        yield Infeasible(
            "a leaf has fewer ports than its unit needs",
            got=f"{demand.downlinks} node links on {taken} ports, and {uplinks} uplinks",
            expected=f"at most {demand.ports} ports together",
            hint=f"{_fitting_unit(demand)} nodes in a unit would fit",
        )
    yield from _partial(demand)


def _fitting_unit(demand: Demand) -> int:
    """Most nodes of a unit for which a leaf has ports."""
    share = Fraction(demand.ports * demand.breakout) / (1 + 1 / demand.leaf_oversubscription)
    return int(share) // (demand.downlinks // demand.unit_nodes)


def _partial(demand: Demand) -> Iterator[Infeasible]:
    whole = demand.units * demand.unit_nodes
    nodes, given_up = demand.endpoints // demand.rails, ceil(demand.manager_uplinks / demand.rails)
    if nodes + given_up > whole:
        yield Infeasible(
            "the fabric manager finds no free ports on the leaves",
            got=f"{nodes} nodes in {demand.units} units of {demand.unit_nodes}",
            expected=f"at most {whole - given_up} nodes, so that {demand.manager_uplinks} ports stay free",
            hint="give up a node, as the reference architectures do, or add a unit",
        )
    elif nodes + given_up < whole and not demand.partial:
        yield Infeasible(
            "the last unit is not full",
            got=f"{nodes} nodes in units of {demand.unit_nodes}",
            expected=f"{whole} nodes, or a design that says it is built in part",
            hint="say `partial: true` (`--partial`): the switches of the whole unit are then planned",
        )


def _two_tiers(demand: Demand, leaves: int, uplinks: int, spines: _Stage) -> Counts:
    planes = demand.planes
    return Counts(
        endpoints=demand.endpoints,
        tiers=(Tier("leaf", leaves * planes), Tier("spine", spines.switches * planes)),
        cables=(
            Cables(("node", "leaf"), demand.node_links * planes),
            Cables(("leaf", "spine"), leaves * uplinks * planes),
        ),
        uplinks_per_leaf=uplinks,
        leaf_spine_links=spines.links,
    )


@dataclass(frozen=True, slots=True)
class _Pods:
    """Three tiers: leaves in pods, each with its own spines; spine n of every pod reaches core group n.

    The last pod may have fewer leaves; its spines are built in full.
    """

    pods: int
    leaves: int
    """Of a full pod."""
    spines: _Stage
    cores: _Stage
    """Of one group."""
    spine_uplinks: int

    @property
    def switches(self) -> int:
        """Spines and cores."""
        return self.spines.switches * (self.pods + self.cores.switches)


def _three_tiers(demand: Demand, leaves: int, uplinks: int) -> Counts:
    found = list(_pods(demand, leaves, uplinks))
    if not found:
        raise _too_big(demand, leaves * demand.downlinks, "three")
    pods = min(found, key=lambda one: (one.switches, -one.leaves))
    spines, planes = pods.pods * pods.spines.switches, demand.planes
    return Counts(
        endpoints=demand.endpoints,
        tiers=(
            Tier("leaf", leaves * planes),
            Tier("spine", spines * planes),
            Tier("core", pods.spines.switches * pods.cores.switches * planes),
        ),
        cables=(
            Cables(("node", "leaf"), demand.node_links * planes),
            Cables(("leaf", "spine"), leaves * uplinks * planes),
            Cables(("spine", "core"), spines * pods.spine_uplinks * planes),
        ),
        uplinks_per_leaf=uplinks,
        leaf_spine_links=pods.spines.links,
    )


def _pods(demand: Demand, leaves: int, uplinks: int) -> Iterator[_Pods]:
    """Ways to divide the leaves into pods: one for each number of spines that divides the uplinks."""
    over = demand.spine_oversubscription
    down = int(demand.ports * over / (1 + over))
    for spines in (count for count in range(1, uplinks + 1) if uplinks % count == 0):
        links = uplinks // spines
        most = down // links
        if not most:
            continue
        up, pods = ceil(most * links / over), ceil(leaves / most)
        cores = above(pods, up, demand.ports) if most * links + up <= demand.ports else None
        if cores is not None:
            yield _Pods(pods, most, _Stage(spines, links), cores, up)


def _too_big(demand: Demand, links: int, tiers: str) -> Infeasible:
    power = {"two": 2, "three": 3}[tiers]
    most = demand.ports**power // (2 if power == TWO else 4)
    return Infeasible(
        f"{tiers} tiers of {demand.ports}-port switches do not carry these endpoints",
        got=f"{links} node links of full units in one plane",
        expected=f"at most {most} without oversubscription",
        hint="take switches with more ports, more planes, or a third tier"
        if power == TWO
        else "take switches with more ports, or more planes",
    )
