"""Measurements in, those of one node or one of its ports out, each with its title and subject."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rackwright.validate.model import Context, Measurement, Rail
from rackwright.verdict.matching import Bounds

_Varying = Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Alone:
    """One value."""

    title: str
    """What was measured, and with which parameters where there are several: ``memory: failures, stream``."""
    subject: str
    measurement: Measurement


def rail_name(fabric: str, rail: int | None) -> str:
    """``compute rail 1``; ``compute, all rails``."""
    return f"{fabric or 'all fabrics'}, all rails" if rail is None else f"{fabric} rail {rail}".lstrip()


def alone(measurements: Iterable[Measurement], bounds: Bounds, ports: Iterable[Rail]) -> list[Alone]:
    """Measurements of nobody else's doing, in their order."""
    interfaces = {(port.node, port.fabric, port.rail): port.interface for port in ports}
    found = [
        Alone(_title(measurement, bounds), _subject(measurement.context, interfaces), measurement)
        for measurement in measurements
        if measurement.context.node and not measurement.context.peer and not measurement.context.collective
    ]
    varying = _varying(found)
    return [Alone(one.title + _added(one, varying), one.subject, one.measurement) for one in found]


def _title(measurement: Measurement, bounds: Bounds) -> str:
    parts = (bounds.check(measurement), measurement.name.replace("_", " "))
    return ": ".join(part for part in parts if part)


def _subject(context: Context, interfaces: Mapping[tuple[str, str, int], str]) -> str:
    """As the verdict names it: ``node-002``, ``node-002/r1``."""
    node, fabric, rail = context.node or "", context.fabric or "", context.rail
    return node if rail is None else f"{node}/{interfaces.get((node, fabric, rail), rail_name(fabric, rail))}"


def _parameters(measurement: Measurement) -> Mapping[str, str | int | float]:
    """All that may tell two measurements of one name apart."""
    return {**measurement.context.parameters, "pattern": measurement.context.pattern or ""}


def _varying(found: Iterable[Alone]) -> _Varying:
    """Title → parameters that have several values on one subject: those tell its measurements apart."""
    seen: defaultdict[tuple[str, str, str], set[str | int]] = defaultdict(set)
    for one in found:
        for name, value in _parameters(one.measurement).items():
            if not isinstance(value, float):
                seen[one.title, one.subject, name].add(value)
    names: defaultdict[str, set[str]] = defaultdict(set)
    for (title, _, name), values in seen.items():
        if len(values) > 1:
            names[title].add(name)
    return {title: frozenset(varied) for title, varied in names.items()}


def _added(one: Alone, varying: _Varying) -> str:
    parameters = _parameters(one.measurement)
    names = sorted(varying.get(one.title, frozenset()) & parameters.keys())
    return "".join(f", {name.replace('_', ' ')} {parameters[name]}" for name in names)
