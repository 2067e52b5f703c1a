"""One asset file, CSV of what the factory delivers, in; an `AssetRow` for each slot out.

| column | holds |
|---|---|
| ``slot`` | ``node-001`` |
| ``serial`` | as the BMC reports it |
| ``bmc_address`` | IPv4 address that the BMC was given; empty for the planned one |
| ``bmc_mac``, ``boot_mac`` | six octets |
| ``hca_guids`` | port GUIDs of the InfiniBand adapters, in the order of rails, separated by ``;`` |
| ``state`` | ``maintenance`` for a host whose power nobody touches, else empty |
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from ipaddress import AddressValueError, IPv4Address
from typing import TYPE_CHECKING

from rackwright.findings import Finding, Place, SpecPath, did_you_mean
from rackwright.spec import faults
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = ("slot", "serial", "bmc_address", "bmc_mac", "boot_mac", "hca_guids", "state")
MAINTENANCE = "maintenance"
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_GUID = re.compile(r"[0-9a-f]{16}")
_OF_A_GROUP = 1
"""Bit of a MAC's first octet that no interface's own address has (IEEE 802)."""


class Asset(Model):
    """The machine behind a slot, as the factory delivered it."""

    serial: str
    bmc_mac: str
    boot_mac: str
    hca_guids: tuple[str, ...] = ()
    maintenance: bool = False
    """Held: nothing changes its power."""


@dataclass(frozen=True, slots=True)
class AssetRow:
    """One row of an asset file."""

    slot: str
    bmc_address: str
    """Empty where the row leaves it to the plan."""
    asset: Asset
    place: Place


@dataclass(slots=True)
class AssetFile:
    """What could be read of one file, and what could not."""

    path: Path
    at: SpecPath
    """Where the spec names the file."""
    rows: list[AssetRow] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def fault(  # noqa: PLR0913 (what a finding says, less the path that is always the same)
        self, code: str, message: str, place: Place, *, got: str, expected: str, hint: str = ""
    ) -> None:
        """Note a mistake."""
        self.findings.append(
            Finding(code, message, self.at, got=got, expected=expected, hint=hint, place=place)
        )


class _Bad(Exception):
    """A cell that does not have its column's form."""

    def __init__(self, column: str, got: str, expected: str, hint: str = "") -> None:
        super().__init__(column)
        self.column, self.got, self.expected, self.hint = column, got, expected, hint


def parse_assets(path: Path, text: str, at: SpecPath) -> AssetFile:
    """Read one asset file.

    Args:
        path: named in findings; nothing is opened.
        text: what the file holds.
        at: where the spec names the file.
    """
    file = AssetFile(path, at)
    lines = text.splitlines()
    cells = csv.reader(lines)
    header = [name.strip() for name in next(cells, [])]
    if _header_fits(file, header, lines):
        columns = [header.index(name) for name in COLUMNS]
        for row in cells:
            _add_row(file, [cell.strip() for cell in row], columns, (cells.line_num, lines))
        if not file.rows and not file.findings:
            file.fault(
                faults.ASSET_FILE,
                "the asset file has no rows",
                Place(path, 1, 1),
                got="a header and nothing below it",
                expected="one row for each slot that was delivered",
            )
    return file


def _header_fits(file: AssetFile, header: Sequence[str], lines: Sequence[str]) -> bool:
    first = Place(file.path, 1, 1)
    if not any(header):
        file.fault(
            faults.ASSET_FILE, "the asset file is empty", first, got="nothing", expected=",".join(COLUMNS)
        )
        return False
    if len(header) == 1 and re.search(r"[;\t]", header[0]):
        file.fault(
            faults.ASSET_COLUMN,
            "columns are separated by another character than a comma",
            first,
            got=lines[0][:60],
            expected=",".join(COLUMNS),
            hint="export it as CSV with commas",
        )
        return False
    if not set(header).intersection(COLUMNS):
        file.fault(
            faults.ASSET_COLUMN,
            "the first line names no column",
            first,
            got=lines[0][:60],
            expected=",".join(COLUMNS),
            hint="put that line first; rows come below it",
        )
        return False
    for index, name in enumerate(header):
        _check_column(file, header, index, name, Place(file.path, 1, _column(lines[0], index)))
    _check_missing(file, header, first)
    return not file.findings


def _check_missing(file: AssetFile, header: Sequence[str], place: Place) -> None:
    """Columns that are not there, but for those that a misspelt one stands for."""
    misspelt = {finding.hint for finding in file.findings}
    for name in COLUMNS:
        if name not in header and f"did you mean `{name}`?" not in misspelt:
            file.fault(
                faults.ASSET_COLUMN,
                f"column `{name}` is missing",
                place,
                got=",".join(header),
                expected=",".join(COLUMNS),
                hint=f"add `{name}`; where nothing is known of it, leave its cells empty",
            )


def _check_column(file: AssetFile, header: Sequence[str], index: int, name: str, place: Place) -> None:
    if name not in COLUMNS:
        missing = [column for column in COLUMNS if column not in header]
        file.fault(
            faults.ASSET_COLUMN,
            f"unknown column `{name}`",
            place,
            got=name,
            expected=", ".join(COLUMNS),
            hint=did_you_mean(name, missing),
        )
    elif name in header[:index]:
        file.fault(
            faults.ASSET_COLUMN,
            f"column `{name}` stands twice",
            place,
            got=f"a second `{name}`",
            expected=f"one; the first is column {header.index(name) + 1}",
        )


def _add_row(
    file: AssetFile, row: Sequence[str], columns: Sequence[int], source: tuple[int, Sequence[str]]
) -> None:
    number, lines = source
    if not any(row):
        return
    if len(row) <= max(columns) or len(row) > len(columns):
        file.fault(
            faults.ASSET_COLUMN,
            "a row with more or fewer cells than the header",
            Place(file.path, number, 1),
            got=f"{len(row)} cells",
            expected=f"{len(columns)}",
            hint="empty cells need their commas too",
        )
        return
    try:
        file.rows.append(_row([row[index] for index in columns], Place(file.path, number, 1)))
    except _Bad as bad:
        index = columns[COLUMNS.index(bad.column)]
        place = Place(file.path, number, _column(lines[number - 1], index))
        message = f"`{bad.column}` of {row[columns[0]] or 'a row without a slot'} is not right"
        file.fault(faults.ASSET_VALUE, message, place, got=bad.got, expected=bad.expected, hint=bad.hint)


def _row(cells: Sequence[str], place: Place) -> AssetRow:
    slot, serial, bmc_address, bmc_mac, boot_mac, hca_guids, state = cells
    asset = Asset(
        serial=_text("serial", serial),
        bmc_mac=_mac("bmc_mac", bmc_mac),
        boot_mac=_mac("boot_mac", boot_mac),
        hca_guids=tuple(_guid(guid.strip()) for guid in hca_guids.split(";") if guid.strip()),
        maintenance=_maintenance(state),
    )
    return AssetRow(_text("slot", slot), _address(bmc_address), asset, place)


def _text(column: str, cell: str) -> str:
    if cell and cell.isprintable():
        return cell
    got = "an unprintable character" if cell else "an empty cell"
    expected = "a slot's name: node-001" if column == "slot" else "the serial number that the BMC reports"
    raise _Bad(column, got, expected)


def _mac(column: str, cell: str) -> str:
    plain = cell.lower().replace("-", ":")
    if not _MAC.fullmatch(plain):
        octets = [octet for octet in plain.split(":") if octet]
        hint = f"it has {len(octets)} octets" if len(octets) not in {0, 1, 6} else ""
        raise _Bad(column, cell or "an empty cell", "six octets: 02:77:01:00:00:10", hint)
    if int(plain[:2], 16) & _OF_A_GROUP:
        raise _Bad(column, cell, "the address of one interface", "an odd first octet means a group")
    return plain


def _guid(cell: str) -> str:
    plain = cell.lower().removeprefix("0x").replace(":", "")
    if not _GUID.fullmatch(plain):
        raise _Bad(
            "hca_guids", cell, "16 hexadecimal digits: 0x0002c90300a1b2c0", "several are separated by `;`"
        )
    return f"0x{plain}"


def _address(cell: str) -> str:
    try:
        return str(IPv4Address(cell)) if cell else ""
    except AddressValueError:
        raise _Bad("bmc_address", cell, "an IPv4 address: 10.77.1.16") from None


def _maintenance(cell: str) -> bool:
    if cell in {"", MAINTENANCE}:
        return cell == MAINTENANCE
    raise _Bad("state", cell, f"`{MAINTENANCE}`, or nothing", did_you_mean(cell, [MAINTENANCE]))


def _column(line: str, index: int) -> int:
    """Column of a cell in its line, from 1; commas within quotes do not count."""
    starts = [0]
    quoted = False
    for position, character in enumerate(line):
        quoted ^= character == '"'
        if character == "," and not quoted:
            starts.append(position + 1)
    return starts[index] + 1 if index < len(starts) else 1
