"""Measurements in, those of one node or one of its ports out, each with its title and subject."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rackwright.validate.model import Context, Measurement, Rail
from rackwright.verdict.matching import Bounds

_Varying = Mapping[str, frozenset[str]]
_PLACES = ("entity", "gpu", "device", "port", "link", "switch")
"""Parameters that say where on a node a value was read."""
_NUMBERED = frozenset({"gpu", "port", "link", "switch"})
"""Those of them whose value says nothing without its name."""
_OF_ONE_VALUE = frozenset(
    {
        "active",
        "at",
        "at_s",
        "boot",
        "category",
        "dcgm",
        "error_id",
        "reference",
        "severity",
        "text",
        "warning",
    }
)
"""Parameters that are said of a value, and make it no other quantity."""


@dataclass(frozen=True, slots=True)
class Alone:
    """One value."""

    title: str
    """What was measured, and with which parameters where there are several: ``memory: failures, stream``."""
    subject: str
    place: str
    """Where on it: ``gpu 5``, ``mlx5_1 port 1``; empty where that is all of it."""
    measurement: Measurement

    @property
    def where(self) -> str:
        """Subject and place."""
        return f"{self.subject} {self.place}".rstrip()


def rail_name(fabric: str, rail: int | None) -> str:
    """``compute rail 1``; ``compute, all rails``."""
    return f"{fabric or 'all fabrics'}, all rails" if rail is None else f"{fabric} rail {rail}".lstrip()


def alone(measurements: Iterable[Measurement], bounds: Bounds, ports: Iterable[Rail]) -> list[Alone]:
    """Measurements of nobody else's doing, in their order."""
    interfaces = {(port.node, port.fabric, port.rail): port.interface for port in ports}
    found = [
        Alone(
            _title(measurement, bounds),
            _subject(measurement.context, interfaces),
            _place(measurement.context),
            measurement,
        )
        for measurement in measurements
        if measurement.context.node and not measurement.context.peer and not measurement.context.collective
    ]
    varying = _varying(found)
    return [replace(one, title=one.title + _added(one, varying)) for one in found]


def _title(measurement: Measurement, bounds: Bounds) -> str:
    parts = (bounds.check(measurement), measurement.name.replace("_", " "))
    return ": ".join(part for part in parts if part)


def _subject(context: Context, interfaces: Mapping[tuple[str, str, int], str]) -> str:
    """As the verdict names it: ``node-002``, ``node-002/r1``."""
    node, fabric, rail = context.node or "", context.fabric or "", context.rail
    return node if rail is None else f"{node}/{interfaces.get((node, fabric, rail), rail_name(fabric, rail))}"


def _place(context: Context) -> str:
    said = context.parameters
    words = (
        f"{name} {said[name]}" if name in _NUMBERED else str(said[name]) for name in _PLACES if name in said
    )
    return " ".join(words)


def _parameters(measurement: Measurement) -> Mapping[str, str | int | float]:
    """All that may tell two measurements of one name apart, wherever they were read."""
    said = {
        name: value
        for name, value in measurement.context.parameters.items()
        if name not in _PLACES and name not in _OF_ONE_VALUE
    }
    return {**said, "pattern": measurement.context.pattern or ""}


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
