"""Counters of a host's ports, read twice: by how much each grew, and at what rate.

Lines of our own collector, from /sys/class/infiniband/*/ports/*/{counters,hw_counters}: two of kind
``sample`` a port, ``at_s`` by one clock that only goes forward. A counter that became less was reset
meanwhile, and nothing is known of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.lines import fitting, sealed
from rackwright.validate.parsers.unread import corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA = "rackwright/counters/1"
_TWICE = 2


class Sample(Model):
    """All counters of a port at one time."""

    kind: Literal["sample"]
    host: Annotated[str, Field(min_length=1)]
    device: Annotated[str, Field(min_length=1)]
    port: Annotated[int, Field(ge=0, le=255)]
    at_s: Annotated[float, Field(ge=0, lt=1e10)]
    ports: Annotated[int, Field(ge=1)]
    """How many the host has."""
    values: Annotated[dict[str, Annotated[int, Field(ge=0, lt=2**64)]], Field(min_length=1)]


@strict
def parse(text: str) -> Iterator[Reading]:
    """Growth of each counter, and its rate in counts a second."""
    lines = sealed(text, SCHEMA)
    samples = [fitting(Sample, fields, f"line {number}") for number, fields in enumerate(lines, 1)]
    ports: dict[tuple[str, str, int], list[Sample]] = {}
    for sample in samples:
        ports.setdefault((sample.host, sample.device, sample.port), []).append(sample)
    _check_ports(samples, ports)
    for place, found in ports.items():
        yield from _growth(place, found)


def _check_ports(samples: list[Sample], ports: dict[tuple[str, str, int], list[Sample]]) -> None:
    for host in sorted({sample.host for sample in samples}):
        wanted = {sample.ports for sample in samples if sample.host == host}
        having = sum(1 for name, _, _ in ports if name == host)
        if wanted != {having}:
            raise incomplete(f"{host}: {having} ports were read, and it has {sorted(wanted)}")


def _growth(place: tuple[str, str, int], found: list[Sample]) -> Iterator[Reading]:
    host, device, port = place
    what = f"{host} {device} port {port}"
    if len(found) != _TWICE:
        raise incomplete(f"{what} was read {len(found)} times, not twice")
    first, second = found
    seconds = second.at_s - first.at_s
    if seconds <= 0 or first.values.keys() != second.values.keys():
        raise corrupt(f"{what}: the second sample is not of the same counters at a later time")
    for name, count in first.values.items():
        grown = second.values[name] - count
        if grown < 0:
            raise incomplete(f"{what}: {name} was reset meanwhile")
        said: dict[str, str | int | float] = {
            "device": device,
            "port": port,
            "counter": name,
            "seconds": seconds,
        }
        context = Context(node=host, parameters=said)
        yield Reading(name="growth", value=grown, unit=Unit.COUNT, context=context)
        yield Reading(name="rate", value=grown / seconds, unit=Unit.OPS_S, context=context)
