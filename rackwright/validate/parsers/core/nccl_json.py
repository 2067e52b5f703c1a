"""What nccl-tests writes by ``-J``, schemas 1 to 3 (2.17.3 to 2.19).

Read leniently where versions differ: ``okay`` is a truth value or a text of one, the average's key was
misspelt at first, figures of single iterations stand in the half or beside it. The environment is never
given on: it may hold secrets. A name that is taken makes the program write elsewhere, so that a file
may be an older run's: `Report.start_time` tells.
"""

from __future__ import annotations

import re
from datetime import datetime

from rackwright.validate.parsers.core.nccl import PROGRAMS, Device, Report, Row, Sweep, Timing, checked
from rackwright.validate.parsers.core.unreadable import (
    Fields,
    a_count,
    a_list,
    a_text,
    an_amount,
    an_object,
    corrupt,
    incomplete,
    object_of,
)

SCHEMAS = (1, 2, 3)
_TRUTH = {True: True, False: False, "true": True, "false": False}
_AVERAGE = ("average_bus_bandwidth", "average_bus_bandwidith")
_BANDWIDTH = ("bandwidth", "bandwidith")
_TIMES = ("time", "cpu_time")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


def read(text: str) -> Report:
    """One program's run, complete and in agreement with itself.

    Raises:
        Unreadable: it is not.
    """
    top = object_of(text)
    version = top.get("version")
    if version not in SCHEMAS or isinstance(version, bool):
        raise corrupt(f"schema {version!r} of nccl-tests: none that is known here")
    if "end_time" not in top:
        raise incomplete("no end_time: the program did not finish")
    _time(top["end_time"], "end_time")
    errors = a_list(top.get("errors", []), "errors")
    if any(errors):
        raise incomplete(f"NCCL reports an error: {str(errors[0])[:160]}")
    return checked(_report(top))


def _report(top: Fields) -> Report:
    config = an_object(top.get("config"), "config")
    devices = _devices(a_list(top.get("devices", config.get("devices")), "devices"))
    threads = a_count(config.get("nthreads"), "config.nthreads", 1)
    gpus = a_count(config.get("ngpus"), "config.ngpus", 1)
    bounds = an_object(top.get("out_of_bounds"), "out_of_bounds")
    count = a_count(bounds.get("count"), "out_of_bounds.count")
    if _truth(bounds.get("okay"), "out_of_bounds.okay") == bool(count):
        raise corrupt(f"{count} values out of bounds, and okay says otherwise")
    average = an_object(_one_of(top, _AVERAGE, "top"), _AVERAGE[0])
    reached = average.get("okay")
    return Report(
        collective=_program(top),
        ranks=len(devices) * threads * gpus,
        devices=devices,
        sweep=_sweep(config),
        rows=tuple(_row(an_object(row, "results")) for row in a_list(top.get("results"), "results")),
        out_of_bounds=count,
        average_gb_s=an_amount(_one_of(average, _BANDWIDTH, _AVERAGE[0]), "average bandwidth"),
        average_reached=None if reached == "unchecked" else _truth(reached, f"{_AVERAGE[0]}.okay"),
        checked=bool(a_count(config.get("validation"), "config.validation")),
        start_time=_time(top.get("start_time"), "start_time"),
    )


def _time(value: object, what: str) -> str:
    """A time as it is printed, that can be one."""
    text = a_text(value, what)
    try:
        datetime.fromisoformat(text if _STAMP.fullmatch(text) else "")
    except ValueError:
        raise corrupt(f"{what} is no time") from None
    return text


def _program(top: Fields) -> str:
    args = a_list(top.get("args"), "args")
    name = a_text(args[0], "args.0").rsplit("/", 1)[-1] if args else ""
    if name not in PROGRAMS:
        raise corrupt(f"{name[:40]!r} is no program that is known here")
    return PROGRAMS[name]


def _one_of(fields: Fields, names: tuple[str, ...], what: str) -> object:
    found = [fields[name] for name in names if name in fields]
    if len(found) != 1:
        raise corrupt(f"{what}: {len(found)} of {', '.join(names)}")
    return found[0]


def _truth(value: object, what: str) -> bool:
    if not isinstance(value, (bool, str)) or value not in _TRUTH:
        raise corrupt(f"{what}: {str(value)[:40]!r} is no truth value")
    return _TRUTH[value]


def _devices(listed: list[object]) -> tuple[Device, ...]:
    """The first device of each process; ranks of more than one a process are not listed."""
    devices = []
    for number, one in enumerate(listed):
        fields, what = an_object(one, "devices"), f"devices.{number}"
        if a_count(fields.get("group"), f"{what}.group"):
            raise corrupt("ranks are split into groups, each with a test of its own")
        rank = a_count(fields.get("rank"), f"{what}.rank")
        host = a_text(fields.get("hostname"), f"{what}.hostname")
        devices.append(Device(rank, host, a_count(fields.get("device"), f"{what}.device")))
    ranks = [device.rank for device in devices]
    step = ranks[1] if len(ranks) > 1 else 1
    if ranks != [number * step for number in range(len(ranks))] or not ranks:
        raise incomplete("ranks are missing among the devices")
    return tuple(devices)


def _sweep(config: Fields) -> Sweep:
    by_factor = "step_factor" in config
    if by_factor == ("step_bytes" in config):
        raise corrupt("config: neither a factor nor a number of bytes, or both, to step by")
    name = "step_factor" if by_factor else "step_bytes"
    return Sweep(
        a_count(config.get("minimum_bytes"), "config.minimum_bytes", 1),
        a_count(config.get("maximum_bytes"), "config.maximum_bytes", 1),
        a_count(config[name], f"config.{name}", 1),
        by_factor,
    )


def _row(fields: Fields) -> Row:
    size = a_count(fields.get("size"), "size")
    root = a_text(fields.get("root"), "root").strip()
    if not root.lstrip("-").isdecimal():
        raise corrupt(f"root {root[:20]!r} of the row of {size} bytes")
    return Row(
        size_bytes=size,
        count=a_count(fields.get("count"), "count"),
        type=a_text(fields.get("type"), "type"),
        redop=a_text(fields.get("redop"), "redop"),
        out_of_place=_timing(fields, "out_of_place", size),
        in_place=_timing(fields, "in_place", size),
    )


def _timing(row: Fields, half: str, size: int) -> Timing | None:
    what = f"{half} of {size} bytes"
    if half not in row:
        raise corrupt(f"{what}: the key is missing")
    if row[half] is None:
        return None
    fields = an_object(row[half], what)
    wrong = an_amount(fields["nwrong"], f"{what}: nwrong") if fields.get("nwrong") is not None else None
    if (wrong is not None and wrong != int(wrong)) or "nwrong" not in fields:
        raise corrupt(f"{what}: nwrong")
    return Timing(
        an_amount(_one_of(fields, _TIMES, what), f"{what}: time"),
        an_amount(fields.get("alg_bw"), f"{what}: alg_bw"),
        an_amount(fields.get("bus_bw"), f"{what}: bus_bw"),
        None if wrong is None else int(wrong),
    )
