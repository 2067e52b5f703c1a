"""All cabled fabrics of a spec: who is on each, its places and tree, and its switches in racks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwright.findings import Finding
from rackwright.plan.fabric import custom
from rackwright.plan.fabric.cabling import cabling
from rackwright.plan.fabric.frame import Infeasible
from rackwright.plan.fabric.layout import place, standing
from rackwright.plan.fabric.settle import Ground, no_such_tree, settle
from rackwright.plan.seating import numbers
from rackwright.spec.fabrics import Custom, Efa, FatTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.catalogue.switch import Switch
    from rackwright.plan.fabric.layout import Standing
    from rackwright.plan.fabric.locked import FabricSeats
    from rackwright.plan.fabric.model import CablingPlan
    from rackwright.plan.hardware import Hardware
    from rackwright.plan.lock import Lock
    from rackwright.plan.seating import Seating
    from rackwright.spec.cluster import ClusterSpec


@dataclass(frozen=True, slots=True)
class Fabrics:
    """The cabled fabrics of a spec while it is planned."""

    spec: ClusterSpec
    switches: Mapping[str, Switch]
    """Of the catalogue."""
    grounds: Mapping[str, Ground]
    seats: Mapping[str, FabricSeats]
    """Of those of which something can be said."""

    def standing(self) -> dict[str, list[Standing]]:
        """Site → switches that the lock has placed there."""
        found: dict[str, list[Standing]] = {}
        for name, seats in self.seats.items():
            site, switch = self.grounds[name].site, self._switch(name)
            if site and switch:
                found.setdefault(site, []).extend(standing(name, seats, switch))
        return found

    def placed(self, seating: Seating) -> tuple[Fabrics, list[Finding]]:
        """The same, with every switch in a rack, fabric by fabric in the order of names."""
        found, findings = dict(self.seats), list[Finding]()
        for name, seats in self.seats.items():
            site, switch = self.grounds[name].site, self._switch(name)
            if site in seating.halls and switch is not None:
                found[name], more = place(name, seats, switch, seating.halls[site], seating.pools)
                findings += more
        return replace(self, seats=found), findings

    def plans(self) -> dict[str, CablingPlan]:
        """What the plan says of each."""
        trees = {
            name: cabling(self.grounds[name], self.switches, seats) for name, seats in self.seats.items()
        }
        told = {
            name: custom.cabling(ground, ground.fabric.topology, self.switches)
            for name, ground in self.grounds.items()
            if isinstance(ground.fabric.topology, Custom) and ground.nics
        }
        return dict(sorted({**trees, **told}.items()))

    def _switch(self, name: str) -> Switch | None:
        topology = self.grounds[name].fabric.topology
        return self.switches.get(topology.switch) if isinstance(topology, FatTree) else None


def fabrics(
    spec: ClusterSpec,
    nodes: Mapping[str, Hardware],
    switches: Mapping[str, Switch],
    lock: Lock | None,
    *,
    resize: bool,
) -> tuple[Fabrics, list[Finding]]:
    """Places and tree of every cabled fabric; its switches stand where the lock has them.

    Args:
        spec: the cluster.
        nodes: of each pool, with their wiring.
        switches: of the catalogue.
        lock: what the last plan allocated; None on the first.
        resize: whether cables between switches may move.
    """
    locked = lock.fabrics if lock else {}
    grounds = _grounds(spec, nodes, lock)
    answers = {
        name: settle(ground, switches, locked.get(name), resize=resize) for name, ground in grounds.items()
    }
    findings = [answer for answer in answers.values() if isinstance(answer, Finding)]
    findings += [misfit for ground in grounds.values() for misfit in _told_wrong(ground, switches)]
    seats = {
        name: answer
        for name, answer in answers.items()
        if answer is not None and not isinstance(answer, Finding)
    }
    return Fabrics(spec, switches, grounds, seats), findings


def _told_wrong(ground: Ground, switches: Mapping[str, Switch]) -> Iterator[Finding]:
    topology = ground.fabric.topology
    if isinstance(topology, Custom) and ground.nics:
        try:
            custom.cabling(ground, topology, switches)
        except Infeasible as misfit:
            yield no_such_tree(ground.name, misfit)


def _grounds(spec: ClusterSpec, nodes: Mapping[str, Hardware], lock: Lock | None) -> dict[str, Ground]:
    found: dict[str, Ground] = {}
    for name, fabric in sorted(spec.fabrics.items()):
        if not isinstance(fabric, Efa):
            nics = {
                pool: len(use.interfaces)
                for pool, one in sorted(nodes.items())
                for use in one.wiring
                if use.fabric == name and use.interfaces
            }
            slots = {pool: numbers(spec.pools[pool].nodes) for pool in nics}
            stood = _stood(name, lock)
            stood = stood if stood in spec.sites else None
            site = next((spec.pools[pool].site for pool in nics), stood)
            found[name] = Ground(name, fabric, nics, slots, site, stood)
    return found


def _stood(name: str, lock: Lock | None) -> str | None:
    """Site of a fabric by the lock: that of its pools, or the one it was left in."""
    if lock is None or name not in lock.fabrics:
        return None
    seats = lock.fabrics[name]
    return next((lock.pools[pool].site for pool in seats.places if pool in lock.pools), seats.site)
