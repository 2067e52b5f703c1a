"""``ibdiagnet2.db_csv``: its tables of warnings and errors, and port counters.

The file begins with an index of its tables: name, offset and size in bytes, line and number of rows. A
table that the index names and that is not there, or has another number of rows, makes it incomplete.
"""

from __future__ import annotations

import csv
import re
import sys
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = re.compile(r"(START|END)_([A-Z0-9_]+)")
_INDEX = "INDEX_TABLE"
_FINDINGS = re.compile(r"(?:WARNINGS|ERRORS)_.+")
_COUNTERS = "PM_INFO"
_PORT = ("NodeGUID", "PortGUID", "PortNumber")
_LOOKED_AT = (
    "LinkDownedCounter",
    "LinkErrorRecoveryCounter",
    "SymbolErrorCounter",
    "PortRcvErrors",
    "LocalLinkIntegrityErrors",
    "ExcessiveBufferOverrunErrors",
)
_NUMBER = re.compile(r"\d+|0x[0-9a-fA-F]+")
_GUID = re.compile(r"0x[0-9a-f]{16}")


@strict
def parse(text: str) -> Iterator[Reading]:
    """Rows of each table of findings, and the counters of each port."""
    body = body_of(text)
    tables = _tables(body.lines)
    _check_index(tables)
    for name, rows in tables.items():
        if _FINDINGS.fullmatch(name):
            context = Context(parameters={"table": name})
            yield Reading(name="findings", value=len(rows) - 1, unit=Unit.COUNT, context=context)
    yield from _counters(tables.get(_COUNTERS))
    yield body.reading()


def _tables(lines: list[str]) -> dict[str, list[list[str]]]:
    """Name → head and rows, each as long as the head."""
    tables: dict[str, list[list[str]]] = {}
    name = ""
    for number, line in enumerate(lines, 1):
        mark = _MARK.fullmatch(line.strip())
        if mark is not None:
            if (
                (mark[1] == "START") == bool(name)
                or (name and mark[2] != name)
                or (not name and mark[2] in tables)
            ):
                raise corrupt(f"line {number}: {line[:60]!r} out of place")
            name = mark[2] if mark[1] == "START" else ""
            if name:
                tables[name] = []
        elif name:
            tables[name].append(_cells(line, number))
        elif line.strip() and not line.startswith("#"):
            raise corrupt(f"line {number} is in no table: {line[:60]!r}")
    if name:
        raise incomplete(f"the table {name} has no end")
    for table, rows in tables.items():
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            raise corrupt(f"the table {table} has rows that are not as long as its head")
    return tables


def _cells(line: str, number: int) -> list[str]:
    try:
        return [sys.intern(cell.strip()) for cell in next(csv.reader([line], skipinitialspace=True))]
    except (csv.Error, StopIteration):
        raise corrupt(f"line {number} is no row: {line[:60]!r}") from None


def _check_index(tables: dict[str, list[list[str]]]) -> None:
    index = tables.pop(_INDEX, None)
    if index is None or not {"Name", "Rows"} <= set(index[0]):
        raise incomplete("no index of tables")
    place = {name: number for number, name in enumerate(index[0])}
    said = {row[place["Name"]]: row[place["Rows"]] for row in index[1:]}
    if len(said) != len(index) - 1 or not all(rows.isdecimal() and len(rows) < 12 for rows in said.values()):  # noqa: PLR2004
        raise corrupt("the index of tables is not understood")
    for name in sorted(said.keys() ^ tables.keys()):
        raise incomplete(f"the table {name} is in the index or in the file, and not in both")
    for name, rows in said.items():
        if len(tables[name]) - 1 != int(rows):
            raise incomplete(f"the table {name} has {len(tables[name]) - 1} rows, and {rows} by the index")


def _counters(table: list[list[str]] | None) -> Iterator[Reading]:
    if table is None:
        return
    head, *rows = table
    if not set(_PORT) <= set(head):
        raise corrupt(f"{_COUNTERS} does not name its ports")
    seen = set[tuple[str, ...]]()
    for row in rows:
        cells = dict(zip(head, row, strict=True))
        port = tuple(cells[name] for name in _PORT)
        if port in seen or not _GUID.fullmatch(port[1]) or not port[2].isdecimal():
            raise corrupt(f"{_COUNTERS}: port {' '.join(port)[:60]} stands twice or is none")
        seen.add(port)
        context = Context(parameters={"device": port[1], "port": int(port[2])})
        for name in _LOOKED_AT:
            if name in cells:
                yield Reading(name=name, value=_count(name, cells[name]), unit=Unit.COUNT, context=context)


def _count(name: str, cell: str) -> int:
    if not _NUMBER.fullmatch(cell) or len(cell) > 20:  # noqa: PLR2004 (2**64 has as many digits)
        raise corrupt(f"{name} is {cell[:40]!r}")
    return int(cell, 0) if cell.startswith("0x") else int(cell)
