"""An inventory and the hosts that are asked for in, phases of shards out.

A shard is a failure domain: what breaks a rack's power or switch is seen as one shard's trouble.
Hosts that serve the others go first, in a phase of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.spec.pools import Role

if TYPE_CHECKING:
    from collections.abc import Collection

    from rackwright.inventory.model import Host, Inventory

SERVING = frozenset({Role.SLURM_CONTROLLER, Role.SLURMDBD})
"""Roles whose daemons must run before those of other hosts can register."""
CONTROLLERS, NODES = "controllers", "nodes"


@dataclass(frozen=True, slots=True)
class Shard:
    """Hosts that one runner converges."""

    name: str
    """``controllers``, ``hall-r01p01``, ``node-u01``: also a folder's name."""
    hosts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phase:
    """Shards that may run beside one another; the next phase begins when all have ended."""

    name: str
    shards: tuple[Shard, ...]


def phases(inventory: Inventory, asked: Collection[str]) -> list[Phase]:
    """The hosts of ``asked``, each in exactly one shard."""
    serving = tuple(name for name in sorted(asked) if SERVING & set(inventory.hosts[name].roles))
    domains: dict[str, list[str]] = {}
    for name in sorted(set(asked) - set(serving)):
        domains.setdefault(_domain(inventory.hosts[name]), []).append(name)
    shards = tuple(Shard(name, tuple(hosts)) for name, hosts in sorted(domains.items()))
    there = [
        Phase(CONTROLLERS, (Shard(CONTROLLERS, serving),) if serving else ()),
        Phase(NODES, shards),
    ]
    return [phase for phase in there if phase.shards]


def _domain(host: Host) -> str:
    return f"{host.site}-{host.rack}" if host.rack else host.host_set
