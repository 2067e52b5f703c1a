"""DH-CHAP keys of NVMe hosts: a CSV by reference in, the keys of each slot out.

The text is read when hosts are converged and is held nowhere else: not in a plan, a log or an error.
"""

from __future__ import annotations

import base64
import binascii
import csv
import re
import zlib
from dataclasses import dataclass, field

from rackwright.errors import EnvironmentUnfit

COLUMNS = ("slot", "host_key", "controller_key")
_FORM = re.compile(r"DHHC-1:0[0-3]:([A-Za-z0-9+/]+=*):")
_BYTES = (32, 48, 64)
_CRC = 4


@dataclass(frozen=True, slots=True)
class DhchapKeys:
    """Keys of one slot; its text shows none.

    Args:
        host: by which the host proves who it is.
        controller: by which the target does; empty where it need not.
    """

    host: str = field(repr=False)
    controller: str = field(repr=False, default="")


def parse(text: str, where: str) -> dict[str, DhchapKeys]:
    """Read the CSV; its first line names the columns ``slot,host_key,controller_key``.

    Args:
        text: the file's content.
        where: the reference it came from, for errors.

    Raises:
        EnvironmentUnfit: not that form, or no key; names the slot, never a value.
    """
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), strict=True) if row]
    except csv.Error:
        raise _malformed(where, "a broken quotation") from None
    if not rows or tuple(rows[0]) != COLUMNS:
        raise _malformed(where, "another first line")
    keys: dict[str, DhchapKeys] = {}
    for number, row in enumerate(rows[1:], start=1):
        if len(row) != len(COLUMNS):
            raise _malformed(where, f"{len(row)} fields in entry {number}")
        slot, host, controller = row
        if slot in keys:
            raise _malformed(where, f"slot {slot} twice")
        if not _is_key(host) or not (_is_key(controller) or not controller):
            raise _malformed(where, f"a key of {slot} that is none, or whose checksum is wrong")
        keys[slot] = DhchapKeys(host, controller)
    return keys


def _is_key(text: str) -> bool:
    """Whether a text is a key with a right checksum (NVM Express Base Specification, 8.13.5.8)."""
    match = _FORM.fullmatch(text)
    try:
        raw = base64.b64decode(match[1], validate=True) if match else b""
    except binascii.Error:
        return False
    key, checksum = raw[:-_CRC], raw[-_CRC:]
    return len(key) in _BYTES and zlib.crc32(key).to_bytes(_CRC, "little") == checksum


def _malformed(where: str, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the DH-CHAP keys are not understood",
        code="NVME012",
        where=where,
        got=got,
        expected=f"CSV whose first line is {','.join(COLUMNS)}, keys as `nvme gen-dhchap-key` prints them",
    )
