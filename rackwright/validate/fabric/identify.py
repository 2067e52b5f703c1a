"""Who is who in a dump: devices are matched with planned ones by name, else by where they hang."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.render.fabric.network import Plug

if TYPE_CHECKING:
    from rackwright.render.fabric.network import Device, Network

_AGGREGATION = "Aggregation Node"
"""In the description that a switch's aggregation node has (SHARP)."""


@dataclass(slots=True)
class Identified:
    """A dump in the ids of the plan; what is not planned keeps its own."""

    links: dict[Plug, tuple[Plug, str]] = field(default_factory=dict)
    """Port → port at the other end, and width and speed."""
    strangers: dict[str, str] = field(default_factory=dict)
    """Id → name of what is in no plan."""
    unnamed: dict[str, str] = field(default_factory=dict)
    """What an adapter says it is → who it is."""
    aggregation: dict[str, str] = field(default_factory=dict)
    """Id → switch that it hangs on."""
    absent: dict[str, str] = field(default_factory=dict)
    """Id of a planned device that nobody tells of → its name."""
    absent_groups: dict[str, str] = field(default_factory=dict)
    """Node or switch that is not in the dump → what is known of it all the same."""


def identify(intended: Network, observed: Network) -> Identified:
    """Match devices.

    Args:
        intended: as planned.
        observed: as found.
    """
    seen, named = Identified(), _Named(observed)
    for id_, some in _by_name(intended, named, seen).items():
        named.call(_the_one(intended, named, id_, some), id_)
    _misnamed(intended, named, seen)
    _by_position(intended, named, seen)
    plugs = named.plugs
    seen.links = {plugs[one]: (plugs[peer], speed) for one, (peer, speed) in observed.links.items()}
    seen.strangers = {
        id_: device.name
        for id_, device in observed.devices.items()
        if id_ not in named.ids and id_ not in seen.aggregation
    }
    _absent(intended, observed, named.ids, seen)
    return seen


class _Named:
    """A dump, and who is who in it as far as it is known."""

    def __init__(self, observed: Network) -> None:
        self.devices, self._links = observed.devices, observed.links
        self.ids: dict[str, str] = {}
        """Observed id → planned id."""
        self.plugs = {plug: plug for plug in observed.links}
        """Every port with a link → the same, of who its device is."""
        self._of: dict[str, list[Plug]] = {}
        for plug in observed.links:
            self._of.setdefault(plug.device, []).append(plug)

    def call(self, device: Device, planned: str) -> None:
        """From now on it is known who a device is."""
        self.ids[device.id] = planned
        for plug in self._of.get(device.id, ()):
            self.plugs[plug] = Plug(planned, plug.port)

    def links(self, device: Device) -> list[tuple[Plug, Plug]]:
        """Ports of a device as found, and what hangs on each."""
        return [(plug, self._links[plug].peer) for plug in self._of.get(device.id, ())]

    def peers(self, device: Device) -> list[Plug]:
        """What hangs on a device, of who that is."""
        return [self.plugs[self._links[plug].peer] for plug in self._of.get(device.id, ())]


def _by_name(intended: Network, named: _Named, seen: Identified) -> dict[str, list[Device]]:
    """Planned id → devices with its name; a name that comes twice is that one's who hangs where it should."""
    planned = {(device.name, device.is_switch): device.id for device in intended.devices.values()}
    found: dict[str, list[Device]] = {}
    for device in named.devices.values():
        id_ = planned.get((device.name, device.is_switch))
        if id_ is not None:
            found.setdefault(id_, []).append(device)
        elif not device.is_switch and _AGGREGATION in device.name:
            seen.aggregation[device.id] = _neighbour(named, device)
    return found


def _the_one(intended: Network, named: _Named, planned: str, some: list[Device]) -> Device:
    """Of devices of one name, the one with most links to where the planned one has them."""
    if len(some) == 1:
        return some[0]

    def agreeing(device: Device) -> int:
        return sum(
            wanted is not None
            and intended.devices[wanted.peer.device].name == named.devices[there.device].name
            and wanted.peer.port == there.port
            for plug, there in named.links(device)
            for wanted in (intended.links.get(Plug(planned, plug.port)),)
        )

    return max(some, key=agreeing)


def _neighbour(named: _Named, device: Device) -> str:
    return next((named.devices[there.device].name for _, there in named.links(device)), device.name)


def _misnamed(intended: Network, named: _Named, seen: Identified) -> None:
    """Switches with the names of others: most of what hangs on them is another's, who is called otherwise.

    To name two switches anew is less work than to exchange all of their cables.
    """
    meant: dict[str, str] = {}
    ids = named.ids
    for device in named.devices.values():
        if device.is_switch and device.id in ids:
            peers = named.peers(device)
            owner = _owner(intended, device, peers, known=set())
            if owner is not None and owner != ids[device.id] and len(peers) > 1:
                meant[device.id] = owner
    others = Counter([*meant.values(), *(planned for id_, planned in ids.items() if id_ not in meant)])
    for id_, owner in meant.items():
        if others[owner] == 1:
            device = named.devices[id_]
            seen.unnamed[f"{device.name} ({device.guid})"] = intended.devices[owner].name
            named.call(device, owner)


def _by_position(intended: Network, named: _Named, seen: Identified) -> None:
    """Devices without a name of ours: who should hang where they hang, if it hangs nowhere else.

    A switch has one port beyond its own, for the aggregation node inside.
    """
    known = set(named.ids.values())
    for device in named.devices.values():
        if device.id in named.ids or device.id in seen.aggregation:
            continue
        peers = named.peers(device)
        inside = next((one for one in peers if _beyond(intended, one)), None)
        if inside is not None and not device.is_switch:
            seen.aggregation[device.id] = intended.devices[inside.device].name
            continue
        owner = _owner(intended, device, peers, known)
        if owner is not None:
            named.call(device, owner)
            known.add(owner)
        said = f"{device.name or 'no description'} ({device.guid})"
        seen.unnamed[said] = intended.devices[owner].name if owner else ""


def _beyond(intended: Network, plug: Plug) -> bool:
    switch = intended.devices.get(plug.device)
    return switch is not None and plug.port > switch.ports


def _owner(intended: Network, device: Device, peers: list[Plug], known: set[str]) -> str | None:
    """Whom more than half of the ports that it hangs on belong to, if that one is not there otherwise."""
    planned = map(intended.links.get, peers)
    owners = Counter(link.peer.device for link in planned if link is not None)
    for owner, count in owners.most_common(1):
        same_kind = intended.devices[owner].is_switch == device.is_switch
        if owner not in known and same_kind and count * 2 > len(peers):
            return owner
    return None


def _absent(intended: Network, observed: Network, ids: dict[str, str], seen: Identified) -> None:
    """Switches without a block of their own, and nodes of which no adapter is there.

    One adapter of a node that is not there is an unplugged cable, and told as one.
    """
    told = {planned: observed.devices[id_].ports for id_, planned in ids.items()}
    nodes: dict[str, list[Device]] = {}
    for device in intended.devices.values():
        if not device.is_switch:
            nodes.setdefault(device.name.rpartition(" ")[0], []).append(device)
        elif device.id not in told:
            seen.absent[device.id] = device.name
            seen.absent_groups[device.name] = "nobody tells of it"
        elif not told[device.id]:
            seen.absent_groups[device.name] = "only its neighbours tell of it"
    for node, adapters in nodes.items():
        if not any(device.id in told for device in adapters):
            seen.absent |= {device.id: device.name for device in adapters}
            seen.absent_groups[node] = f"none of its {len(adapters)} adapters is there"
