"""Output of ``iperf3 --json`` of the client: bandwidth that arrived, in each direction it sent.

Read from ``end.sum_received`` (and ``end.sum_received_bidir_reverse``): what a queue on the way still held
is not counted. Figures are taken only where streams, sums and intervals tell the same.
Forms: esnet/iperf, ``iperf_api.c`` (3.9 to 3.19); `test_start` says what was asked for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, TypeAlias

from pydantic import ConfigDict, Field, ValidationError

from rackwright.spec.base import Model
from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core.unreadable import object_of
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, misfit, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"iperf 3\.(\d+)(?:\.\d+)?\+?")
_MINORS = range(9, 20)
_BITS, _MBIT = 8, 1e6
_LEAST_SHARE = 0.9
"""Of the time asked for that a measurement must have lasted."""

Bytes = Annotated[int, Field(ge=0)]
Flag = Annotated[int, Field(ge=0, le=1)]


class _Part(Model):
    """A part of the document; what is not read here is left alone."""

    model_config = ConfigDict(extra="ignore")


class Sum(_Part):
    """Bytes over a time, over one or all streams."""

    seconds: Annotated[float, Field(gt=0, lt=86400)]
    bytes: Bytes
    bits_per_second: Annotated[float, Field(ge=0)]
    sender: bool


class Stream(_Part):
    """One stream at both its ends; its sums' ``sender`` says whether this host sent."""

    sender: Sum
    receiver: Sum


class End(_Part):
    """The results."""

    streams: Annotated[tuple[Stream, ...], Field(min_length=1)]
    sum_sent: Sum
    sum_received: Sum
    sum_sent_bidir_reverse: Sum | None = None
    sum_received_bidir_reverse: Sum | None = None


class Interval(_Part):
    """What this host saw in a part of the time; ``sum`` is what it sent, where it sent anything."""

    sum: Sum
    sum_bidir_reverse: Sum | None = None


class TestStart(_Part):
    """What was asked for."""

    protocol: str
    num_streams: Annotated[int, Field(ge=1)]
    omit: Annotated[int, Field(ge=0)]
    duration: Annotated[int, Field(ge=1)]
    reverse: Flag
    bidir: Flag


class Start(_Part):
    """The head of the document."""

    version: str
    test_start: TestStart


class Document(_Part):
    """All that is read."""

    start: Start
    intervals: Annotated[tuple[Interval, ...], Field(min_length=1)]
    end: End


Way: TypeAlias = tuple[str, Sum, Sum, bool]
"""Direction, what was sent and what arrived, and whether this host sent it."""


@strict
def parse(text: str) -> Iterator[Reading]:
    """Bandwidth of each direction, Mbit/s."""
    document = _document(text)
    asked = document.start.test_start
    if len(document.end.streams) != asked.num_streams * (1 + asked.bidir):
        raise incomplete(
            f"{len(document.end.streams)} streams, {asked.num_streams} were asked for a direction"
        )
    ways = list(_ways(document))
    for way in ways:
        _check(way, document)
    mode = "bidir" if asked.bidir else ways[0][0]
    for direction, _, arrived, _ in ways:
        yield Reading(
            name="bandwidth",
            value=arrived.bits_per_second / _MBIT,
            unit=Unit.MBIT_S,
            context=Context(
                direction=direction,
                parameters={
                    "mode": mode,
                    "protocol": asked.protocol,
                    "seconds": asked.duration,
                    "streams": asked.num_streams,
                },
            ),
        )


def _document(text: str) -> Document:
    fields = object_of(text, "document")
    if "error" in fields:
        raise not_run(f"iperf3: {fields['error']}")
    _check_version(fields)
    try:
        return Document.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise misfit(error, "document") from None


def _check_version(fields: dict[str, object]) -> None:
    start = fields.get("start")
    version = start.get("version") if isinstance(start, dict) else None
    known = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if known is None or int(known[1]) not in _MINORS:
        raise corrupt(f"version {version!r} of iperf3: none whose output is known here")


def _ways(document: Document) -> Iterator[Way]:
    asked, end = document.start.test_start, document.end
    if asked.bidir and asked.reverse:
        raise corrupt("both reverse and in both directions")
    yield "reverse" if asked.reverse else "forward", end.sum_sent, end.sum_received, not asked.reverse
    back = end.sum_sent_bidir_reverse, end.sum_received_bidir_reverse
    if asked.bidir:
        if back[0] is None or back[1] is None:
            raise incomplete("the sums of the reverse direction are missing")
        yield "reverse", back[0], back[1], False
    elif back != (None, None):
        raise corrupt("sums of a reverse direction that was not asked for")


def _check(way: Way, document: Document) -> None:
    direction, sent, arrived, ours = way
    _check_parts(direction, sent, arrived, ours=ours, document=document)
    for what, total in (("sent", sent), ("received", arrived)):
        agree(
            total.bits_per_second, total.bytes * _BITS / total.seconds, f"{direction}: bits per second {what}"
        )
        if total.seconds < document.start.test_start.duration * _LEAST_SHARE:
            raise incomplete(f"{direction}: {total.seconds:g} s of {document.start.test_start.duration}")
    if arrived.bytes > sent.bytes * 1.02:
        raise corrupt(f"{direction}: more bytes arrived than were sent")


def _check_parts(direction: str, sent: Sum, arrived: Sum, *, ours: bool, document: Document) -> None:
    """Streams and intervals add up to the sums."""
    streams = [stream for stream in document.end.streams if stream.sender.sender == ours]
    if {total.sender for total in (sent, arrived)} != {ours} or not streams:
        raise corrupt(f"{direction}: sums or streams of the other direction")
    agree(sent.bytes, sum(stream.sender.bytes for stream in streams), f"{direction}: bytes sent")
    agree(arrived.bytes, sum(stream.receiver.bytes for stream in streams), f"{direction}: bytes received")
    for stream in streams:
        if stream.receiver.sender != ours:
            raise corrupt(f"{direction}: a stream's two ends are of two directions")
    if not document.start.test_start.omit:
        _check_intervals(direction, sent if ours else arrived, ours=ours, document=document)


def _check_intervals(direction: str, seen: Sum, *, ours: bool, document: Document) -> None:
    sums = [total for one in document.intervals for total in (one.sum, one.sum_bidir_reverse) if total]
    agree(
        seen.bytes, sum(total.bytes for total in sums if total.sender == ours), f"{direction}: bytes in all"
    )
