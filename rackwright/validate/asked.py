"""Plan, inventory and a limit in, `Asked` out: which nodes are asked for, and what of each.

Only nodes that a partition of Slurm names can be asked for. One run is of one partition and of one
set of checks: other nodes are another run, by ``--limit``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.errors import UsageError
from rackwright.inventory.model import Absence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.catalogue.model import Platform
    from rackwright.inventory.model import Absent, Inventory
    from rackwright.plan.model import Plan, PoolPlan, Slot, SlurmPlan

MANAGEMENT = "management"
_NOBODYS = frozenset({Absence.UNDELIVERED, Absence.ON_DEMAND})
"""There is no machine that could be asked."""


@dataclass(frozen=True, slots=True, order=True)
class Port:
    """A node's port on one rail that this host's tools can use.

    Args:
        fabric: and
        rail: it is on.
        interface: its name on the host.
        address: without prefix length; empty where the fabric has no addresses.
    """

    fabric: str
    rail: int
    interface: str
    address: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node that is asked for."""

    name: str
    site: str
    ports: tuple[Port, ...]
    memory_mib: int | None
    accelerators: int
    management_interface: str | None
    management_address: str
    """Without prefix length; empty where the plan has none."""

    def port(self, fabric: str, rail: int) -> Port | None:
        """Its port on a rail; None where it has none that tools can use."""
        return next((port for port in self.ports if (port.fabric, port.rail) == (fabric, rail)), None)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is about.

    Args:
        nodes: by name.
        checks: that their platforms declare.
        controller: slot on which slurmctld runs.
        partition: that has all the nodes.
        most_hours: a job may last in it; None without a limit.
        held: node → why it is left alone.
        lost: node → why it cannot be measured.
    """

    nodes: Mapping[str, Node]
    checks: frozenset[Check]
    controller: str
    partition: str
    most_hours: float | None
    held: Mapping[str, str]
    lost: Mapping[str, str]

    def without(self, names: Iterable[str]) -> list[Node]:
        """The nodes that are not among these, in order."""
        gone = set(names)
        return [node for name, node in self.nodes.items() if name not in gone]


def asked(plan: Plan, catalogue: Catalogue, inventory: Inventory, names: Iterable[str]) -> Asked:
    """What may be asked of these slots.

    Args:
        plan: of the cluster.
        catalogue: with its platforms.
        inventory: says which of them are not there.
        names: slots that the user chose; those that run no jobs are left out.

    Raises:
        UsageError: none of them runs jobs, or they are of several partitions or declare different checks.
    """
    wanted = set(names) - {name for name, gone in inventory.absent.items() if gone.absence in _NOBODYS}
    scheduler, partition = _partition(plan, wanted)
    nodes = {node.name: node for node in _nodes(plan, scheduler, partition, wanted)}
    if not nodes:
        raise _nobody(plan)
    absent = {name: gone for name, gone in inventory.absent.items() if name in nodes}
    return Asked(
        nodes=nodes,
        checks=_checks(plan, catalogue, nodes),
        controller=scheduler.controllers[0],
        partition=partition,
        most_hours=scheduler.partitions[partition].max_hours,
        held={name: gone.reason for name, gone in absent.items() if gone.absence is Absence.HELD},
        lost={name: _reason(gone) for name, gone in absent.items() if gone.absence is not Absence.HELD},
    )


def _reason(gone: Absent) -> str:
    return f"not in the inventory: {gone.reason}"


def _partition(plan: Plan, wanted: set[str]) -> tuple[SlurmPlan, str]:
    """The one partition that has all of the wanted slots that run jobs; of several, the default one."""
    running = {name: pool for name, pool in _pools_of(plan) if wanted & pool.slots.keys()}
    homes = [
        (not partition.default, name, scheduler)
        for scheduler in plan.slurm.values()
        for name, partition in scheduler.partitions.items()
        if running and running.keys() <= set(partition.pools)
    ]
    if not homes:
        raise _scattered(running) if running else _nobody(plan)
    _, name, scheduler = min(homes, key=lambda home: home[:2])
    return scheduler, name


def _pools_of(plan: Plan) -> Iterator[tuple[str, PoolPlan]]:
    """Pools that run jobs."""
    named = {name for scheduler in plan.slurm.values() for name in scheduler.pools}
    return ((name, pool) for name, pool in plan.pools.items() if name in named)


def _nodes(plan: Plan, scheduler: SlurmPlan, partition: str, wanted: set[str]) -> Iterator[Node]:
    for name in sorted(scheduler.partitions[partition].pools):
        pool = plan.pools[name]
        for slot in pool.slots.values():
            if slot.name in wanted:
                yield _node(pool, slot, scheduler.pools[name].memory_mib)


def _node(pool: PoolPlan, slot: Slot, memory_mib: int | None) -> Node:
    ports = [
        Port(port.fabric, port.rail, port.interface, _bare(port.address))
        for port in slot.ports
        if port.interface is not None
    ]
    return Node(
        name=slot.name,
        site=pool.site,
        ports=tuple(sorted(ports)),
        memory_mib=memory_mib,
        accelerators=pool.accelerators_per_node,
        management_interface=pool.management_interface,
        management_address=_bare(slot.addresses.get(MANAGEMENT)),
    )


def _bare(address: str | None) -> str:
    return (address or "").partition("/")[0]


def _checks(plan: Plan, catalogue: Catalogue, nodes: Mapping[str, Node]) -> frozenset[Check]:
    """What the platforms of the nodes declare, which must be the same for all."""
    platforms: dict[frozenset[Check], list[Platform]] = {}
    for pool in plan.pools.values():
        if nodes.keys() & pool.slots.keys():
            platform = catalogue.platforms[pool.platform]
            platforms.setdefault(frozenset(platform.checks), []).append(platform)
    if len(platforms) > 1:
        raise UsageError(
            "these nodes are not proven by the same checks, so no one run is of all of them",
            code="VAL004",
            where="--limit",
            got="; ".join(
                f"{', '.join(sorted({one.name for one in alike}))}: {', '.join(sorted(checks)) or 'none'}"
                for checks, alike in platforms.items()
            ),
            expected="nodes whose platforms declare the same checks",
            hint="run it once for each with --limit POOL",
        )
    return next(iter(platforms))


def _nobody(plan: Plan) -> UsageError:
    pools = sorted({name for scheduler in plan.slurm.values() for name in scheduler.pools})
    return UsageError(
        "there is no node to validate",
        code="VAL003",
        where=plan.cluster.name,
        got="no node that runs jobs" if pools else "no scheduler",
        expected=f"nodes of {', '.join(pools)}" if pools else "a Slurm with partitions: `schedulers`",
        hint="nodes are validated by jobs, so a partition must name their pool",
    )


def _scattered(running: Mapping[str, PoolPlan]) -> UsageError:
    return UsageError(
        "no partition has all of these nodes, so no job is of all of them",
        code="VAL004",
        where="--limit",
        got=f"nodes of {', '.join(sorted(running))}",
        expected="pools that one partition names",
        hint="run it once for each with --limit POOL",
    )
