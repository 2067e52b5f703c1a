"""The text of ``iblinkinfo --line``: one line a port, with both ends and what the link came up with.

A line does not say whether an end is a switch; the plan does for the names it knows, and beyond them
what has more than two ports is one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from rackwright.render.fabric.network import Device, Link, Network, Plug
from rackwright.render.fabric.wires import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable

FORM = "output of `iblinkinfo --line`"
_LINE = re.compile(
    r'0x(?P<guid>[0-9a-f]+)\s+"\s*(?P<name>.*?)\s*"\s+\d+\s+(?P<port>\d+)\[.*?\]\s*'
    r"==\(\s*(?:(?P<width>\d+)X\s+(?P<gbps>[0-9.]+) Gbps)?\s*(?P<state>[^)]*)\)==>"
    r'\s*(?:0x(?P<peer>[0-9a-f]+)\s+\d+\s+(?P<peer_port>\d+))?\[.*?\]\s*"\s*(?P<peer_name>.*?)\s*".*'
)
LANES = {
    "2.5": "SDR",
    "5.0": "DDR",
    "10.0": "QDR",
    "10.3125": "FDR10",
    "14.0625": "FDR",
    "25.78125": "EDR",
    "53.125": "HDR",
    "106.25": "NDR",
    "212.5": "XDR",
}
"""Rate of one lane as it prints it, Gb/s → speed (infiniband-diags, libibmad)."""
_MOST_PORTS_OF_AN_ADAPTER = 2


def read(text: str, where: str, planned: Network) -> Network:
    """What was found in a network.

    Args:
        text: as iblinkinfo printed it.
        where: its file, for errors only.
        planned: whose names tell switches from adapters.

    Raises:
        FormUnreadable: a line that is none of its lines.
    """
    lines = [
        _match(line, f"{where}:{number}") for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    if not lines:
        raise unreadable(FORM, where, "no line", "one line a port")
    ids = _ids(lines, planned)
    found = Network()
    for line in lines:
        _add(found, line, ids)
    return found


def _match(line: str, where: str) -> re.Match[str]:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise unreadable(FORM, where, line, 'GUID "name" LID port ==( state )==> its peer')
    return found


def _ids(lines: Iterable[re.Match[str]], planned: Network) -> dict[str, str]:
    """GUID → id of its device."""
    kinds = {device.name: device.id[0] for device in planned.devices.values()}
    ports: defaultdict[str, set[str]] = defaultdict(set)
    names: dict[str, str] = {}
    for line in lines:
        for guid, name, port in (
            (line["guid"], line["name"], line["port"]),
            (line["peer"], line["peer_name"], line["peer_port"]),
        ):
            if guid:
                ports[guid].add(port)
                names[guid] = name
    return {guid: f"{kinds.get(name) or _kind(ports[guid])}-{guid:0>16}" for guid, name in names.items()}


def _kind(ports: set[str]) -> str:
    return "S" if len(ports) > _MOST_PORTS_OF_AN_ADAPTER else "H"


def _add(found: Network, line: re.Match[str], ids: dict[str, str]) -> None:
    own = Plug(ids[line["guid"]], int(line["port"]))
    before = found.devices.get(own.device)
    found.devices[own.device] = Device(own.device, line["name"], max(own.port, before.ports if before else 0))
    if line["peer"] is None:
        return
    peer = Plug(ids[line["peer"]], int(line["peer_port"]))
    found.devices.setdefault(peer.device, Device(peer.device, line["peer_name"], 0))
    speed = f"{line['width']}x{LANES.get(line['gbps'], line['gbps'])}" if line["width"] else ""
    found.links[own] = Link(peer, speed)
    found.links.setdefault(peer, Link(own, speed))
