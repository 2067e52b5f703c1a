"""Output of the link check: one line of kind ``result``, of the host that asked.

host, target (the other host), latency_us (least round trip, 0 without any), path_mtu_bytes (largest packet
that came, 0 where none did), told_mtu_bytes (what a router said of a larger one, 0 where none did),
black_hole (a larger packet vanished and nobody said so).
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

SCHEMA = "rackwright/link/1"
_LARGEST = 65535
"""Packet of IPv4 (RFC 791 §3.1)."""


class Result(Model):
    """Of one way over a link."""

    kind: Literal["result"]
    host: Annotated[str, Field(min_length=1)]
    target: Annotated[str, Field(min_length=1)]
    latency_us: Annotated[float, Field(ge=0, lt=1e9)]
    path_mtu_bytes: Annotated[int, Field(ge=0, le=_LARGEST)]
    told_mtu_bytes: Annotated[int, Field(ge=0, le=_LARGEST)]
    black_hole: bool


@strict
def parse(text: str) -> Iterator[Reading]:
    """Round trip in microseconds, path MTU in bytes, and whether packets vanish."""
    lines = sealed(text, SCHEMA)
    if len(lines) != 1:
        raise corrupt(f"{len(lines)} lines, where one is told") if lines else incomplete("no line")
    result = fitting(Result, lines[0], "line 1")
    if (result.latency_us == 0) != (result.path_mtu_bytes == 0):
        raise corrupt("line 1: a packet came without a round trip, or a round trip without a packet")
    if result.black_hole and result.path_mtu_bytes == 0:
        raise corrupt("line 1: nothing came, and yet it is a black hole")
    context = Context(node=result.host, peer=result.target)
    if result.latency_us:
        yield Reading(name="latency", value=result.latency_us, unit=Unit.MICROSECONDS, context=context)
    yield Reading(name="path_mtu", value=result.path_mtu_bytes, unit=Unit.BYTES, context=context)
    yield Reading(name="black_hole", value=result.black_hole, unit=Unit.YES_NO, context=context)
