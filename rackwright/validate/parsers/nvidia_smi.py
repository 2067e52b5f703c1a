"""Output of ``nvidia-smi --query-gpu=index,count,… --format=csv``: state of each GPU.

``count`` must be asked for: without it nobody sees that a GPU is missing. Throttle reasons are called
event reasons since driver 535; both give ``event_reason``. What a GPU does not support is said so.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, not_run, refuse_long, strict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_MESSAGES = re.compile(
    r"No devices were found|NVIDIA-SMI has failed.*|Unable to determine the device handle .*"
    r"|Failed to initialize.*|Field \".+\" is not a valid field to query\."
)
_ABSENT = frozenset(
    {
        "N/A",
        "[N/A]",
        "[Not Supported]",
        "Requested functionality has been deprecated",
        "[Requested functionality has been deprecated]",
    }
)
_ERRORS = frozenset({"ERR!", "[Unknown Error]", "Unknown Error", "[GPU is lost]", "[GPU requires reset]"})
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?: (W|MiB|%|MHz))?")
_MASK = re.compile(r"0x[0-9a-fA-F]{16}")
_OLD = "clocks_throttle_reasons."
_NEW = "clocks_event_reasons."
_YES = {"Active": True, "Not Active": False, "Yes": True, "No": False}
_ECC = ("corrected.volatile", "corrected.aggregate", "uncorrected.volatile", "uncorrected.aggregate")
_COUNTS: Mapping[str, str] = {
    **{f"ecc.errors.{kind}.total": f"ecc_{kind.replace('.', '_')}" for kind in _ECC},
    "ecc.errors.uncorrected.aggregate.sram": "sram_uncorrected_aggregate",
    "remapped_rows.correctable": "rows_remapped_correctable",
    "remapped_rows.uncorrectable": "rows_remapped_uncorrectable",
    "pcie.link.gen.current": "pcie_generation",
    "pcie.link.gen.max": "pcie_generation_most",
    "pcie.link.width.current": "pcie_width",
    "pcie.link.width.max": "pcie_width_most",
    "temperature.gpu": "temperature",
}
_WORDS: Mapping[str, str] = {
    "remapped_rows.pending": "row_remap_pending",
    "remapped_rows.failure": "row_remap_failure",
    "gpu_recovery_action": "recovery_action",
}
_MEASURES: Mapping[str, tuple[str, Unit, str]] = {
    "power.draw": ("power_w", Unit.COUNT, "W"),
    "memory.total": ("memory_mib", Unit.COUNT, "MiB"),
    "utilization.gpu": ("utilization_percent", Unit.COUNT, "%"),
}
_RECOVERY = frozenset({"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset"})
_PLAIN = frozenset({"index", "count", "name", "uuid", "serial", "pci.bus_id", "driver_version", "timestamp"})
_HEAD = re.compile(r"([a-z_0-9.]+)(?: \[([A-Za-z%]+)\])?")


@strict
def parse(text: str) -> Iterator[Reading]:
    """All values of all GPUs, as many as there are."""
    body = body_of(text)
    if message := next((line for line in body.lines if _MESSAGES.fullmatch(line)), ""):
        raise not_run(message)
    table = _cells_of(body.lines)
    head = next(table, [])
    columns = [_column(cell) for cell in head]
    names = [name for name, _ in columns]
    if len(set(names)) != len(names) or not {"index", "count"} <= set(names):
        raise incomplete("index and count must be asked for, each once: else a missing GPU is not seen")
    gpus = [_cells(names, row, number) for number, row in enumerate(table, 2)]
    _complete(gpus)
    for gpu in gpus:
        whole = Context(parameters={"gpu": int(gpu["index"])})
        for name, unit in columns:
            if name not in _PLAIN:
                yield _reading(name, unit, gpu, whole)
    yield Reading(name="gpus", value=len(gpus), unit=Unit.COUNT)
    yield body.reading()


def _cells_of(lines: list[str]) -> Iterator[list[str]]:
    """Row by row: most of what is no table is not held."""
    refuse_long(lines)
    try:
        yield from csv.reader(lines, skipinitialspace=True)
    except csv.Error as error:
        raise corrupt(f"no table: {error}") from None


def _column(cell: str) -> tuple[str, str]:
    found = _HEAD.fullmatch(cell.strip())
    name = found[1] if found else ""
    name = name.replace(_OLD, _NEW, 1)
    known = name in {*_PLAIN, *_COUNTS, *_WORDS, *_MEASURES} or name.startswith(_NEW)
    if found is None or not known:
        raise corrupt(f"column {cell.strip()[:60]!r} is none that is known here")
    if (found[2] or "") != _MEASURES.get(name, ("", None, ""))[2]:
        raise corrupt(f"column {cell.strip()[:60]!r} has another unit than is known here")
    return name, found[2] or ""


def _cells(names: list[str], row: list[str], number: int) -> dict[str, str]:
    if len(row) != len(names):
        raise corrupt(f"line {number} has {len(row)} cells for {len(names)} columns")
    return dict(zip(names, (cell.strip() for cell in row), strict=True))


def _complete(gpus: list[dict[str, str]]) -> None:
    counts = {gpu["count"] for gpu in gpus}
    if counts != {str(len(gpus))}:
        raise incomplete(f"{len(gpus)} rows, and the driver counts {', '.join(sorted(counts)) or 'no'} GPUs")
    if [gpu["index"] for gpu in gpus] != [str(number) for number in range(len(gpus))]:
        raise corrupt("GPUs are not numbered from 0 on")
    uuids = [gpu["uuid"] for gpu in gpus if "uuid" in gpu]
    if len(set(uuids)) != len(uuids):
        raise corrupt("two GPUs have one UUID")


def _reading(name: str, unit: str, gpu: dict[str, str], whole: Context) -> Reading:
    cell, index = gpu[name], gpu["index"]
    if cell in _ERRORS:
        raise incomplete(f"GPU {index}: {name} is {cell}")
    reading, value, kind = _value(name, unit, cell, index)
    return Reading(name=reading, value=value, unit=kind, context=_of(name, whole))


def _of(name: str, whole: Context) -> Context:
    """What a value is about: the GPU, and for one reason of many its name."""
    if not name.startswith(_NEW):
        return whole
    return Context(parameters={**whole.parameters, "reason": name.removeprefix(_NEW)})


def _value(name: str, unit: str, cell: str, index: str) -> tuple[str, bool | int | float | str, Unit]:
    shown = (
        _COUNTS.get(name) or _WORDS.get(name) or (_MEASURES[name][0] if name in _MEASURES else "event_reason")
    )
    if cell in _ABSENT:
        return shown, "not supported", Unit.WORD
    if name == _NEW + "active":
        if not _MASK.fullmatch(cell):
            raise corrupt(f"GPU {index}: {cell[:40]!r} is no mask of reasons")
        return "event_reasons", int(cell, 16), Unit.COUNT
    if name == "gpu_recovery_action":
        if cell not in _RECOVERY:
            raise corrupt(f"GPU {index}: recovery action {cell[:40]!r} is none that is known here")
        return shown, cell, Unit.WORD
    if name in _WORDS or name.startswith(_NEW):
        if cell not in _YES:
            raise corrupt(f"GPU {index}: {name} is {cell[:40]!r}")
        return shown, _YES[cell], Unit.YES_NO
    return shown, _number(name, unit, cell, index), Unit.CELSIUS if name == "temperature.gpu" else Unit.COUNT


def _number(name: str, unit: str, cell: str, index: str) -> int | float:
    found = _NUMBER.fullmatch(cell)
    if found is None or (found[2] or unit) != unit:
        raise corrupt(f"GPU {index}: {name} is {cell[:40]!r}")
    return float(found[1]) if "." in found[1] else int(found[1])
