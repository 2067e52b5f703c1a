"""What a run of one program of nccl-tests or rccl-tests says, and whether it agrees with itself.

Bandwidths are GB/s, 10⁹ bytes a second, as these programs print them. Bus bandwidth follows from size
and time by a factor of the collective and the ranks (nccl-tests, doc/PERFORMANCE.md).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.validate.parsers.core.unreadable import corrupt, incomplete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_TOLERANCE = 0.02
_FACTOR_TOLERANCE = 0.001
"""Both bandwidths are printed from one time: what remains is rounding, and exponents."""
_ROUNDED = 0.0051
"""Half of the last digit of bandwidths, GB/s, and a little."""
_NS = 1e3
_LEAST_US = 1e-3
"""No collective takes less."""
_ALIGNMENT = 16
"""Bytes a rank to which some collectives cut a size."""
_SHARED: Callable[[int], float] = lambda ranks: (ranks - 1) / ranks  # noqa: E731 (named for the table)
_WHOLE: Callable[[int], float] = lambda _: 1.0  # noqa: E731 (as above)
FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": _SHARED,
    "reduce_scatter": _SHARED,
    "all_to_all": _SHARED,
    "gather": _SHARED,
    "scatter": _SHARED,
    "broadcast": _WHOLE,
    "reduce": _WHOLE,
    "send_recv": _WHOLE,
}
"""Collective → bus bandwidth / algorithm bandwidth, of the number of ranks."""
PROGRAMS: Mapping[str, str] = {
    "all_reduce_perf": "all_reduce",
    "all_gather_perf": "all_gather",
    "reduce_scatter_perf": "reduce_scatter",
    "alltoall_perf": "all_to_all",
    "gather_perf": "gather",
    "scatter_perf": "scatter",
    "broadcast_perf": "broadcast",
    "reduce_perf": "reduce",
    "sendrecv_perf": "send_recv",
}
_BYTES: Mapping[str, int] = {
    **dict.fromkeys(("char", "int8", "uint8", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("int", "int32", "uint32", "float"), 4),
    **dict.fromkeys(("int64", "uint64", "double"), 8),
}
_OPERATIONS = frozenset({"none", "sum", "prod", "max", "min", "avg", "mulsum"})
_REDUCING = frozenset({"all_reduce", "reduce_scatter", "reduce"})


@dataclass(frozen=True, slots=True)
class Device:
    """An accelerator that took part."""

    rank: int
    host: str
    device: int


@dataclass(frozen=True, slots=True)
class Timing:
    """One half of a row."""

    time_us: float
    algbw_gb_s: float
    busbw_gb_s: float
    wrong: int | None
    """Elements that are not what they should be; None where nobody looked."""
    time_error_us: float = 0.0
    """By how much the time may be off because it was rounded."""


@dataclass(frozen=True, slots=True)
class Row:
    """One size."""

    size_bytes: int
    count: int
    type: str
    redop: str
    """``none`` where nothing is reduced."""
    out_of_place: Timing | None
    in_place: Timing | None

    def timings(self) -> Iterator[tuple[str, Timing]]:
        """Halves that were measured, by name."""
        for name, timing in (("out_of_place", self.out_of_place), ("in_place", self.in_place)):
            if timing is not None:
                yield name, timing


@dataclass(frozen=True, slots=True)
class Sweep:
    """Sizes that were asked for."""

    from_bytes: int
    to_bytes: int
    step: int
    by_factor: bool

    def sizes(self) -> list[int]:
        """All of them."""
        if self.step < 1 + self.by_factor or not 0 < self.from_bytes <= self.to_bytes:
            raise corrupt("a sweep of sizes that has no end")
        found = [self.from_bytes]
        while len(found) < _MOST_SIZES:
            following = found[-1] * self.step if self.by_factor else found[-1] + self.step
            if following > self.to_bytes:
                return found
            found.append(following)
        raise corrupt(f"a sweep of more than {_MOST_SIZES} sizes")


_MOST_SIZES = 100_000


@dataclass(frozen=True, slots=True)
class Report:
    """One program's run."""

    collective: str | None
    """As in `FACTORS`; None where an old version does not say it and figures leave it open."""
    ranks: int
    devices: tuple[Device, ...]
    sweep: Sweep
    rows: tuple[Row, ...]
    out_of_bounds: int
    average_gb_s: float
    average_reached: bool | None
    """Whether the average is what was asked for; None where nothing was."""
    checked: bool
    """Whether results were to be compared with what they should be."""
    start_time: str | None = None
    """As printed, of the host's own clock; JSON only."""


def checked(report: Report) -> Report:
    """The same report, once its figures agree with one another.

    Raises:
        Unreadable: they do not, or a rank, size or row is missing.
    """
    _ranks(report)
    _sizes(report)
    collective = _collective(report)
    for row in report.rows:
        _row(row, report.ranks)
    _average(report)
    _wrong(report)
    return Report(**{**{name: getattr(report, name) for name in _FIELDS}, "collective": collective})


_FIELDS = Report.__slots__


def _ranks(report: Report) -> None:
    if report.ranks < 2:  # noqa: PLR2004 (one rank has nobody to talk to)
        raise incomplete("one rank alone: each process ran its own test (built without MPI?)")
    if len({(device.host, device.device) for device in report.devices}) != len(report.devices):
        raise corrupt("two ranks share a device")
    a_host = Counter(device.host for device in report.devices)
    if len(set(a_host.values())) > 1:
        raise incomplete(f"hosts have unequal numbers of ranks: {dict(sorted(a_host.items()))}")


def _sizes(report: Report) -> None:
    """Every size of the sweep once, in order; some are cut to what ranks can share."""
    wanted, rows = report.sweep.sizes(), report.rows
    if len(rows) != len(wanted):
        raise incomplete(f"{len(rows)} rows for the {len(wanted)} sizes that were asked for")
    for size, row in zip(wanted, rows, strict=True):
        slack = report.ranks * _ALIGNMENT * _width(row)
        if not size - slack < row.size_bytes <= size:
            raise corrupt(f"a row of {row.size_bytes} bytes where {size} were asked for")


def _width(row: Row) -> int:
    if row.type not in _BYTES:
        raise corrupt(f"type {row.type!r} is none that is known here")
    return _BYTES[row.type]


def _row(row: Row, ranks: int) -> None:
    what = f"the row of {row.size_bytes} bytes"
    if row.size_bytes not in {row.count * _width(row) * times for times in (1, ranks)}:
        raise corrupt(f"{what}: {row.count} elements of {row.type} are not of that size")
    for _, timing in row.timings():
        _same_size(row, timing, what)


def _same_size(row: Row, timing: Timing, what: str) -> None:
    if not timing.time_us > _LEAST_US:
        raise corrupt(f"{what} took no time")
    follows = row.size_bytes / timing.time_us / _NS
    rounding = follows * timing.time_error_us / timing.time_us
    if abs(timing.algbw_gb_s - follows) > _TOLERANCE * max(follows, timing.algbw_gb_s) + _ROUNDED + rounding:
        raise corrupt(f"{what}: algbw is {timing.algbw_gb_s:g}, but follows from its time as {follows:g}")


def _collective(report: Report) -> str | None:
    """What the program says it is; of one that says nothing what its factor alone allows."""
    redop = {row.redop for row in report.rows}
    if not redop <= _OPERATIONS:
        raise corrupt(f"operation {', '.join(sorted(redop - _OPERATIONS))[:40]} is none that is known here")
    fitting = [
        name for name in FACTORS if all(_has_factor(row, FACTORS[name](report.ranks)) for row in report.rows)
    ]
    if report.collective is not None:
        if report.collective not in fitting:
            raise corrupt(f"bus bandwidth does not follow from size and time by {report.collective}'s factor")
        if (redop == {"none"}) == (report.collective in _REDUCING):
            raise corrupt(f"{report.collective} with operation {', '.join(sorted(redop))}")
        return report.collective
    if not fitting:
        raise corrupt("bus bandwidth does not follow from size and time by any collective's factor")
    possible = [name for name in fitting if (name in _REDUCING) == (redop != {"none"})]
    return possible[0] if len(possible) == 1 else None


def _has_factor(row: Row, factor: float) -> bool:
    for _, timing in row.timings():
        follows = timing.algbw_gb_s * factor
        slack = _FACTOR_TOLERANCE * max(follows, timing.busbw_gb_s) + _ROUNDED * (1 + factor)
        if abs(timing.busbw_gb_s - follows) > slack:
            return False
    return True


def _average(report: Report) -> None:
    values = [timing.busbw_gb_s for row in report.rows for _, timing in row.timings()]
    if not values:
        raise incomplete("no row was measured")
    mean = sum(values) / len(values)
    if abs(mean - report.average_gb_s) > _TOLERANCE / 2 * max(mean, report.average_gb_s) + _ROUNDED:
        raise corrupt(f"the average bus bandwidth is {report.average_gb_s:g}, and that of the rows {mean:g}")


def _wrong(report: Report) -> None:
    known = [timing.wrong for row in report.rows for _, timing in row.timings() if timing.wrong is not None]
    if any(known) != bool(report.out_of_bounds):
        raise corrupt(f"{report.out_of_bounds} values out of bounds, and {sum(known)} in the rows")
    for name in ("out_of_place", "in_place"):
        halves = [half for row in report.rows if (half := getattr(row, name)) is not None]
        if len({half.wrong is None for half in halves}) > 1 or len(halves) not in (0, len(report.rows)):
            raise incomplete(f"{name} was measured or checked in some rows and not in others")
    if report.checked and not known:
        raise incomplete("results were to be checked, and no row says that they were")
