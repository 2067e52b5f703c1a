"""The table of nccl-tests 2.0 to 2.19 and of rccl-tests; columns are taken by the names in its head.

What a launcher adds is taken off: ``0: `` (srun --label), ``[1,0]<stdout>:`` (mpirun --tag-output), lines
of NCCL's own log. Any other line that is not understood makes the output corrupt. Old versions print
``error`` in place of ``#wrong``: a deviation, whose judgement is the line ``Out of bounds values``; each row
that was checked then carries its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.validate.parsers.core.nccl import PROGRAMS, Device, Report, Row, Sweep, Timing, checked
from rackwright.validate.parsers.core.unreadable import corrupt, incomplete, not_run

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX = re.compile(r"^(?:\[\d+,\d+\](?:<std(?:out|err)>)?:[ ]?|[ ]*\d+:[ ])")
_LOG = re.compile(
    r"^\S+:\d+:\d+ (?:\[\d+\] )?NCCL (?:INFO|WARN|TRACE|VERSION|ERROR)\b|^(?:NCCL|RCCL) version \S+"
)
_BROKEN = re.compile(r"Test (?:NCCL|CUDA|HIP) failure|Invalid number of GPUs|NCCL failure")
_N = r"(\d{1,18})"
"""A whole number that can be one."""
_CONFIG = re.compile(
    rf"# ?nThread {_N} nGpus {_N} minBytes {_N} maxBytes {_N} step: {_N}\((factor|bytes)\)"
    rf" warmup iters: \d+ iters: {_N}(?: agg iters: \d+)?"
    rf" (?:validation|validate): {_N}(?: graph: \d+)?(?: unalign: \d+)?"
)
_DEVICE = re.compile(
    rf"# +Rank +{_N}(?: +Group +{_N})? +Pid +\d+ +on +(\S+) +device +{_N} +\[(?:0x)?[0-9a-fA-F:.]+\] +\S.*"
)
_START = re.compile(r"# Collective test starting: (\S+)")
_END = re.compile(r"# Collective test concluded: (\S+)")
_TITLE = re.compile(
    r"# +(?:(out-of-place)(?: \(\+ per-iteration\))?)?(?: +(in-place)(?: \(\+ per-iteration\))?)?"
)
_BOUNDS = re.compile(rf"# Out of bounds values : {_N} (OK|FAILED)")
_AVERAGE = re.compile(r"# Avg bus bandwidth +: ([0-9.e+-]+)(?: (OK|FAILED))?")
_REDUCED = re.compile(rf"# Reducing maxBytes to {_N} due to memory limitation")
_ERROR = re.compile(r"# error: (.+)")
_KNOWN = re.compile(
    r"#|# Using devices|# (?:nccl|rccl)-tests:? [Vv]ersion .*|# Blocking Enabled: .*"
    r"|# Per-Iteration Report: .*|# Parallel Init Enabled: .*|# GPU memory usage +: .*"
    r"|# Writing JSON output to .*|# skipping json output.*"
    r"|(?:nccl|rccl)-tests: [Vv]ersion .*"
)
_UNITS = {"time": "(us)", "cputime": "(us)", "algbw": "(GB/s)", "busbw": "(GB/s)"}
_TIMES = frozenset({"time", "cputime"})
_ITERATION = {"i_min": "(us)", "i_max": "(us)", "i_p99": "(us)", "i_cv%": "(%)"}
_WRONG = frozenset({"#wrong", "error"})
_LEADING = ("size", "count", "type", "redop", "root")
_NUMBER = re.compile(r"\d+(?:\.(\d+))?(?:e([+-]\d\d))?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_LONGEST = 4096
"""Characters of a line of the table."""


@dataclass
class _Block:
    """One program's lines, as they are met."""

    program: str | None = None
    config: re.Match[str] | None = None
    devices: list[Device] = field(default_factory=list)
    title: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    rows: list[str] = field(default_factory=list)
    bounds: re.Match[str] | None = None
    average: re.Match[str] | None = None
    reduced: int | None = None
    ended: bool = False


def read(text: str) -> tuple[Report, ...]:
    """All tests of an output, each complete and in agreement with itself.

    Raises:
        Unreadable: one of them is not, or a line belongs to none.
    """
    return read_lines(text.splitlines())


def read_lines(lines: Iterable[str]) -> tuple[Report, ...]:
    """As `read`, of lines without their ends; those of NCCL's log are not kept, however many they are."""
    blocks: list[_Block] = []
    for number, raw in enumerate(lines, 1):
        line = _PREFIX.sub("", raw).rstrip()
        if line and not _LOG.match(line):
            _take(line, number, blocks)
    if not blocks:
        raise incomplete("no test begins in it")
    reports = tuple(map(_report, blocks))
    seen = {(one.collective, size) for one in reports for size in one.sweep.sizes()}
    if len(seen) != sum(len(one.rows) for one in reports):
        raise corrupt("a collective and size stands twice: an older result, or each process ran its own test")
    return reports


def _take(line: str, number: int, blocks: list[_Block]) -> None:
    """One line into the block that it belongs to."""
    if _KNOWN.fullmatch(line):
        return
    if _BROKEN.search(line):
        raise not_run(f"line {number}: {line[:160]}")
    if (error := _ERROR.fullmatch(line)) is not None:
        raise incomplete(f"NCCL reports an error: {error[1][:160]}")
    if _begins(line, blocks):
        blocks.append(_Block())
    if not blocks or not (_take_head(line, blocks[-1]) or _take_body(line, blocks[-1])):
        raise corrupt(f"line {number} is not understood: {line[:80]!r}")


def _begins(line: str, blocks: list[_Block]) -> bool:
    if _START.fullmatch(line):
        return True
    return bool(_CONFIG.fullmatch(line)) and (not blocks or blocks[-1].config is not None)


def _take_head(line: str, block: _Block) -> bool:
    if (start := _START.fullmatch(line)) is not None:
        block.program = start[1]
    elif (config := _CONFIG.fullmatch(line)) is not None:
        block.config = config
    elif (device := _DEVICE.fullmatch(line)) is not None and not block.columns:
        if device[2] not in (None, "0"):
            raise corrupt("ranks are split into groups, each with a test of its own")
        block.devices.append(Device(int(device[1]), device[3], int(device[4])))
    elif (reduced := _REDUCED.fullmatch(line)) is not None:
        block.reduced = int(reduced[1])
    elif (title := _TITLE.fullmatch(line)) is not None and not block.title:
        block.title = tuple(name for name in title.groups() if name)
        return bool(block.title)
    else:
        return False
    return True


def _take_body(line: str, block: _Block) -> bool:
    if len(line) > _LONGEST:
        return False
    words = tuple(line.lstrip("#").split())
    if line.startswith("#") and words[:2] == _LEADING[:2] and not block.columns:
        block.columns = words
    elif line.startswith("#") and words[:2] == ("(B)", "(elements)") and not block.units:
        block.units = words
    elif (bounds := _BOUNDS.fullmatch(line)) is not None and block.bounds is None:
        block.bounds = bounds
    elif (average := _AVERAGE.fullmatch(line)) is not None and block.average is None:
        block.average = average
    elif (end := _END.fullmatch(line)) is not None and end[1] == block.program and not block.ended:
        block.ended = True
    elif block.units and block.bounds is None and words and words[0].isdigit() and not line.startswith("#"):
        block.rows.append(line)
    else:
        return False
    return True


def _report(block: _Block) -> Report:
    config = block.config
    if config is None or not block.columns or not block.units or not block.title:
        raise incomplete("the head of a test is missing")
    if block.bounds is None or block.average is None or (block.program and not block.ended):
        raise incomplete("a test has no end")
    bounds, average = block.bounds, block.average
    if (bounds[2] == "OK") != (bounds[1] == "0"):
        raise corrupt(f"{bounds[1]} values out of bounds, and {bounds[2]}")
    layout = _layout(block)
    out_of_bounds = int(bounds[1])
    rows = tuple(_row(line, layout, out_of_bounds) for line in block.rows)
    threads, gpus = int(config[1]), int(config[2])
    if sorted(device.rank for device in block.devices) != list(range(len(block.devices))):
        raise incomplete("ranks are missing among the devices")
    if not (threads and gpus and block.devices) or len(block.devices) % (threads * gpus):
        raise incomplete(f"{len(block.devices)} devices for {threads} threads of {gpus} devices")
    return checked(
        Report(
            collective=_named(block.program),
            ranks=len(block.devices),
            devices=tuple(block.devices),
            sweep=Sweep(
                int(config[3]), block.reduced or int(config[4]), int(config[5]), config[6] == "factor"
            ),
            rows=rows,
            out_of_bounds=out_of_bounds,
            average_gb_s=_number(average[1])[0],
            average_reached=None if average[2] is None else average[2] == "OK",
            checked=config[8] != "0",
        )
    )


def _named(program: str | None) -> str | None:
    if program is None:
        return None
    name = program.rsplit("/", 1)[-1]
    if name not in PROGRAMS:
        raise corrupt(f"{name[:40]!r} is no program that is known here")
    return PROGRAMS[name]


@dataclass(frozen=True)
class _Layout:
    """Names of the columns of a table."""

    leading: tuple[str, ...]
    half: tuple[str, ...]
    halves: tuple[str, ...]
    stamped: bool


def _layout(block: _Block) -> _Layout:
    first = next((place for place, name in enumerate(block.columns) if name in _TIMES), None)
    if first is None:
        raise corrupt("the table has no column of times")
    leading, rest = block.columns[:first], block.columns[first:]
    stamped = rest[-1] == "timestamp"
    rest = rest[:-1] if stamped else rest
    size, over = divmod(len(rest), len(block.title))
    half = rest[:size]
    if over or rest != half * len(block.title) or any(name not in _LEADING for name in leading):
        raise corrupt("the halves of the table have different columns")
    required = {"algbw", "busbw"}
    if not required <= set(half) or len(set(half)) != len(half) or not set(half) <= _COLUMNS:
        raise corrupt("the columns of the table are not known here")
    _check_units(block, half)
    return _Layout(leading, half, block.title, stamped)


_COLUMNS = frozenset({*_UNITS, *_ITERATION, *_WRONG})


def _check_units(block: _Block, half: tuple[str, ...]) -> None:
    named = {**_UNITS, **_ITERATION}
    wanted = ("(B)", "(elements)", *[named[name] for name in half if name in named] * len(block.title))
    if block.units[: len(wanted)] != wanted or any("(" in word for word in block.units[len(wanted) :]):
        raise corrupt(f"units {' '.join(block.units)}, expected {' '.join(wanted)}")


def _row(line: str, layout: _Layout, out_of_bounds: int) -> Row:
    words = line.split()
    if layout.stamped:
        if not _STAMP.fullmatch(" ".join(words[-2:])):
            raise corrupt(f"a row without its timestamp: {line[:80]!r}")
        words = words[:-2]
    lead, width = len(layout.leading), len(layout.half)
    if len(words) != lead + width * len(layout.halves):
        raise corrupt(f"a row of {len(words)} columns: {line[:80]!r}")
    named = dict(zip(layout.leading, words, strict=False))
    timings = {
        name: _timing(dict(zip(layout.half, words[lead + width * place :], strict=False)), out_of_bounds)
        for place, name in enumerate(layout.halves)
    }
    return Row(
        size_bytes=_integer(named["size"]),
        count=_integer(named["count"]),
        type=named.get("type", "float"),
        redop=named.get("redop", "none"),
        out_of_place=timings.get("out-of-place"),
        in_place=timings.get("in-place"),
    )


def _timing(cells: dict[str, str], out_of_bounds: int) -> Timing:
    time, error = _number(cells.get("time") or cells.get("cputime") or "")
    for name in _ITERATION.keys() & cells.keys():
        _number(cells[name])
    return Timing(
        time, _number(cells["algbw"])[0], _number(cells["busbw"])[0], _wrong(cells, out_of_bounds), error
    )


def _wrong(cells: dict[str, str], out_of_bounds: int) -> int | None:
    """Wrong elements; of a deviation only its form is looked at."""
    name = next((name for name in _WRONG if name in cells), None)
    if name is None or cells[name] == "N/A":
        return None
    value, _ = _number(cells[name])
    if name == "error":
        return out_of_bounds
    if value != int(value):
        raise corrupt(f"{cells[name]} wrong elements")
    return int(value)


def _integer(word: str) -> int:
    if not word.isdecimal() or len(word) > _DIGITS:
        raise corrupt(f"{word[:40]!r} is no number of bytes or elements")
    return int(word)


_DIGITS = 18


def _number(word: str) -> tuple[float, float]:
    """A number, and half of its last digit."""
    found = _NUMBER.fullmatch(word)
    if found is None or len(word) > _DIGITS:
        raise corrupt(f"{word[:40]!r} is no number of the table")
    return float(word), 0.5 * 10.0 ** (int(found[2] or 0) - len(found[1] or ""))
