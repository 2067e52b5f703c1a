"""What a fat tree has to carry in, its frame out: how many switches, and how they hang together.

A tree is built of units. With ``attach: rail`` the NIC of rail r of every node of a unit goes to
leaf r of that unit; with ``tor`` all NICs of a unit go to one leaf; with ``dual-tor`` each NIC has
a link to both leaves of its unit. Leaves, spines and cores have the same number of ports. Each
plane is such a tree of its own; totals are over all planes.

Source: NVIDIA DGX SuperPOD reference architectures (H100, B200), tables of the compute fabric; every row
is computed in tests/unit/plan/fabric.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
        breakout: node links that share one port of a leaf.
        uplink_ratio: rate of an uplink over that of a node's link; None for that of all links on a port.
        pod_units: units of a pod, with three tiers; None for what gives the fewest switches.
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
    uplink_ratio: Fraction | None = None
    pod_units: int | None = None
    manager_uplinks: int = 0
    partial: bool = False

    @property
    def units(self) -> int:
        """Scalable units, the last one maybe not full."""
        return ceil(self.endpoints / (self.unit_nodes * self.rails))

    @property
    def downlinks(self) -> int:
        """Node links of a leaf of a full unit."""
        return self.unit_nodes * (1 if self.attach is Attach.RAIL else self.rails)

    @property
    def uplinks(self) -> int:
        """Links of a leaf upwards: its downlink bandwidth over the oversubscription, rounded up."""
        ratio = Fraction(self.breakout) if self.uplink_ratio is None else self.uplink_ratio
        return ceil(self.downlinks / ratio / self.leaf_oversubscription)

    @property
    def manager_places(self) -> int:
        """Nodes' places given up to the fabric manager."""
        return ceil(self.manager_uplinks / self.rails)


@dataclass(frozen=True, slots=True)
class Frame:
    """All numbers that say which port goes where, in one plane; the lock keeps them.

    Leaves hang in pods, each with its own spines; spine n of every pod reaches core group n. A tree
    of two tiers is one pod without cores. The last pod may have fewer leaves than ``pod_leaves``.
    """

    attach: Attach
    units: int
    unit_nodes: int
    rails: int
    planes: int
    breakout: int
    ports: int
    uplinks: int
    """Of a leaf."""
    spines: int
    """Of a pod."""
    pod_leaves: int
    """Leaves that a pod has ports for."""
    spine_uplinks: int
    """Of a spine; 0 with two tiers."""
    cores: int
    """Of a group; 0 with two tiers."""

    @property
    def leaves_per_unit(self) -> int:
        """Leaves of a unit."""
        return {Attach.RAIL: self.rails, Attach.TOR: 1, Attach.DUAL_TOR: 2}[self.attach]

    @property
    def leaves(self) -> int:
        """Of all units."""
        return self.units * self.leaves_per_unit

    @property
    def pods(self) -> int:
        """Pods that have a leaf."""
        return ceil(self.leaves / self.pod_leaves)

    @property
    def tiers(self) -> int:
        """2 or 3."""
        return THREE if self.cores else TWO

    def sizes(self) -> dict[str, int]:
        """Tier → number of its switches, tier by tier of each plane."""
        roles = {"leaf": self.leaves, "spine": self.pods * self.spines, "core": self.spines * self.cores}
        return {
            tier_name(role, plane, self.planes): number
            for plane in range(1, self.planes + 1)
            for role, number in roles.items()
            if number
        }

    @property
    def places(self) -> int:
        """Places for nodes, those given to the fabric manager included."""
        return self.units * self.unit_nodes

    @property
    def leaf_spine_links(self) -> int:
        """Of each leaf to each spine of its pod."""
        return self.uplinks // self.spines

    @property
    def spine_core_links(self) -> int:
        """Of each spine to each core of its group; 0 with two tiers."""
        return self.spine_uplinks // self.cores if self.cores else 0

    @property
    def links_per_nic(self) -> int:
        """Links of one NIC in a plane."""
        return 2 if self.attach is Attach.DUAL_TOR else 1

    def grown(self, units: int) -> Frame | None:
        """The same tree with more units, no cable of it moved; None where its upper ports run out."""
        more = replace(self, units=units)
        if self.cores:
            return more if more.pods * self.spine_core_links <= self.ports else None
        return more if more.leaves <= self.pod_leaves else None


def tier_name(role: str, plane: int, planes: int) -> str:
    """``leaf``, or ``p2-leaf`` of the second of several planes."""
    return role if planes == 1 else f"p{plane}-{role}"


@dataclass(frozen=True, slots=True)
class _Stage:
    """Switches above a tier: how many, and the links of each lower switch to each."""

    switches: int
    links: int


def frame(demand: Demand) -> Frame:
    """The tree that carries a demand with the fewest switches.

    Raises:
        Infeasible: no such tree; says what would do.
    """
    refuse(demand)
    leaves = demand.units * _built(demand).leaves_per_unit
    podded = demand.tiers == THREE or demand.pod_units is not None
    spines = None if podded else above(leaves, demand.uplinks, demand.ports)
    if spines is not None:
        return _built(demand, spines=spines.switches, pod_leaves=demand.ports // spines.links)
    if demand.tiers == TWO and demand.pod_units is not None:
        raise Infeasible(
            "pods are what three tiers are made of",
            got="two tiers, and units of a pod",
            expected="three tiers",
            hint="leave `pod_units` out, or say `tiers: 3`",
        )
    if demand.tiers == TWO:
        raise _too_big(demand, leaves * demand.downlinks, "two")
    return _three_tiers(demand, leaves)


def _built(
    demand: Demand, *, spines: int = 1, pod_leaves: int = 1, spine_uplinks: int = 0, cores: int = 0
) -> Frame:
    return Frame(
        attach=demand.attach,
        units=demand.units,
        unit_nodes=demand.unit_nodes,
        rails=demand.rails,
        planes=demand.planes,
        breakout=demand.breakout,
        ports=demand.ports,
        uplinks=demand.uplinks,
        spines=spines,
        pod_leaves=pod_leaves,
        spine_uplinks=spine_uplinks,
        cores=cores,
    )


def above(lower: int, uplinks: int, ports: int) -> _Stage | None:
    """The smallest number of upper switches that takes all uplinks and divides each one's.

    So every lower switch has the same number of links to every upper one; published designs follow
    this rule.

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


def refuse(demand: Demand) -> None:
    """Whether leaves of full units could be built at all, and the last unit is full or may be partial.

    Raises:
        Infeasible: the plainest of what is wrong.
    """
    for misfit in _misfits(demand):
        raise misfit


def _misfits(demand: Demand) -> Iterator[Infeasible]:
    """What is wrong before anything is counted, the plainest first."""
    if demand.ports < TWO or demand.ports % TWO:
        yield Infeasible(
            "a fat tree needs switches with an even number of ports",
            got=f"{demand.ports} ports",
            expected="an even number, at least 2",
            hint="half of them go up: see `rackwright catalogue list` for others",
        )
    if demand.endpoints % demand.rails:
        yield Infeasible(
            "every node has one NIC on each rail",
            got=f"{demand.endpoints} endpoints on {demand.rails} rails",
            expected=f"a multiple of {demand.rails} endpoints",
            hint="a node with fewer NICs than rails cannot be on this fabric",
        )
    taken, uplinks = ceil(demand.downlinks / demand.breakout), demand.uplinks
    if taken + uplinks > demand.ports:
        yield Infeasible(
            "a leaf has fewer ports than its unit needs",
            got=f"{demand.downlinks} node links on {taken} ports, and {uplinks} uplinks",
            expected=f"at most {demand.ports} ports together",
            hint=_fitting_unit(demand),
        )
    yield from _partial(demand)


def _fitting_unit(demand: Demand) -> str:
    """The biggest unit for which a leaf has ports; where not even one node fits, what else would do."""
    each = demand.downlinks // demand.unit_nodes
    fitting = (
        nodes
        for nodes in range(demand.unit_nodes - 1, 0, -1)
        for one in (replace(demand, unit_nodes=nodes),)
        if ceil(Fraction(nodes * each, demand.breakout)) + one.uplinks <= demand.ports
    )
    most = next(fitting, None)
    if most is None:
        return "fewer NICs of a node on this fabric, more oversubscription, or switches with more ports"
    return f"{most} node{'s' if most > 1 else ''} in a unit would fit"


def _partial(demand: Demand) -> Iterator[Infeasible]:
    whole = demand.units * demand.unit_nodes
    nodes, given_up = demand.endpoints // demand.rails, demand.manager_places
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


def _three_tiers(demand: Demand, leaves: int) -> Frame:
    found = list(_pods(demand, leaves))
    if not found and demand.pod_units is not None:
        raise _no_such_pod(demand)
    if not found:
        raise _too_big(demand, leaves * demand.downlinks, "three")
    return min(found, key=lambda one: (one.spines * (one.pods + one.cores), -one.pod_leaves))


def _pods(demand: Demand, leaves: int) -> Iterator[Frame]:
    """Ways to divide the leaves into pods: one for each number of spines that divides the uplinks."""
    over, uplinks = demand.spine_oversubscription, demand.uplinks
    down = int(demand.ports * over / (1 + over))
    for spines in (count for count in range(1, uplinks + 1) if uplinks % count == 0):
        links = uplinks // spines
        most = _pod_leaves(demand, down // links)
        if not most:
            continue
        up, pods = ceil(most * links / over), ceil(leaves / most)
        cores = above(pods, up, demand.ports) if most * links + up <= demand.ports else None
        if cores is not None:
            yield _built(demand, spines=spines, pod_leaves=most, spine_uplinks=up, cores=cores.switches)


def _pod_leaves(demand: Demand, most: int) -> int:
    """Leaves of a pod: as asked for, else so many as its spines have ports for."""
    return most if demand.pod_units is None else demand.pod_units * _built(demand).leaves_per_unit


def _no_such_pod(demand: Demand) -> Infeasible:
    leaves = demand.pod_units or 0
    return Infeasible(
        "no spine has ports for the leaves of such a pod",
        got=f"{leaves * _built(demand).leaves_per_unit} leaves in {leaves} units",
        expected=f"pods whose spines and cores have at most {demand.ports} ports",
        hint="fewer units in a pod, more oversubscription of spines, or switches with more ports",
    )


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
