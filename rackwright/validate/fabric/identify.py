"""Who is who in a dump: devices are matched with planned ones by name, else by where they hang."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright.render.fabric.network import Plug

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.render.fabric.network import Device, Network

_AGGREGATION = "Aggregation Node"
"""In the description that a switch's aggregation node has (SHARP; facts/fabric.md §4.4)."""


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
    seen = Identified()
    ids = _by_name(intended, observed, seen)
    _misnamed(intended, observed, ids, seen)
    _by_position(intended, observed, ids, seen)
    names = {id_: ids.get(id_, id_) for id_ in observed.devices}
    for one, (peer, speed) in observed.links.items():
        seen.links[Plug(names[one.device], one.port)] = (Plug(names[peer.device], peer.port), speed)
    seen.strangers = {
        id_: device.name
        for id_, device in observed.devices.items()
        if id_ not in ids and id_ not in seen.aggregation
    }
    _absent(intended, observed, ids, seen)
    return seen


def _plug(ids: dict[str, str], plug: Plug) -> Plug:
    return Plug(ids.get(plug.device, plug.device), plug.port)


def _by_name(intended: Network, observed: Network, seen: Identified) -> dict[str, str]:
    """Observed id → planned id; a name that comes twice is that one's who hangs where it should."""
    planned = {(device.name, device.is_switch): device.id for device in intended.devices.values()}
    named: dict[str, list[Device]] = {}
    for device in observed.devices.values():
        id_ = planned.get((device.name, device.is_switch))
        if id_ is not None:
            named.setdefault(id_, []).append(device)
        elif not device.is_switch and _AGGREGATION in device.name:
            seen.aggregation[device.id] = _neighbour(observed, device)
    return {_the_one(intended, observed, id_, some).id: id_ for id_, some in named.items()}


def _the_one(intended: Network, observed: Network, planned: str, named: list[Device]) -> Device:
    """Of devices of one name, the one with most links to where the planned one has them."""
    if len(named) == 1:
        return named[0]

    def agreeing(device: Device) -> int:
        return sum(
            wanted is not None
            and intended.devices[wanted.peer.device].name == observed.devices[there.device].name
            and wanted.peer.port == there.port
            for plug in _plugs(observed, device)
            for wanted in (intended.links.get(Plug(planned, plug.port)),)
            for there in (observed.links[plug].peer,)
        )

    return max(named, key=agreeing)


def _neighbour(observed: Network, device: Device) -> str:
    peers = (observed.devices[observed.links[plug].peer.device].name for plug in _plugs(observed, device))
    return next(peers, device.name)


def _plugs(observed: Network, device: Device) -> Iterator[Plug]:
    ports = range(1, max(device.ports, 1) + 1)
    return (plug for plug in (Plug(device.id, port) for port in ports) if plug in observed.links)


def _misnamed(intended: Network, observed: Network, ids: dict[str, str], seen: Identified) -> None:
    """Switches with the names of others: most of what hangs on them is another's, who is called otherwise.

    To name two switches anew is less work than to exchange all of their cables.
    """
    meant: dict[str, str] = {}
    for device in observed.devices.values():
        if device.is_switch and device.id in ids:
            peers = [_plug(ids, observed.links[plug].peer) for plug in _plugs(observed, device)]
            owner = _owner(intended, device, peers, known=set())
            if owner is not None and owner != ids[device.id] and len(peers) > 1:
                meant[device.id] = owner
    others = Counter([*meant.values(), *(planned for id_, planned in ids.items() if id_ not in meant)])
    for id_, owner in meant.items():
        if others[owner] == 1:
            device = observed.devices[id_]
            seen.unnamed[f"{device.name} ({device.guid})"] = intended.devices[owner].name
            ids[id_] = owner


def _by_position(intended: Network, observed: Network, ids: dict[str, str], seen: Identified) -> None:
    """Devices without a name of ours: who should hang where they hang, if it hangs nowhere else.

    A switch has one port beyond its own, for the aggregation node inside.
    """
    for device in observed.devices.values():
        if device.id in ids or device.id in seen.aggregation:
            continue
        peers = [_plug(ids, observed.links[plug].peer) for plug in _plugs(observed, device)]
        inside = next((one for one in peers if _beyond(intended, one)), None)
        if inside is not None and not device.is_switch:
            seen.aggregation[device.id] = intended.devices[inside.device].name
            continue
        owner = _owner(intended, device, peers, set(ids.values()))
        if owner is not None:
            ids[device.id] = owner
        said = f"{device.name or 'no description'} ({device.guid})"
        seen.unnamed[said] = intended.devices[owner].name if owner else ""


def _beyond(intended: Network, plug: Plug) -> bool:
    switch = intended.devices.get(plug.device)
    return switch is not None and plug.port > switch.ports


def _owner(intended: Network, device: Device, peers: list[Plug], known: set[str]) -> str | None:
    """Whom more than half of the ports that it hangs on belong to, if that one is not there otherwise."""
    owners = Counter(intended.links[peer].peer.device for peer in peers if peer in intended.links)
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
