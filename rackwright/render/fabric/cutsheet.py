"""The cut-sheet: a CSV with one line a cable, both ends with row, rack, unit, device and port."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from rackwright.plan.fabric.cables import Cable, End
from rackwright.plan.fabric.lengths import Spot
from rackwright.plan.racks import rack_name, rack_place
from rackwright.render.fabric.wires import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_END = ("row", "rack", "unit", "device", "port")
COLUMNS = (
    "plane",
    "from",
    "to",
    *(f"a_{name}" for name in _END),
    *(f"z_{name}" for name in _END),
    "rate_gbps",
    "length_m",
    "kind",
    "tails",
)


def write(cables: Iterable[Cable]) -> str:
    """The sheet, its header first; a field is empty where it is not known."""
    text = io.StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(COLUMNS)
    sheet.writerows(_row(cable) for cable in cables)
    return text.getvalue()


def _row(cable: Cable) -> tuple[object, ...]:
    return (
        cable.plane,
        *cable.roles,
        *_end(cable.a),
        *_end(cable.z),
        f"{cable.rate_gbps:g}",
        cable.length_m,
        cable.kind,
        cable.tails,
    )


def _end(end: End) -> tuple[object, ...]:
    if end.spot is None:
        return ("", "", "", end.device, end.port)
    row, place, unit = end.spot
    return (row, rack_name(row, place), unit, end.device, end.port)


def read(text: str, where: str) -> list[Cable]:
    """The cables of a sheet.

    Args:
        text: the sheet.
        where: its file, for errors only.

    Raises:
        FormUnreadable: another header, or a line with a number that is none.
    """
    lines = csv.DictReader(io.StringIO(text))
    if tuple(lines.fieldnames or ()) != COLUMNS:
        raise unreadable("cut-sheet", f"{where}:1", ",".join(lines.fieldnames or ()), ",".join(COLUMNS))
    return list(_cables(lines, where))


def _cables(lines: Iterable[Mapping[str, str]], where: str) -> Iterator[Cable]:
    for number, line in enumerate(lines, 2):
        try:
            yield Cable(
                plane=int(line["plane"]),
                roles=(line["from"], line["to"]),
                a=_read_end(line, "a"),
                z=_read_end(line, "z"),
                rate_gbps=float(line["rate_gbps"]),
                length_m=int(line["length_m"]) if line["length_m"] else None,
                kind=line["kind"],
                tails=int(line["tails"]),
            )
        except (TypeError, ValueError) as error:
            raise unreadable(
                "cut-sheet",
                f"{where}:{number}",
                str(error),
                "as many fields as the header, numbers where it says so",
            ) from None


def _read_end(line: Mapping[str, str], end: str) -> End:
    device, port, row = line[f"{end}_device"], line[f"{end}_port"], line[f"{end}_row"]
    if not row:
        return End(device, port, None)
    rack = line[f"{end}_rack"]
    spot = Spot(*rack_place(rack), int(line[f"{end}_unit"]))
    if spot.row != int(row) or rack != rack_name(*spot[:2]):
        msg = f"rack {rack} in row {row}"
        raise ValueError(msg)
    return End(device, port, spot)
