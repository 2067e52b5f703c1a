"""Output of nvbandwidth, text or ``-j``: bandwidth of each copy between host and GPUs, or GPU and GPU, GB/s.

Each test ends with the sum of its matrix, which must be that of its cells. A test that was waived has
measured nothing and is said to be so.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, TypeAlias

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.core.unreadable import object_of
from rackwright.validate.parsers.unread import agree, corrupt, incomplete, not_run, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

Matrix: TypeAlias = list[list[float | None]]
"""Row by row; None where the tool has N/A."""

_NAME = re.compile(
    r"(?:multinode_)?(?:host|device|all|one)_(?:to_(?:host|device|all|one)|local|device)_(?:bidirectional_)?"
    r"(?:memcpy_|latency_)?(?:read_|write_)?(?:ce|sm|copy)"
)
_END = re.compile(r"Performance can vary with .*\.")
_RUNNING = re.compile(r"Running ([a-z0-9_]+)\.")
_SUM = re.compile(r"SUM ([a-z0-9_]+) (\d+\.\d+)")
_TITLE = re.compile(r"(.+) bandwidth \(GB/s\)")
_HEADS = re.compile(r" *\d+(?: +\d+)*")
_CELL = re.compile(r"\d+\.\d+|N/A")
_DEVICE = re.compile(r"Device (\d+): .+")
_FAILED = re.compile(r"(?:\[?ERROR\]?|CUDA_ERROR|No devices).*")
_NOTE = re.compile(r"NOTE: .*|Performance can vary .*|.*Version.*|Built from .*")


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
    seen: set[str] = set()
    for part in parts[1:]:
        name, matrix = _test(part.splitlines())
        if name in seen:
            raise corrupt(f"{name} stands twice")
        seen.add(name)
        yield from _readings(name, matrix, len(devices))


def _test(lines: list[str]) -> tuple[str, Matrix | None]:
    """One test's name and matrix; None for one that was waived."""
    found = _RUNNING.fullmatch(lines[0].rstrip())
    if found is None:
        raise corrupt(f"{lines[0][:80]!r} begins no test")
    name, body = found[1], [line.rstrip() for line in lines[1:] if line.strip()]
    if body and re.fullmatch(r"Waived: ?.*|WAIVED.*", body[0]):
        return name, None
    if len(body) < 3 or not _TITLE.fullmatch(body[0]):  # noqa: PLR2004 (title, head, sum)
        raise incomplete(f"{name} has no matrix in GB/s")
    end = next((place for place, line in enumerate(body) if _SUM.fullmatch(line)), None)
    if end is None:
        raise incomplete(f"{name} has no sum")
    for line in body[end + 1 :]:
        if not _NOTE.fullmatch(line):
            raise corrupt(f"{line[:80]!r} is not understood")
    return name, _checked(name, _matrix(name, body[1:end]), _SUM.fullmatch(body[end]))


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


def _checked(name: str, matrix: Matrix, found: re.Match[str] | None) -> Matrix:
    if found is None or found[1] != name:
        raise corrupt(f"{name} ends with the sum of another test")
    _agree(name, matrix, float(found[2]))
    return matrix


def _agree(name: str, matrix: Matrix, total: float) -> None:
    cells = [cell for row in matrix for cell in row if cell is not None]
    if not cells or not all(cell > 0 for cell in cells):
        raise incomplete(f"{name} measured nothing")
    agree(total, math.fsum(cells), f"sum of {name}", tolerance=0.001)


def _readings(name: str, matrix: Matrix | None, devices: int) -> Iterator[Reading]:
    if not _NAME.fullmatch(name):
        raise corrupt(f"{name[:60]!r} is no test that is known here")
    if matrix is None:
        yield Reading(name="waived", value=name, unit=Unit.WORD)
        return
    if any(len(row) != devices for row in matrix) or len(matrix) not in (1, devices):
        raise incomplete(f"{name}: a matrix of {len(matrix)} rows for {devices} devices")
    for row, cells in enumerate(matrix):
        for column, cell in enumerate(cells):
            if cell is not None:
                said = {"test": name, "row": row, "column": column}
                yield Reading(name="bandwidth", value=cell, unit=Unit.GB_S, context=Context(parameters=said))
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
    seen: set[str] = set()
    for case in cases:
        name, matrix = _case(case)
        if name in seen:
            raise corrupt(f"{name} stands twice")
        seen.add(name)
        yield from _readings(name, matrix, len(matrix[0]) if matrix else 0)


def _case(case: object) -> tuple[str, Matrix | None]:
    if not isinstance(case, dict) or not isinstance(case.get("name"), str):
        raise corrupt("a test without a name")
    name, status = str(case["name"]), case.get("status")
    if status == "Waived":
        return name, None
    if status != "Passed":
        raise incomplete(f"{name}: status {str(status)[:40]}")
    title = case.get("bandwidth_description")
    if title is not None and not (isinstance(title, str) and _TITLE.fullmatch(title)):
        raise corrupt(f"{name}: {str(title)[:60]!r} is not in GB/s")
    rows = case.get("bandwidth_matrix")
    if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows) or not rows:
        raise corrupt(f"{name} has no matrix")
    matrix: Matrix = [[_cell(name, cell) for cell in row] for row in rows]
    total = case.get("sum")
    if isinstance(total, bool) or not isinstance(total, (int, float)):
        raise incomplete(f"{name} has no sum")
    _agree(name, matrix, float(total))
    return name, matrix


def _cell(name: str, cell: object) -> float | None:
    if not isinstance(cell, str) or not _CELL.fullmatch(cell):
        raise corrupt(f"{name}: {str(cell)[:40]!r} is no cell of a matrix")
    return None if cell == "N/A" else float(cell)
