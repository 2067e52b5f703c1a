"""The dump of a planned fabric, for faults to be planted in, and what the work order makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.render.fabric import ibnetdiscover
from rackwright.render.fabric.network import Link, Network, Plug, network
from rackwright.validate.fabric.compare import compare
from rackwright.validate.fabric.work import Step, Words

if TYPE_CHECKING:
    from rackwright.plan.model import Plan
    from rackwright.validate.fabric.compare import Comparison, Difference


class Dump:
    """An exported network that faults are planted in, and what is found in its text."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.intended = network(plan, "compute")
        self.net = network(plan, "compute")

    def plug(self, name: str, port: int = 1) -> Plug:
        return Plug(self.id(name), port)

    def id(self, name: str) -> str:
        return next(one.id for one in self.net.devices.values() if one.name == name)

    def unplug(self, plug: Plug) -> Plug:
        peer = self.net.links.pop(plug).peer
        del self.net.links[peer]
        return peer

    def exchange(self, *plugs: Plug) -> None:
        """Each takes the cable of the next: what hangs on them goes round by one."""
        peers = [self.unplug(plug) for plug in plugs]
        for plug, peer in zip(plugs, [*peers[1:], peers[0]], strict=True):
            self.net.join(plug, peer, "4xNDR")

    def vanish(self, name: str) -> None:
        """As ibnetdiscover sees an adapter that hangs on nothing: not at all."""
        del self.net.devices[self.id(name)]

    def rename(self, old: str, new: str) -> None:
        id_ = self.id(old)
        self.net.devices[id_] = self.net.devices[id_]._replace(name=new)

    def text(self) -> str:
        return ibnetdiscover.write(self.net)

    def compared(self, text: str | None = None) -> Comparison:
        return compare(self.intended, ibnetdiscover.read(text or self.text(), "dump.txt"))

    def steps(self) -> list[Step]:
        return Words(self.plan, "compute", self.intended, self.compared()).steps()

    def only(self) -> Difference:
        (difference,) = self.compared().differences
        return difference


def mended(dump: Dump) -> Network:
    """The network after the work: every move and cable of the work order carried out."""
    found = dump.compared()
    links = {here: Link(peer, speed) for here, (peer, speed) in found.identified.links.items()}
    for difference in found.differences:
        for move in difference.moves:
            assert links[move.kept].peer == move.source
            del links[move.kept]
            links.pop(move.source, None)
        for wire in difference.remove:
            del links[wire.a], links[wire.z]
        for move in difference.moves:
            assert move.kept not in links
            assert move.target not in links
            links[move.kept], links[move.target] = Link(move.target, "4xNDR"), Link(move.kept, "4xNDR")
        for wire in difference.connect:
            assert wire.a not in links
            links[wire.a], links[wire.z] = Link(wire.z, "4xNDR"), Link(wire.a, "4xNDR")
    return Network(dump.intended.devices, links)
