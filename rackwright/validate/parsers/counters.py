"""Counters of a host's ports, read twice: by how much each grew, and at what rate.

Lines of our own collector (roles/burn_in): of RDMA devices, EFA's among them, from
/sys/class/infiniband/*/ports/*/{counters,hw_counters}, of network interfaces, and of LNet. Two of kind
``sample`` a port, ``at_s`` by one clock that only goes forward; or, of a load that has just begun, one of
kind ``begun`` a host. A counter that became less was reset meanwhile, and one that stood at the most it can
count from the start tells nothing.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from pydantic import Field

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.lines import fitting, one_a_host, sealed, taken
from rackwright.validate.parsers.unread import corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SCHEMA = "rackwright/counters/1"
_TWICE = 2
Said: TypeAlias = dict[str, str | int | float]


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
    down_s: Annotated[float, Field(ge=0, lt=1e10)] | None = None
    """For how long the port had no link, in all; None where nobody watched it."""


class Begun(Model):
    """A host has kept its first samples."""

    kind: Literal["begun"]
    host: Annotated[str, Field(min_length=1)]
    ports: Annotated[int, Field(ge=1)]


_WIDTHS: Mapping[str, int] = {
    **dict.fromkeys(("local_link_integrity_errors", "excessive_buffer_overrun_errors"), 4),
    **dict.fromkeys(("link_error_recovery", "link_downed"), 8),
    **dict.fromkeys(("port_xmit_constraint_errors", "port_rcv_constraint_errors"), 8),
    **dict.fromkeys(("symbol_error", "port_rcv_errors", "port_rcv_remote_physical_errors"), 16),
    **dict.fromkeys(("port_rcv_switch_relay_errors", "port_xmit_discards", "VL15_dropped"), 16),
}
"""Bits of counters of InfiniBand ports that stop at their greatest value (IBTA, PortCounters; Linux,
drivers/infiniband/core/sysfs.c)."""


@strict
def parse(text: str) -> Iterator[Reading]:
    """Ports of each host; growth of each counter, and its rate in counts a second; seconds without a link."""
    lines = sealed(text, SCHEMA)
    if any(fields.get("kind") == "begun" for fields in lines):
        yield from _begun(lines)
        return
    samples = [fitting(Sample, fields, f"line {number}") for number, fields in taken(lines)]
    ports: dict[tuple[str, str, int], list[Sample]] = {}
    for sample in samples:
        ports.setdefault((sample.host, sample.device, sample.port), []).append(sample)
    _check_ports(samples, ports)
    for host, having in sorted(Counter(host for host, _, _ in ports).items()):
        yield Reading(name="ports", value=having, unit=Unit.COUNT, context=Context(node=host))
    for place, found in ports.items():
        yield from _growth(place, found)


def _begun(lines: list[dict[str, object]]) -> Iterator[Reading]:
    found = [fitting(Begun, fields, f"line {number}") for number, fields in enumerate(lines, 1)]
    one_a_host(one.host for one in found)
    for one in found:
        yield Reading(name="ports", value=one.ports, unit=Unit.COUNT, context=Context(node=one.host))


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
    about: Said = {"device": device, "port": port, "seconds": seconds}
    for name, count in first.values.items():
        grown = second.values[name] - count
        if grown < 0:
            raise incomplete(f"{what}: {name} was reset meanwhile")
        if count == 2 ** _WIDTHS.get(name, 64) - 1:
            raise incomplete(f"{what}: {name} stands at the most it can count, {count}")
        context = Context(node=host, parameters={**about, "counter": name})
        yield Reading(name="growth", value=grown, unit=Unit.COUNT, context=context)
        yield Reading(name="rate", value=grown / seconds, unit=Unit.OPS_S, context=context)
    yield from _down(what, Context(node=host, parameters=about), first, second)


def _down(what: str, context: Context, first: Sample, second: Sample) -> Iterator[Reading]:
    if first.down_s is None and second.down_s is None:
        return
    down = (second.down_s or 0) - (first.down_s or 0)
    if first.down_s is None or second.down_s is None or not 0 <= down <= second.at_s - first.at_s:
        raise corrupt(f"{what}: without a link for longer than it was looked at, or only once told")
    yield Reading(name="down", value=down, unit=Unit.SECONDS, context=context)
