"""Collectives over each rail and over all: a site's own figures, and which failed port explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rackwright.catalogue.model import Check
from rackwright.verdict.evidence import Evidence, output_of, unmeasured_value
from rackwright.verdict.judgement import Judgement, Who, judged, unmeasured
from rackwright.verdict.matching import amount, within
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.validate.expectations import Expectation
    from rackwright.validate.model import Measurement, Step


class Place(NamedTuple):
    """One rail of a fabric, or all of them."""

    fabric: str
    rail: int | None

    def __str__(self) -> str:
        return f"{self.fabric}, all rails" if self.rail is None else f"{self.fabric} rail {self.rail}"


@dataclass(frozen=True)
class CollectiveBandwidth:
    """Collectives over all nodes of a site reach the bus bandwidth their rails allow."""

    name: ClassVar[str] = "collective-bandwidth"
    check: ClassVar[str] = Check.COLLECTIVES
    kind: ClassVar[Kind] = Kind.SITE

    def judge(
        self, evidence: Evidence, faulty: Mapping[tuple[str, int], tuple[str, ...]]
    ) -> Iterator[Judgement]:
        """Each site, place by place."""
        for site in evidence.sites:
            for place in _places(evidence, site):
                yield _AtPlace(evidence, site, place, faulty).judge()


def _places(evidence: Evidence, site: str) -> list[Place]:
    """Each rail that a site's nodes have, and all of a fabric where something is expected of that."""
    rails = {(port.fabric, port.rail) for port in evidence.rails if evidence.site_of[port.node] == site}
    several = {
        one.key.fabric
        for one in evidence.expectations.expectations
        if one.key.name == "busbw" and one.key.rails is not None and one.key.rails > 1
    }
    run = {(one.context.fabric, one.context.rail) for one in evidence.of_check(Check.COLLECTIVES)}
    fabrics = sorted({fabric for fabric, _ in rails})
    over_all = [Place(fabric, None) for fabric in fabrics if fabric in several or (fabric, None) in run]
    return [Place(*place) for place in sorted(rails)] + over_all


@dataclass(frozen=True)
class _AtPlace:
    """The collectives of one site at one place."""

    evidence: Evidence
    site: str
    place: Place
    faulty: Mapping[tuple[str, int], tuple[str, ...]]

    def judge(self) -> Judgement:
        """The first thing that is wrong with them, else that nothing is."""
        values = self._values()
        bounds = [(one, bound) for one in values if (bound := self.evidence.bound(one)) is not None]
        slow = [(one, bound) for one, bound in bounds if not within(one, bound)]
        if slow:
            return self._slow(slow, values)
        problem, step = self._lacking(values)
        if problem:
            return self._unmeasured(problem, step)
        if not bounds:
            cause = f"there is no figure that collectives over {self.place} could be held against"
            return judged(self._who, self._name, Value.NOT_RUN, cause, values)
        return self._fine(bounds, values)

    @property
    def _who(self) -> Who:
        return Who(Kind.SITE, self.site)

    @property
    def _name(self) -> str:
        return CollectiveBandwidth.name

    def _here(self, fabric: str | None, rail: int | None) -> bool:
        return (fabric, rail) == self.place

    def _values(self) -> list[Measurement]:
        return [
            one
            for one in self.evidence.select(Check.COLLECTIVES, "busbw")
            if self._here(one.context.fabric, one.context.rail)
            and self._who in self.evidence.about(one, Kind.SITE)
        ]

    def _slow(self, slow: list[tuple[Measurement, Expectation]], values: list[Measurement]) -> Judgement:
        shown, bound = min(slow, key=lambda one: amount(one[0]) / (one[1].nominal or 1))
        ports = self._faulty_ports()
        what = f"{shown.context.collective} of {shown.context.size_bytes} bytes over {self.place} is slow"
        cause = f"{what}: it crosses {', '.join(ports)}" if ports else f"{what}, and no port explains it"
        return judged(
            self._who,
            self._name,
            Value.FAIL,
            cause,
            values,
            shown=shown,
            expectation=bound,
            explained_by=", ".join(ports),
        )

    def _fine(self, bounds: list[tuple[Measurement, Expectation]], values: list[Measurement]) -> Judgement:
        shown, bound = min(bounds, key=lambda one: amount(one[0]) / (one[1].at_least or 1))
        cause = f"all {len(bounds)} collectives over {self.place} are within their bounds"
        return judged(self._who, self._name, Value.PASS, cause, values, shown=shown, expectation=bound)

    def _lacking(self, values: list[Measurement]) -> tuple[str, Step | None]:
        """What was asked for and is missing, with the step that should have brought it."""
        steps = [
            step
            for step in self.evidence.open_steps(Check.COLLECTIVES)
            if self._here(step.context.fabric, step.context.rail)
            and self._who in self.evidence.subjects_of(step, Kind.SITE)
        ]
        if steps:
            return self.evidence.problems[steps[0].name], steps[0]
        if not values:
            return "no step measured it", None
        absent = sorted(self._nodes() - {node for one in values for node in one.context.nodes})
        if absent:
            return f"{', '.join(absent)} took no part", None
        return self._unselected(values), None

    def _nodes(self) -> set[str]:
        return {
            port.node
            for port in self.evidence.rails
            if self.evidence.site_of[port.node] == self.site and port.fabric == self.place.fabric
        }

    def _unselected(self, values: list[Measurement]) -> str:
        """Which expectation of this place has no value; empty where each has one."""
        rails = len({port.rail for port in self.evidence.run.rails if port.fabric == self.place.fabric})
        over = rails if self.place.rail is None else 1
        for one in self.evidence.expectations.expectations:
            key = one.key
            about = key.check == Check.COLLECTIVES and key.name == "busbw"
            here = key.fabric in (None, self.place.fabric) and key.rails in (None, over) and key.ranks is None
            fits = any(self.evidence.bounds.fits(key, value) and value.unit is one.unit for value in values)
            if about and here and not fits:
                size = f" of {key.size_bytes} bytes" if key.size_bytes else ""
                return f"nothing was measured of {key.collective or 'any collective'}{size}"
        return ""

    def _unmeasured(self, problem: str, step: Step | None) -> Judgement:
        ports, lost = self._faulty_ports(), step.lost if step else ()
        explained = ", ".join(ports or lost)
        value = Value.FAIL if ports else unmeasured_value(step)
        cause = f"collectives over {self.place} were not measured: {problem}"
        evidence = output_of(step) if step else ()
        return unmeasured(self._who, self._name, cause, evidence, value=value, explained_by=explained)

    def _faulty_ports(self) -> tuple[str, ...]:
        """Failed ports that collectives at this place cross."""
        return tuple(
            port
            for (fabric, rail), ports in sorted(self.faulty.items())
            for port in ports
            if fabric == self.place.fabric and self.place.rail in (None, rail)
        )
