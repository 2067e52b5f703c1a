"""Output of nvbandwidth, text or ``-j``: bandwidth of each copy between host and GPUs, or GPU and GPU, GB/s.

Pointer chases tell latencies, in ns, and are given in µs. Each matrix ends with its sum, which must be that
of its cells; a copy in both ways has three of them, and the last is what the others add up to. A test that
was waived has measured nothing and is said to be so; the text does not say which it was, and how many is
not told on: lines that are alike may stand twice.

Source: NVIDIA/nvbandwidth 66746a3, output.cpp, json_output.cpp, testcases_ce.cpp, testcases_sm.cpp.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core.unreadable import object_of
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Matrix: TypeAlias = list[list[float | None]]
"""Row by row; None where the tool has N/A."""

_NAME = re.compile(
    r"(?:multinode_)?(?:host|device|all|one)_(?:to_(?:host|device|all|one)|local)_(?:bidirectional_)?"
    r"(?:memcpy_)?(?:read_|write_)?(?:ce|sm|copy)"
    r"|multinode_device_to_device_(?:all_to_one_write|all_from_one_read|broadcast_(?:one|all)_to_all)_sm"
    r"|multinode_bisect_write_ce"
)
_LATENCY = re.compile(r"(?:host_device|device_to_device)_latency_sm")
_BOTH_WAYS = re.compile(r"(?:multinode_)?device_to_device_bidirectional_memcpy_(read|write)_(?:ce|sm)")
_END = re.compile(r"Performance can vary with .*\.")
_RUNNING = re.compile(r"Running ([a-z0-9_]+)\.")
_WAIVED = re.compile(r"Waived: ?.*")
UNNAMED = "unnamed"
"""Stands for all tests that were waived without their names."""
_SUM = re.compile(r"SUM ([a-z0-9_]+) (\d+\.\d+)")
_TITLE = re.compile(r".+ bandwidth \(GB/s\)")
_TITLE_OF_LATENCY = re.compile(r"(?i:.+ latency ).*\(ns\)")
_HEADS = re.compile(r" *\d+(?: +\d+)*")
_CELL = re.compile(r"\d+\.\d+|N/A")
_CELL_OF_JSON = re.compile(r"\d+(?:\.\d+)?(?:e[+-]\d+)?|N/A")
"""Six digits, whatever they are: a C++ stream's own format."""
_DEVICE = re.compile(r"Device (\d+): .+")
_FAILED = re.compile(r"(?:\[?ERROR\]?|CUDA_ERROR|No devices).*")
_NOTE = re.compile(r"NOTE: .*|Performance can vary .*|.*Version.*|Built from .*")
_TWO_SUMS = 0.001
"""Cells are rounded, each for itself, and their sum is not the sum of what they were."""


@strict
def parse(text: str) -> Iterator[Reading]:
    """Each cell of each matrix, and each test that was waived."""
    return iter(list(_of_json(text) if text.lstrip().startswith("{") else _of_text(text)))


def _of_text(text: str) -> Iterator[Reading]:
    devices = [int(found[1]) for line in text.splitlines() if (found := _DEVICE.fullmatch(line.strip()))]
    if not devices or devices != list(range(len(devices))):
        raise incomplete("the devices are not listed from 0 on")
    parts = re.split(r"(?m)^(?=Running )", text)
    if (failed := next((line for line in text.splitlines() if _FAILED.match(line)), None)) is not None:
        raise not_run(failed[:160])
    last = text.rstrip().rpartition("\n")[2]
    if not _END.fullmatch(last) or any(_SUM.fullmatch(line.strip()) for line in parts[0].splitlines()):
        raise incomplete("a test has no beginning, or the output no end")
    waived = any(_WAIVED.fullmatch(line) for line in parts[0].splitlines())
    tests = [_begun([line.rstrip() for line in part.splitlines() if line.strip()]) for part in parts[1:]]
    _once(name for name, _ in tests)
    for name, body in tests:
        sums = [place for place, line in enumerate(body) if _SUM.fullmatch(line)]
        yield from _of_matrices(name, _matrices(name, body, sums), len(devices))
        for line in body[sums[-1] + 1 :]:
            waived = waived or bool(_WAIVED.fullmatch(line))
            if not (_WAIVED.fullmatch(line) or _NOTE.fullmatch(line)):
                raise corrupt(f"{line[:80]!r} is not understood")
    if waived:
        yield Reading(name="waived", value=UNNAMED, unit=Unit.WORD)


def _once(names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise corrupt(f"{name} stands twice")
        seen.add(name)


def _begun(lines: list[str]) -> tuple[str, list[str]]:
    """The name of a test, and what follows."""
    found = _RUNNING.fullmatch(lines[0])
    if found is None:
        raise corrupt(f"{lines[0][:80]!r} begins no test")
    return found[1], lines[1:]


def _known(name: str) -> str:
    if not _NAME.fullmatch(name) and not _LATENCY.fullmatch(name):
        raise corrupt(f"{name[:60]!r} is no test that is known here")
    return name


def _matrices(name: str, body: list[str], sums: list[int]) -> dict[str, Matrix]:
    """What each sum of a test is of, by the name it has there."""
    if not sums:
        raise incomplete(f"{name} has no sum")
    found: dict[str, Matrix] = {}
    for begin, end in zip([0, *(place + 1 for place in sums)], sums, strict=False):
        if end - begin < 2 or not _fits(name, body[begin]):  # noqa: PLR2004 (title, head)
            raise incomplete(f"{name} has no matrix in {'ns' if _LATENCY.fullmatch(name) else 'GB/s'}")
        key, _, total = body[end].removeprefix("SUM ").partition(" ")
        if key in found:
            raise corrupt(f"{key} stands twice")
        found[key] = _matrix(name, body[begin + 1 : end])
        _agree(key, found[key], float(total))
    return found


def _fits(name: str, title: str) -> bool:
    """Whether a title has the unit of what a test measures."""
    return (_TITLE_OF_LATENCY if _LATENCY.fullmatch(name) else _TITLE).fullmatch(title.rstrip()) is not None


def _matrix(name: str, lines: list[str]) -> Matrix:
    if not _HEADS.fullmatch(lines[0]):
        raise corrupt(f"{name}: the matrix has no head")
    heads = lines[0].split()
    matrix: Matrix = []
    for number, line in enumerate(lines[1:]):
        first, *cells = line.split()
        if first != str(number) or len(cells) != len(heads) or not all(map(_CELL.fullmatch, cells)):
            raise corrupt(f"{name}: {line[:80]!r} is no row of the matrix")
        matrix.append([None if cell == "N/A" else float(cell) for cell in cells])
    if heads != [str(number) for number in range(len(heads))]:
        raise corrupt(f"{name}: columns are not numbered from 0 on")
    return matrix


def _agree(name: str, matrix: Matrix, total: float) -> None:
    cells = [cell for row in matrix for cell in row if cell is not None]
    if not cells or not all(cell > 0 for cell in cells):
        raise incomplete(f"{name} measured nothing")
    agree(total, math.fsum(cells), f"sum of {name}", tolerance=_TWO_SUMS)


def _of_matrices(name: str, matrices: dict[str, Matrix], devices: int) -> Iterator[Reading]:
    """Readings of all matrices of a test, which has one, or those of both ways and their sum."""
    wanted = {_known(name)}
    if len(matrices) > 1 and (both := _BOTH_WAYS.fullmatch(name)):
        wanted = {f"{name}_{part}" for part in (f"{both[1]}1", f"{both[1]}2", "total")}
    if matrices.keys() != wanted:
        raise corrupt(f"{name} ends with the sum of another test")
    for key, matrix in matrices.items():
        yield from _readings(name, key, matrix, devices)
    if len(matrices) > 1:
        *ways, whole = (math.fsum(cell or 0.0 for row in one for cell in row) for one in matrices.values())
        agree(whole, math.fsum(ways), f"sum of {name}", tolerance=_TWO_SUMS)


def _readings(name: str, key: str, matrix: Matrix, devices: int) -> Iterator[Reading]:
    if any(len(row) != devices for row in matrix) or len(matrix) not in (1, devices):
        raise incomplete(f"{name}: a matrix of {len(matrix)} rows for {devices} devices")
    chase = _LATENCY.fullmatch(name)
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells):
            if cell is not None:
                about = Context(parameters={"test": key, "row": row, "column": column})
                value, unit = (cell / 1000, Unit.MICROSECONDS) if chase else (cell, Unit.GB_S)
                yield Reading(name="latency" if chase else "bandwidth", value=value, unit=unit, context=about)
        if len(matrix) > 1 and any((cell is None) != (row == place) for place, cell in enumerate(cells)):
            raise incomplete(f"{name}: a pair of GPUs was not measured")


def _of_json(text: str) -> Iterator[Reading]:
    top = object_of(text, "document").get("nvbandwidth")
    cases = top.get("testcases") if isinstance(top, dict) else None
    if not isinstance(top, dict) or not isinstance(cases, list) or top.get("error"):
        raise (
            not_run(str(top.get("error"))[:160])
            if isinstance(top, dict) and top.get("error")
            else corrupt("no document of nvbandwidth")
        )
    tests = [_case(case) for case in cases]
    _once(name for name, _ in tests)
    for name, matrices in tests:
        if not matrices:
            yield Reading(name="waived", value=_known(name), unit=Unit.WORD)
            continue
        *_, last = matrices.values()
        yield from _of_matrices(name, matrices, len(last[0]))


def _case(case: object) -> tuple[str, dict[str, Matrix]]:
    """A test's name and matrices; none of one that was waived."""
    if not isinstance(case, dict) or not isinstance(case.get("name"), str):
        raise corrupt("a test without a name")
    name, status = str(case["name"]), case.get("status")
    if status == "Waived":
        return name, {}
    if status != "Passed":
        raise incomplete(f"{name}: status {str(status)[:40]}")
    title = case.get("bandwidth_description")
    if not isinstance(title, str) or not _fits(name, title):
        raise corrupt(f"{name}: {str(title)[:60]!r} is not in {'ns' if _LATENCY.fullmatch(name) else 'GB/s'}")
    rows = case.get("bandwidth_matrix")
    if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows) or not rows:
        raise corrupt(f"{name} has no matrix")
    matrices = _apart(name, [[_cell(name, cell) for cell in row] for row in rows])
    total = case.get("sum")
    if isinstance(total, bool) or not isinstance(total, (int, float)):
        raise incomplete(f"{name} has no sum")
    *_, (key, last) = matrices.items()
    _agree(key, last, float(total))  # a sum is that of the last
    return name, matrices


def _apart(name: str, rows: Matrix) -> dict[str, Matrix]:
    """Matrices of a test in JSON, where those of both ways and their sum stand in one."""
    each, both = len(rows[0]), _BOTH_WAYS.fullmatch(name)
    if both is None or len(rows) == each:
        return {name: rows}
    parts = (f"{name}_{both[1]}1", f"{name}_{both[1]}2", f"{name}_total")
    if len(rows) != each * len(parts):
        raise incomplete(f"{name}: {len(rows)} rows of {each} columns")
    return {part: rows[place * each : (place + 1) * each] for place, part in enumerate(parts)}


def _cell(name: str, cell: object) -> float | None:
    if not isinstance(cell, str) or not _CELL_OF_JSON.fullmatch(cell):
        raise corrupt(f"{name}: {str(cell)[:40]!r} is no cell of a matrix")
    return None if cell == "N/A" else float(cell)
