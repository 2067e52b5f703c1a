"""The text of ibnetdiscover(8): what it finds in a network, and what ibsim(1) builds one from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.render.fabric.network import Device, Link, Network, Plug
from rackwright.render.fabric.wires import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator

_VENDOR, _SWITCH, _ADAPTER = "0x2c9", "0xd2f2", "0x1021"
"""Vendor NVIDIA (Mellanox), devices Quantum-2 and ConnectX-7 (PCI ID repository)."""
FORM = "output of ibnetdiscover"

_NODE = re.compile(r'(Switch|Ca|Rt)\s+(\d+)\s+"([SHR]-[0-9a-f]{16})"\s*(?:#\s*"(.*?)"(?: .*)?)?')
_PORT = re.compile(
    r"\[(\d+)\](?:\[[^\]]*\])?(?:\([0-9a-f]+\))?\s+"
    r'"([SHR]-[0-9a-f]{16})"\[(\d+)\](?:\[[^\]]*\])?(?:\([0-9a-f]+\))?\s*(?:#(.*))?'
)
_SPEED = re.compile(r"\d+x[A-Z]+[0-9]*")
_PEER = re.compile(r'"(.*)"')
_HEAD = ("vendid=", "devid=", "sysimgguid=", "switchguid=", "caguid=", "rtguid=", "#", "DR path", "Topology")


def write(network: Network, speed: str = "") -> str:
    """The text, switches first, each device with all of its ports that have a link.

    Args:
        network: what is written.
        speed: of every link, in the place of its own.
    """
    order = sorted(network.devices.values(), key=lambda device: (not device.is_switch, device.id))
    return "".join(f"{line}\n" for device in order for line in _lines(network, device, speed))


def _lines(network: Network, device: Device, speed: str) -> Iterator[str]:
    word, model, name = ("Switch", _SWITCH, "switch") if device.is_switch else ("Ca", _ADAPTER, "ca")
    yield f"vendid={_VENDOR}"
    yield f"devid={model}"
    yield f"sysimgguid=0x{device.guid}"
    own = f"({device.guid})" if device.is_switch else ""
    yield f"{name}guid=0x{device.guid}{own}"
    tail = " enhanced port 0 lid 0 lmc 0" if device.is_switch else ""
    yield f'{word}\t{device.ports} "{device.id}"\t\t# "{device.name}"{tail}'
    for port in range(1, device.ports + 1):
        link = network.links.get(Plug(device.id, port))
        if link is not None:
            peer = network.devices[link.peer.device]
            at = "" if device.is_switch else f"({_port_guid(device, port)})"
            there = "" if peer.is_switch else f"({_port_guid(peer, link.peer.port)})"
            rate = speed or link.speed
            yield f'[{port}]{at}\t"{peer.id}"[{link.peer.port}]{there}\t\t# "{peer.name}" lid 0 {rate}'
    yield ""


def _port_guid(device: Device, port: int) -> str:
    return f"{int(device.guid, 16) + port:x}"


def read(text: str, where: str) -> Network:
    """What was found in a network; devices that only their peers tell of are there too, with no ports.

    Args:
        text: as ibnetdiscover printed it.
        where: its file, for errors only.

    Raises:
        FormUnreadable: a line that is none of its lines, or a port before any device.
    """
    found = Network()
    comments: dict[str, str] = {}
    speeds: dict[str, str] = {}
    device: Device | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("["):
            port = _PORT.fullmatch(line)
            if port is None or device is None:
                raise unreadable(FORM, f"{where}:{number}", line, "a port of a device")
            own, peer, peer_port, comment = port.groups("")
            comments[peer] = comment
            last = comment.rpartition(" ")[2]
            speed = speeds.get(last) or speeds.setdefault(last, _speed(last))
            found.links[Plug(device.id, int(own))] = Link(Plug(peer, int(peer_port)), speed)
        elif line and not line.startswith(_HEAD):
            node = _NODE.fullmatch(line)
            if node is None:
                raise unreadable(FORM, f"{where}:{number}", line, "a device, a port or their GUIDs")
            device = Device(node[3], node[4] or "", int(node[2]))
            found.devices[device.id] = device
    if not found.devices:
        raise unreadable(FORM, where, "no device", "switches and adapters")
    _from_one_side(found, comments)
    return found


def _speed(last: str) -> str:
    """Width and speed are the last word of a port's comment."""
    return last if _SPEED.fullmatch(last) else ""


def _from_one_side(found: Network, comments: dict[str, str]) -> None:
    """Links that only one end tells of have two ends; the other device then has no ports of its own."""
    alone = [(plug, link) for plug, link in found.links.items() if link.peer not in found.links]
    for plug, (peer, speed) in alone:
        found.links[peer] = Link(plug, speed)
        if peer.device not in found.devices:
            name = _PEER.search(comments[peer.device])
            found.devices[peer.device] = Device(peer.device, name[1] if name else "", 0)
