"""What ``lldpctl -f json`` says on hosts and switches: each interface with the neighbour that it hears.

Names of interfaces are translated to those of the plan: an interface of a node to its rail, ``swp12``,
``swp12s0``, ``etp12``, ``etp12a``, ``Eth1/12`` and ``12/1`` of a switch to its port and the tail there.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeAlias

from rackwright.plan.fabric.cables import Roster
from rackwright.render.fabric.network import Device, Network, Plug, hca_name, split_port
from rackwright.render.fabric.wires import unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.plan.model import Plan

Tree: TypeAlias = "Mapping[str, Tree] | list[Tree] | str | int | float | bool | None"

FORM = "output of `lldpctl -f json`"
_SWP = re.compile(r"(?:swp|etp|Eth1/)(\d+)(?:s(\d)|([a-h])|/(\d))?|(\d+)(?:/(\d+))?")


def read(texts: Mapping[str, str], plan: Plan, fabric: str, planned: Network) -> Network:
    """The network that hosts and switches tell of.

    Args:
        texts: host or switch → what lldpctl printed there.
        plan: the plan.
        fabric: whose cables are looked at; interfaces of others are left out.
        planned: its network.

    Raises:
        FormUnreadable: no JSON of lldpctl.
    """
    names = _Names(plan, fabric, planned)
    found = Network()
    for host, text in sorted(texts.items()):
        for interface, neighbour, port in _heard(host, text):
            here, there = names.plug(host, interface), names.plug(neighbour, port)
            if here is not None and there is not None:
                for plug in (here, there):
                    found.devices.setdefault(plug.device, names.device(plug.device))
                found.join(here, there, "")
    return found


def _heard(host: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Interface, name of the neighbour, and its port."""
    try:
        tree: Tree = json.loads(text)
    except json.JSONDecodeError as error:
        raise unreadable(FORM, f"{host}:{error.lineno}", error.msg, "JSON") from None
    lldp = tree.get("lldp") if isinstance(tree, dict) else None
    if not isinstance(lldp, dict):
        raise unreadable(FORM, host, "no `lldp`", '{"lldp": {"interface": …}}')
    for name, one in _named(lldp.get("interface")):
        for neighbour, _ in _named(_at(one, "chassis")):
            yield name, neighbour, _port(_at(one, "port"))


def _at(tree: Tree, key: str) -> Tree:
    return tree.get(key) if isinstance(tree, dict) else None


def _named(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Keys and values of one map, or of a list of maps: lldpctl writes either."""
    for one in tree if isinstance(tree, list) else [tree]:
        if isinstance(one, dict):
            yield from one.items()


def _port(port: Tree) -> str:
    """Name of the neighbour's interface; a port that calls itself by its MAC has it in its description."""
    id_ = _at(port, "id")
    value = _at(id_, "value") if _at(id_, "type") in {"ifname", "local"} else _at(port, "descr")
    return value if isinstance(value, str) else ""


class _Names:
    """Interfaces by the names that hosts give them → plugs of the plan."""

    def __init__(self, plan: Plan, fabric: str, planned: Network) -> None:
        roster = Roster(plan, fabric)
        tree = roster.cabling.tree
        self.breakout = tree.breakout if tree else 1
        self.split = roster.cabling.port_split
        self.planned = planned
        self.ids = {device.name: device.id for device in planned.devices.values()}
        self.rails = {
            (node, label): hca_name(node, rail)
            for node, labels, _ in roster.nodes.values()
            for rail, label in enumerate(labels, 1)
        }

    def plug(self, host: str, interface: str) -> Plug | None:
        """None for an interface that is none of this fabric."""
        name = host.partition(".")[0]
        if (name, interface) in self.rails:
            return Plug(self.ids[self.rails[name, interface]], 1)
        port = _SWP.fullmatch(interface)
        if name not in self.ids or port is None:
            return None
        return Plug(self.ids[name], split_port(*self._number(port), self.breakout))

    def _number(self, port: re.Match[str]) -> tuple[int, int]:
        """Port and tail as the plan counts them: every part of a cage that is split is a port of its own."""
        cage, tail = int(port[1] or port[5]), _tail(port)
        if self.split == 1 or not tail:
            return cage, tail
        part, lane = divmod(tail - 1, self.breakout)
        return (cage - 1) * self.split + part + 1, lane + 1

    def device(self, id_: str) -> Device:
        """As planned."""
        return self.planned.devices[id_]


def _tail(port: re.Match[str]) -> int:
    """Which tail of a breakout, from 1; 0 where the port has but one."""
    if port[2]:
        return int(port[2]) + 1
    if port[3]:
        return ord(port[3]) - ord("a") + 1
    return int(port[4] or port[6] or 0)
