"""Faults of the line between the halls and a cloud: it is cut, or swallows large packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.lab.faults import subjects
from rackwright.lab.faults.fault import Fault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.netns import Namespace
from rackwright.lab.places import ROUTER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.faults.fault import Planted, Stage

CARRIES = 1200
"""Bytes of the largest packet that gets through: below what any path is expected to carry over a tunnel,
above the 576 that every IPv4 host takes (RFC 791)."""
_TABLE = "mtu_black_hole"
_RULES = """
add table ip {table}
delete table ip {table}
table ip {table} {{
  chain arriving {{
    type filter hook prerouting priority raw; policy accept;
    iifname "{line}" ip length > {carries} drop
  }}
  chain told {{
    type filter hook output priority raw; policy accept;
    icmp type destination-unreachable icmp code frag-needed drop
  }}
}}
"""
"""Replaced as a whole: planted again it stands once."""


class LinkDown(Fault):
    """A line that is cut: no carrier at either end, and routes that lead into nothing."""

    name = "link-down"
    kind = SubjectKind.LINK
    does = "the line is cut: both routers see no carrier, and nothing crosses it"
    shows = "ERROR of the link and of the cloud's nodes: they could not be measured"

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Switch off the port that the line ends in."""
        self._switch(stage, planted, "down")

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Switch it on."""
        self._switch(stage, planted, "up")

    def _switch(self, stage: Stage, planted: Planted, state: str) -> None:
        line = subjects.line_site(stage.world, planted.subject).line
        Namespace(stage.world.places.netns(ROUTER)).ip("link", "set", line.cable, state)


class MtuBlackHole(Fault):
    """A path that carries less than its routers believe, and tells nobody."""

    name = "mtu-black-hole"
    kind = SubjectKind.LINK
    does = f"packets of more than {CARRIES} bytes vanish on the line, and no router says so"
    shows = "FAIL of the link, by its path MTU; ERROR of the cloud's nodes: no step gets through to them"

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Drop what arrives at either end, and the messages that would tell."""
        name = subjects.line_site(stage.world, planted.subject).line.bridge.name
        for router in _ends(stage, planted):
            router.nft(_RULES.format(table=_TABLE, line=name, carries=CARRIES))

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Take the rules away."""
        for router in _ends(stage, planted):
            router.nft(f"add table ip {_TABLE}; delete table ip {_TABLE}")


def _ends(stage: Stage, planted: Planted) -> Iterator[Namespace]:
    site = subjects.line_site(stage.world, planted.subject)
    return (Namespace(stage.world.places.netns(who)) for who in (ROUTER, site.router))
