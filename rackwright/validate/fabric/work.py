"""Differences in, what is done about each out: cable by cable, the fewest plugs first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rackwright.plan.fabric.cables import Roster, switch_name
from rackwright.plan.racks import rack_name
from rackwright.render.fabric.network import hca_name
from rackwright.validate.fabric.compare import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.plan.fabric.lengths import Spot
    from rackwright.plan.model import Plan
    from rackwright.render.fabric.network import Network, Plug
    from rackwright.validate.fabric.compare import Comparison, Difference, Wire


@dataclass(frozen=True, slots=True)
class Row:
    """A difference in words."""

    kind: Kind
    where: str
    intended: str
    observed: str


@dataclass(frozen=True, slots=True)
class Step:
    """What is done about one difference."""

    kind: Kind
    where: str
    plugs: int
    """Plugs that are touched; 0 where nothing is moved."""
    do: tuple[str, ...]
    """In this order."""


@dataclass(frozen=True)
class Words:
    """How devices and ports are called, and where they stand."""

    plan: Plan
    fabric: str
    intended: Network
    comparison: Comparison

    def rows(self) -> list[Row]:
        """Every difference."""
        return [self._row(one) for one in self.comparison.differences]

    def steps(self) -> list[Step]:
        """The work, what takes the fewest plugs first."""
        steps = [
            Step(one.kind, self._where(one), one.plugs, tuple(self._do(one)))
            for one in self.comparison.differences
        ]
        return sorted(steps, key=lambda step: (step.plugs, step.where, step.kind))

    @cached_property
    def spots(self) -> dict[str, Spot | None]:
        """Where each device stands, by name."""
        roster = Roster(self.plan, self.fabric)
        found: dict[str, Spot | None] = {}
        for node, labels, spot in roster.nodes.values():
            found[node] = spot
            found |= {hca_name(node, rail): spot for rail in range(1, len(labels) + 1)}
        for tier, stands in roster.stands.items():
            found |= {switch_name(self.fabric, tier, number): spot for number, spot in stands.items()}
        return found

    def device(self, name: str) -> str:
        """``compute-leaf-001 (r01p04 u37)``."""
        spot = self.spots.get(name)
        return name if spot is None else f"{name} ({rack_name(*spot[:2])} u{spot.unit})"

    def plug(self, plug: Plug) -> str:
        """``compute-leaf-001 (r01p04 u37) port 5``."""
        known = self.intended.devices.get(plug.device)
        name = known.name if known else self.comparison.identified.strangers.get(plug.device, plug.device)
        port = "" if known and known.ports == 1 else f" port {plug.port}"
        return f"{self.device(name or plug.device)}{port}"

    def wire(self, wire: Wire) -> str:
        """Both ends."""
        return f"{self.plug(wire.a)} - {self.plug(wire.z)}"

    def _where(self, one: Difference) -> str:
        if one.device:
            return self.device(one.device)
        return self.plug((one.intended or one.observed)[0].a)

    def _row(self, one: Difference) -> Row:
        if one.kind is Kind.UNNAMED:
            return Row(one.kind, one.device, one.note or "no device of the plan", one.device)
        if one.device:
            return Row(one.kind, self._where(one), "there, with its cables", one.note)
        observed = one.note or "; ".join(self.wire(wire) for wire in one.observed) or "no cable"
        intended = "; ".join(self.wire(wire) for wire in one.intended) or "no cable"
        return Row(one.kind, self._where(one), intended, observed)

    def _do(self, one: Difference) -> Iterator[str]:
        if one.kind is Kind.UNNAMED:
            yield self._name(one)
        elif one.kind is Kind.ABSENT:
            yield f"find out why {self._where(one)} is not seen: {one.note}"
        elif one.kind in {Kind.WRONG_SPEED, Kind.WRONG_WIDTH}:
            yield f"reseat or replace the cable {self.wire(one.intended[0])}: {one.note}"
        yield from (f"take out the cable {self.wire(wire)}" for wire in one.remove)
        yield from self._moves(one)
        yield from (f"connect {self.wire(wire)}" for wire in one.connect)

    def _name(self, one: Difference) -> str:
        if not one.note:
            return f"find out what {one.device} is: nobody of the plan hangs where it hangs"
        return f"give {one.device} its description: {one.note}"

    def _moves(self, one: Difference) -> Iterator[str]:
        """In a ring the first plug hangs until its port is free."""
        taken = {move.source for move in one.moves}
        for move in one.moves:
            hanging = " (it hangs until that port is free)" if move.target in taken - {move.source} else ""
            yield (
                f"the cable of {self.plug(move.kept)}: its other plug from {self.plug(move.source)} "
                f"to {self.plug(move.target)}{hanging}"
            )
            taken.discard(move.source)
