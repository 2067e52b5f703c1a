"""Import files of NetBox: devices and cables as CSV, in the columns of its bulk import.

Source: NetBox documentation, models DCIM device and cable (import forms ``side_a_*``, ``side_b_*``).
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, NamedTuple

from rackwright.plan.fabric.lengths import BREAKOUT
from rackwright.plan.fabric.links import MANAGER, NODE
from rackwright.plan.racks import rack_name
from rackwright.render.fabric.wires import Wire, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.plan.fabric.cables import Cable, End

FORM = "NetBox import file of cables"
INTERFACE = "dcim.interface"
CABLES = (
    "side_a_device",
    "side_a_type",
    "side_a_name",
    "side_b_device",
    "side_b_type",
    "side_b_name",
    "type",
    "status",
    "label",
    "length",
    "length_unit",
)
_ENDS = 6
"""Columns that say where a cable ends."""
DEVICES = ("name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face")
INTERFACES = ("device", "name", "type", "enabled")
TYPES = {
    "copper": "dac-passive",
    "multimode": "mmf",
    "singlemode": "smf",
    "singlemode-500m": "smf",
    "too-long": "smf",
    "": "",
}
"""Kind of a cable → choice of NetBox."""


def cables(found: Iterable[Cable]) -> str:
    """The import file of cables."""
    return _csv(CABLES, (_cable(cable) for cable in found))


def _cable(cable: Cable) -> tuple[object, ...]:
    label = f"{cable.a.device}:{cable.a.port}"
    length = ("", "") if cable.length_m is None else (cable.length_m, "m")
    ends = (side for end in (cable.a, cable.z) for side in (end.device, INTERFACE, end.port))
    return (*ends, TYPES[cable.kind.partition(BREAKOUT)[0]], "planned", label, *length)


class Built(NamedTuple):
    """One fabric: where it stands, what its switches are, and its cables."""

    site: str
    switch: tuple[str, str]
    """Maker and model; empty where nobody says."""
    cables: Iterable[Cable]


def devices(fabrics: Iterable[Built], nodes: Mapping[str, str]) -> str:
    """The import file of devices.

    Args:
        fabrics: whose cables end at them.
        nodes: name → model. Its maker is left to whoever imports it.
    """
    rows: dict[str, tuple[object, ...]] = {}
    for fabric in fabrics:
        for cable in fabric.cables:
            for role, end in zip(cable.roles, (cable.a, cable.z), strict=True):
                if end.device not in rows:
                    model = ("", nodes.get(end.device, "")) if role in {NODE, MANAGER} else fabric.switch
                    rows[end.device] = (end.device, role, *model, "planned", fabric.site, *_stands(end))
    return _csv(DEVICES, (row for _, row in sorted(rows.items())))


def _stands(end: End) -> tuple[object, ...]:
    return ("", "", "") if end.spot is None else (rack_name(*end.spot[:2]), end.spot.unit, "front")


def interfaces(found: Iterable[Cable], kind: str) -> str:
    """The import file of interfaces.

    Args:
        found: cables, which end in them.
        kind: choice of NetBox for all of them: ``infiniband-ndr``, ``other``.
    """
    ends = sorted({(end.device, end.port) for cable in found for end in (cable.a, cable.z)})
    return _csv(INTERFACES, ((*end, kind, "true") for end in ends))


def _csv(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    text = io.StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(header)
    sheet.writerows(rows)
    return text.getvalue()


def read(text: str, where: str) -> list[Wire]:
    """The cables of an import file, by their ends.

    Args:
        text: the file.
        where: its path, for errors only.

    Raises:
        FormUnreadable: columns or fields are missing, or a cable ends in something else than interfaces.
    """
    lines = csv.DictReader(io.StringIO(text))
    missing = set(CABLES[:_ENDS]) - set(lines.fieldnames or ())
    if missing:
        raise unreadable(FORM, f"{where}:1", f"no {', '.join(sorted(missing))}", ",".join(CABLES))
    return list(_wires(lines, where))


def _wires(lines: Iterable[Mapping[str, str]], where: str) -> Iterator[Wire]:
    for number, line in enumerate(lines, 2):
        for column in CABLES[:_ENDS]:
            expected = INTERFACE if column.endswith("_type") else ""
            if not line[column] or (expected and line[column] != expected):
                got = f"{column} {line[column] or 'empty'}"
                raise unreadable(FORM, f"{where}:{number}", got, expected or "a name")
        yield Wire(line["side_a_device"], line["side_a_name"], line["side_b_device"], line["side_b_name"])
