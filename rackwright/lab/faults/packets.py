"""Faults that are packets which never arrive: a lossy rail, a host that is deaf to ssh, a silent BMC.

Each is one table of nftables, replaced as a whole, so that planted again it stands once.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from rackwright.lab.faults import subjects
from rackwright.lab.faults.fault import Fault
from rackwright.lab.faults.subjects import SubjectKind
from rackwright.lab.netns import Namespace
from rackwright.lab.places import ROUTER

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Planted, Stage
    from rackwright.lab.model import World

LOST_PERCENT = 10
"""Of all packets, each way: TCP then reaches a small part of a rail's rate."""
_SSH = 22


class Dropped(Fault):
    """A table of rules that drop packets in one network namespace."""

    @abstractmethod
    def table(self, world: World, subject: str) -> tuple[Namespace, str, str]:
        """Where, the table's family and name, and what is in it."""

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Drop them."""
        where, table, rules = self.table(stage.world, planted.subject)
        where.nft(f"{_gone(table)}\ntable {table} {{\n{rules}\n}}\n")

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Take the table away."""
        where, table, _ = self.table(stage.world, planted.subject)
        where.nft(_gone(table))


def _gone(table: str) -> str:
    return f"add table {table}\ndelete table {table}"


def _chain(name: str, hook: str, rule: str) -> str:
    return f"chain {name} {{\ntype filter hook {hook} priority 0; policy accept;\n{rule}\n}}"


class LossyRail(Dropped):
    """A cable or transceiver on its way out: the link is up, and packets are lost both ways."""

    name = "lossy-rail"
    kind = SubjectKind.RAIL
    does = f"{LOST_PERCENT} % of the packets are lost, in both directions"
    shows = "FAIL of that rail and of its node, by bandwidth"

    def table(self, world: World, subject: str) -> tuple[Namespace, str, str]:
        """At the switch's port, where the host sees nothing of it."""
        host, nic = subjects.rail(world, subject)
        where = f'device "{host.cable(nic)}"'
        lose = f"numgen random mod 100 < {LOST_PERCENT} drop"
        chains = (_chain(way, f"{way} {where}", lose) for way in ("ingress", "egress"))
        table = f"netdev lossy_{host.number}_{nic.interface}"
        return Namespace(world.places.netns(ROUTER)), table, "\n".join(chains)


class NoSsh(Dropped):
    """A host that is up and never answers ssh, as behind a wrong firewall."""

    name = "no-ssh"
    kind = SubjectKind.HOST
    does = "the host answers nothing on its ssh port"
    shows = "nothing: nodes are measured by Slurm; `converge` cannot reach it"

    def table(self, world: World, subject: str) -> tuple[Namespace, str, str]:
        """On the host itself; its network namespace outlives its power."""
        drop = _chain("arriving", "input", f"tcp dport {_SSH} drop")
        return Namespace(world.places.netns(subject)), "inet no_ssh", drop


class BmcSilent(Dropped):
    """A management controller that is hung, or whose cable is out."""

    name = "bmc-silent"
    kind = SubjectKind.HOST
    breaks_bmc = True
    does = "its BMC answers nothing"
    shows = "nothing: `up` says that the BMC of that host does not answer"

    def table(self, world: World, subject: str) -> tuple[Namespace, str, str]:
        """In the router, which has all addresses of BMCs."""
        host = world.host(subject)
        drop = _chain("arriving", "input", f"ip daddr {host.bmc_address} drop")
        return Namespace(world.places.netns(ROUTER)), f"ip bmc_silent_{host.number}", drop
