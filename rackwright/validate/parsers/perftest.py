"""Output of perftest (ib_write_bw, ib_read_lat, …), text or JSON: Gbit/s, or microseconds.

The unit is that of the head of the table; ``MB/sec`` of older versions means MiB (perftest 1d202bb). A JSON
document names none: the one by which bandwidth follows from the message rate is taken.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core.unreadable import object_of
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_BANDWIDTH = re.compile(
    r"#bytes +#iterations +BW peak\[(?P<unit>\S+)\] +BW average\[(?P<other>\S+)\] +MsgRate\[Mpps\]"
)
_LATENCY = re.compile(
    r"#bytes +#iterations +t_min\[usec\] +t_max\[usec\] +t_typical\[usec\] +t_avg\[usec\] +t_stdev\[usec\]"
    r" +99% percentile\[usec\] +99\.9% percentile\[usec\]"
)
_TITLE = re.compile(
    r"(?:RDMA_(Write|Read)|(Send)|(Atomic\S*)) (?:Bidirectional )?(?:Post List )?(BW|Latency) Test"
)
_DEVICE = re.compile(r"Device +: (\S+)")
_RULE = re.compile(r"-{20,}")
_BIT_A_SECOND = {"Gb/sec": 1e9, "MB/sec": 8 * 2**20, "MiB/sec": 8 * 2**20}
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_GBIT, _MILLION, _BITS = 1e9, 1e6, 8
_KEYS = {"MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate"}


@strict
def parse(text: str) -> Iterator[Reading]:
    """Average and peak bandwidth of each size, or its latencies."""
    if text.lstrip().startswith("{"):
        yield from _of_json(text)
        return
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    start = next((place for place, line in enumerate(lines) if line.startswith("#bytes")), None)
    if start is None:
        raise incomplete("no table")
    end = next((place for place in range(start, len(lines)) if _RULE.fullmatch(lines[place])), None)
    if end is None or not text.endswith("\n"):
        raise incomplete("the table has no end")
    if any(line.startswith("#bytes") for line in lines[end:]) or any(map(_is_row, lines[end:])):
        raise corrupt("more than one table")
    yield from _table(lines[start], lines[start + 1 : end], _about(lines[:start]))


def _is_row(line: str) -> bool:
    return len(line.split()) > 1 and all(map(_NUMBER.fullmatch, line.split()))


def _about(head: list[str]) -> dict[str, str | int | float]:
    title = [found for line in head if (found := _TITLE.fullmatch(line))]
    device = [found[1] for line in head if (found := _DEVICE.search(line))]
    if len(title) != 1 or len(set(device)) != 1:
        raise incomplete("the head does not name one test and one device")
    verb = next(word for word in title[0].groups() if word)
    return {"verb": verb.lower(), "device": device[0]}


def _table(head: str, rows: list[str], said: dict[str, str | int | float]) -> Iterator[Reading]:
    bandwidth = _BANDWIDTH.fullmatch(head)
    if bandwidth is None and not _LATENCY.fullmatch(head):
        raise corrupt(f"columns {head[:100]!r} are not known here")
    if not rows:
        raise incomplete("no row was measured")
    table = [_values(row) for row in rows]
    sizes = [values[0] for values in table if values]
    if sizes != sorted(set(sizes)) or not all(sizes):
        raise corrupt("sizes do not grow, from the least that can be sent")
    if len({later / earlier for earlier, later in pairwise(sizes)}) > 1:
        raise incomplete("sizes do not grow by one factor: a row is missing")
    for values in table:
        yield from _bandwidth(values, bandwidth, said) if bandwidth else _latency(values, said)


def _values(row: str) -> list[float]:
    words = row.split()
    if not all(map(_NUMBER.fullmatch, words)):
        raise corrupt(f"{row[:80]!r} is no row of the table")
    return [float(word) for word in words]


def _bandwidth(
    values: list[float], head: re.Match[str], said: dict[str, str | int | float]
) -> Iterator[Reading]:
    scale = _BIT_A_SECOND.get(head["unit"])
    if scale is None or head["unit"] != head["other"]:
        raise corrupt(f"unit {head['unit'][:20]} is none that is known here")
    if len(values) != 5:  # noqa: PLR2004 (columns of the table)
        raise corrupt(f"{len(values)} cells for 5 columns")
    size, iterations, peak, average, rate = values
    _check_rate(size, average * scale, rate)
    yield from _of_bandwidth(size, iterations, peak * scale, average * scale, said)


def _check_rate(size: float, bit_s: float, rate: float) -> None:
    if not size or not rate:
        raise incomplete("nothing was sent")
    slack = 0.01 + 5e-7 / rate
    agree(bit_s, rate * _MILLION * size * _BITS, f"bandwidth of {size:g} bytes", tolerance=slack)


def _of_bandwidth(
    size: float, iterations: float, peak: float, average: float, said: dict[str, str | int | float]
) -> Iterator[Reading]:
    if peak and peak < 0.99 * average:
        raise corrupt(f"peak of {size:g} bytes is below the average")
    context = Context(size_bytes=int(size), parameters={**said, "iterations": int(iterations)})
    yield Reading(name="bandwidth", value=average / _GBIT, unit=Unit.GBIT_S, context=context)


def _latency(values: list[float], said: dict[str, str | int | float]) -> Iterator[Reading]:
    if len(values) != 9:  # noqa: PLR2004 (columns of the table)
        raise corrupt(f"{len(values)} cells for 9 columns")
    size, iterations, least, most, typical, average, _, p99, p999 = values
    if not 0 < least <= typical <= p99 <= p999 <= most or not least <= average <= most:
        raise corrupt(f"latencies of {size:g} bytes are in no order")
    context = Context(size_bytes=int(size), parameters={**said, "iterations": int(iterations)})
    for name, value in (("latency", typical), ("latency_p99", p99)):
        yield Reading(name=name, value=value, unit=Unit.MICROSECONDS, context=context)


def _of_json(text: str) -> Iterator[Reading]:
    top = object_of(text, "document")
    info, results = top.get("test_info"), top.get("results")
    if not isinstance(info, dict) or not isinstance(results, dict):
        raise corrupt("test_info or results is missing")
    if not results.keys() >= _KEYS:
        raise incomplete("results lack " + ", ".join(sorted(_KEYS - results.keys())))
    size, iterations, peak, average, rate = (_value(results, name) for name in
        ("MsgSize", "n_iterations", "BW_peak", "BW_average", "MsgRate"))  # fmt: skip
    device, verb = info.get("Device"), info.get("test")
    if not isinstance(device, str) or not isinstance(verb, str):
        raise incomplete("test_info names no test and no device")
    scale = _scale(size, average, rate)
    said: dict[str, str | int | float] = {"verb": verb, "device": device}
    yield from _of_bandwidth(size, iterations, peak * scale, average * scale, said)


def _value(fields: dict[str, object], name: str) -> float:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:  # noqa: PLR2004
        raise corrupt(f"results: {name} is no number from 0 on")
    return float(value)


def _scale(size: float, average: float, rate: float) -> float:
    """Bit/s of the unit by which bandwidth follows from the message rate."""
    if not size or not rate:
        raise incomplete("nothing was sent")
    bit_s = rate * _MILLION * size * _BITS
    fitting = {scale for scale in _BIT_A_SECOND.values() if abs(average * scale - bit_s) <= 0.02 * bit_s}
    if len(fitting) != 1:
        raise corrupt("bandwidth follows from the message rate in no unit of perftest's")
    return fitting.pop()
