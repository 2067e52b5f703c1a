"""What a run brought, as criteria ask for it: who is judged, which values there are, what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.validate.model import Ended
from rackwright.verdict.judgement import Who
from rackwright.verdict.matching import Bounds
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.validate.expectations import Expectation, Expectations
    from rackwright.validate.model import Artefact, Measurement, Measurements, Rail, Run, Step

BETWEEN_NODES = frozenset({Check.PAIRS, Check.COLLECTIVES, Check.NCCL_TESTS, Check.NCCOM_TEST})
"""Checks in which the nodes of a job exchange data with each other, and with no others."""
_USABLE = frozenset({Ended.DONE, Ended.FAILED})


@dataclass(frozen=True)
class Evidence:
    """A run with what was read of it and what may be expected."""

    run: Run
    measurements: Measurements
    expectations: Expectations

    def views(self, check: str) -> tuple[Evidence, ...]:
        """The same, of the slots that a check was asked of; apart by job, where it has them exchange data.

        Each is made by a look at all slots, ports and steps: of jobs there are some, and not thousands.
        """
        asked = frozenset(self.asked).difference(self.run.not_declared.get(check, ()))
        groups = [asked & job for job in self.jobs] if check in BETWEEN_NODES else [asked]
        return tuple(self._view(group) for group in groups if group)

    @cached_property
    def jobs(self) -> tuple[frozenset[str], ...]:
        """Slots that were measured together: of one partition, and proven by the same checks."""
        excepted = {check: frozenset(names) for check, names in self.run.not_declared.items()}
        partition_of = {name: part for part, names in self.run.partitions.items() for name in names}
        found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        for name in self.asked:
            without = tuple(check for check in excepted if name in excepted[check])
            found.setdefault((partition_of.get(name, ""), without), []).append(name)
        return tuple(map(frozenset, found.values()))

    def _view(self, names: frozenset[str]) -> Evidence:
        if names.issuperset(self.asked):
            return self
        if names not in self._views:
            run = _only(self.run, names)
            steps = dict.fromkeys(step.name for step in run.steps)
            values = tuple(one for step in steps for one in self.by_step.get(step, ()))
            measured = self.measurements.model_copy(update={"measurements": values})
            self._views[names] = Evidence(run, measured, self.expectations)
        return self._views[names]

    @cached_property
    def _views(self) -> dict[frozenset[str], Evidence]:
        return {}

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """All slots that were asked for."""
        return tuple(sorted(node for nodes in self.run.sites.values() for node in nodes))

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Slots that are judged by measurements: neither held nor missing nor lost."""
        gone = {*self.run.held, *self.run.missing, *self.run.lost}
        return tuple(node for node in self.asked if node not in gone)

    @cached_property
    def rails(self) -> tuple[Rail, ...]:
        """Rail ports of these slots."""
        return tuple(rail for rail in self.run.rails if rail.node in self.judged)

    @cached_property
    def judged(self) -> frozenset[str]:
        """The same slots as `nodes`."""
        return frozenset(self.nodes)

    @cached_property
    def ports(self) -> Mapping[tuple[str | None, str | None, int | None], Rail]:
        """Node, fabric and rail → its port."""
        return {(port.node, port.fabric, port.rail): port for port in self.rails}

    @cached_property
    def ports_of(self) -> Mapping[str, tuple[Rail, ...]]:
        """Slot → its ports, where it is judged by measurements."""
        found: dict[str, list[Rail]] = {}
        for port in self.rails:
            found.setdefault(port.node, []).append(port)
        return {node: tuple(ports) for node, ports in found.items()}

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """Sites of these slots."""
        return tuple(sorted({self.site_of[node] for node in self.nodes}))

    @cached_property
    def pools(self) -> tuple[str, ...]:
        """Pools of which slots were asked for, where the run says."""
        asked = set(self.asked)
        return tuple(name for name, slots in self.run.pools.items() if not asked.isdisjoint(slots))

    @cached_property
    def site_of(self) -> Mapping[str, str]:
        """Slot → its site."""
        return {node: site for site, nodes in self.run.sites.items() for node in nodes}

    @cached_property
    def steps(self) -> Mapping[str, Step]:
        """Steps by name."""
        return {step.name: step for step in self.run.steps}

    @cached_property
    def bounds(self) -> Bounds:
        """Which expectation a measurement has."""
        return Bounds(self.run, self.expectations.expectations)

    @cached_property
    def problems(self) -> Mapping[str, str]:
        """Step → why nothing of its output is used."""
        unread = {one.step: f"{one.status}: {one.problem}" for one in self.measurements.unread}
        return {step.name: problem for step in self.run.steps if (problem := _problem(step, unread))}

    def select(self, check: str, name: str) -> list[Measurement]:
        """All values of a name that a check brought."""
        return [one for one in self._by_name.get(name, ()) if self.bounds.check(one) == check]

    def by_subject(self, check: str, name: str, kind: Kind) -> dict[Who, list[Measurement]]:
        """Subject of a kind → all values of a name that a check brought of it."""
        found: dict[Who, list[Measurement]] = {}
        for measurement in self.select(check, name):
            for subject in self.about(measurement, kind):
                found.setdefault(subject, []).append(measurement)
        return found

    @cached_property
    def _by_name(self) -> Mapping[str, list[Measurement]]:
        found: dict[str, list[Measurement]] = {}
        for measurement in self.measurements.measurements:
            found.setdefault(measurement.name, []).append(measurement)
        return found

    @cached_property
    def by_step(self) -> Mapping[str, list[Measurement]]:
        """Step → all values that it brought."""
        found: dict[str, list[Measurement]] = {}
        for measurement in self.measurements.measurements:
            found.setdefault(measurement.step, []).append(measurement)
        return found

    @cached_property
    def of_node(self) -> Mapping[str | None, list[Measurement]]:
        """Slot → values of it as a whole, on no rail."""
        found: dict[str | None, list[Measurement]] = {}
        for measurement in self.measurements.measurements:
            if measurement.context.rail is None:
                found.setdefault(measurement.context.node, []).append(measurement)
        return found

    def of_check(self, check: str) -> list[Step]:
        """Steps of a check."""
        return [step for step in self.run.steps if step.check == check]

    def open_steps(self, check: str) -> list[Step]:
        """Steps of a check that brought nothing, and that no later step made up for."""
        return self._open.get(check, [])

    @cached_property
    def _open(self) -> Mapping[str, list[Step]]:
        """Check → such steps of it."""
        found: dict[str, list[Step]] = {}
        for number, step in enumerate(self.run.steps):
            if step.name in self.problems and not self._made_up_for(number, step):
                found.setdefault(step.check, []).append(step)
        return found

    def _made_up_for(self, number: int, step: Step) -> bool:
        """Whether those of its nodes that are still judged were measured again, in the same way."""
        judged = set(step.nodes) & self.judged
        way = (step.check, *_aspect(step))
        later = self._good.get((min(judged, default=""), *way), ())
        return any(place > number and judged <= set(other.nodes) for place, other in later)

    @cached_property
    def _good(self) -> Mapping[tuple[object, ...], list[tuple[int, Step]]]:
        """Node, or nobody in particular, and in which way it was measured → steps that brought something."""
        found: dict[tuple[object, ...], list[tuple[int, Step]]] = {}
        for number, step in enumerate(self.run.steps):
            if step.name not in self.problems:
                for node in {"", *step.nodes}:
                    found.setdefault((node, step.check, *_aspect(step)), []).append((number, step))
        return found

    def subjects(self, kind: Kind) -> tuple[Who, ...]:
        """All subjects of a kind that are judged by measurements."""
        names = {
            Kind.SITE: self.sites,
            Kind.LINK: tuple(sorted(self.run.links)),
            Kind.NODE: self.nodes,
            Kind.RAIL: tuple(map(port_name, self.rails)),
        }
        return tuple(Who(kind, name) for name in names[kind])

    def subjects_of(self, step: Step, kind: Kind) -> tuple[Who, ...]:
        """Subjects of a kind that a step was about."""
        nodes = set(step.nodes) & self.judged
        fabric, rail = step.context.fabric, step.context.rail
        names = {
            Kind.SITE: sorted({self.site_of[node] for node in nodes}),
            Kind.LINK: [step.context.link] if step.context.link in self.run.links else [],
            Kind.NODE: sorted(nodes),
            Kind.RAIL: [
                port_name(port)
                for node in dict.fromkeys(step.nodes)
                for port in self.ports_of.get(node, ())
                if fabric in (None, port.fabric) and rail in (None, port.rail)
            ],
        }
        return tuple(Who(kind, name) for name in names[kind])

    def about(self, measurement: Measurement, kind: Kind) -> tuple[Who, ...]:
        """Subjects of a kind that a value is about; none where they are not judged."""
        context = measurement.context
        port = self.ports.get((context.node, context.fabric, context.rail))
        names = {
            Kind.SITE: sorted({self.site_of[node] for node in context.nodes if node in self.judged}),
            Kind.LINK: [context.link] if context.link in self.run.links else [],
            Kind.NODE: [context.node] if context.node and context.node in self.judged else [],
            Kind.RAIL: [port_name(port)] if port else [],
        }
        return tuple(Who(kind, name) for name in names[kind])

    def bound(self, measurement: Measurement) -> Expectation | None:
        """The expectation that a value has."""
        return self.bounds.of(measurement)


def _only(run: Run, names: frozenset[str]) -> Run:
    """What a run has of some of its slots; steps that are of nobody are all of theirs too."""
    sites = {site: tuple(name for name in slots if name in names) for site, slots in run.sites.items()}
    return run.model_copy(
        update={
            "sites": {site: slots for site, slots in sites.items() if slots},
            "rails": tuple(rail for rail in run.rails if rail.node in names),
            "steps": tuple(step for step in run.steps if not step.nodes or names.intersection(step.nodes)),
        }
    )


def port_name(rail: Rail) -> str:
    """``node-002/r1``."""
    return f"{rail.node}/{rail.interface}"


def output_of(step: Step) -> tuple[Artefact, ...]:
    """What a step printed."""
    return tuple(artefact for artefact in (step.stdout, step.stderr) if artefact is not None)


def unmeasured_value(step: Step | None) -> Value:
    """What a step that brought nothing means: not tried is NOT_RUN, tried in vain is ERROR."""
    return Value.NOT_RUN if step is not None and step.ended is Ended.NOT_RUN else Value.ERROR


def _aspect(step: Step) -> tuple[object, ...]:
    """What of its nodes a step was about; a repeat is no second try, whose name has ``/again-``."""
    context = step.context
    repeat = step.name.partition("/repeat-")[2].partition("/again-")[0]
    return step.tool, context.fabric, context.rail, context.direction, context.collective, repeat


def _problem(step: Step, unread: Mapping[str, str]) -> str:
    if step.ended not in _USABLE:
        return f"{step.ended}: {step.reason}" if step.reason else str(step.ended)
    if step.name in unread:
        return unread[step.name]
    return "no output was kept" if step.stdout is None else ""
