"""Plan, inventory and a limit in, `Asked` out: which nodes are asked for, and what of each.

Only nodes that a partition of Slurm names can be asked for. A job is of one partition, and its nodes are
proven by the same checks: nodes of several partitions, or of platforms that declare different checks, are
measured in a job each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.catalogue.model import Check
from rackwright.errors import UsageError
from rackwright.inventory.model import Absence
from rackwright.spec.sites import MANAGEMENT
from rackwright.validate.limits import has_nvlinks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.inventory.model import Absent, Inventory
    from rackwright.plan.model import Plan, PoolPlan, Slot, SlurmPlan

_NOBODYS = frozenset({Absence.UNDELIVERED, Absence.ON_DEMAND})
"""There is no machine that could be asked."""
_NOT_LOST = frozenset({Absence.HELD, Absence.NO_INSTANCE, Absence.ON_DEMAND})


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
    checks: frozenset[Check]
    """That it is proven by: its platform's, and that of the links between sites."""
    nvlinks: bool = False
    """Whether its accelerators are joined by NVLinks."""

    def port(self, fabric: str, rail: int) -> Port | None:
        """Its port on a rail; None where it has none that tools can use."""
        return next((port for port in self.ports if (port.fabric, port.rail) == (fabric, rail)), None)


@dataclass(frozen=True, slots=True)
class Part:
    """Nodes that one job can have, and that are proven by the same checks.

    Args:
        partition: that has all of them.
        most_hours: a job may last in it; None without a limit.
        nodes: by name, in order.
        on_demand: those of them that Slurm launches for the job.
        launched_within_s: it gives up a node that was launched and has not come by then.
    """

    partition: str
    most_hours: float | None
    nodes: tuple[str, ...]
    on_demand: frozenset[str] = frozenset()
    launched_within_s: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """A link between two sites of which nodes are asked.

    Args:
        link: its name.
        between: its sites.
        mtu: largest packet that it is planned for, bytes.
    """

    link: str
    between: tuple[str, str]
    mtu: int

    def beyond(self, site: str) -> str:
        """The site at its other end; empty where it does not begin here."""
        one, other = self.between
        return {one: other, other: one}.get(site, "")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run is about.

    Args:
        nodes: by name.
        controller: slot on which slurmctld runs.
        parts: the nodes, by the jobs that have them.
        ways: links between their sites.
        held: node → why it is left alone.
        missing: node → why there is nothing that could be measured.
        lost: node → why it cannot be measured.
    """

    nodes: Mapping[str, Node]
    controller: str
    parts: tuple[Part, ...]
    ways: tuple[Way, ...]
    held: Mapping[str, str]
    missing: Mapping[str, str]
    lost: Mapping[str, str]

    @property
    def checks(self) -> frozenset[Check]:
        """That any of the nodes is proven by."""
        return frozenset(check for node in self.nodes.values() for check in node.checks)

    def without(self, names: Iterable[str]) -> list[Node]:
        """The nodes that are not among these, in order."""
        gone = set(names)
        return [node for name, node in self.nodes.items() if name not in gone]

    def not_proven_by(self, check: str) -> tuple[str, ...]:
        """Nodes whose platforms do not declare a check, in order."""
        return tuple(name for name, node in self.nodes.items() if check not in node.checks)


def asked(
    plan: Plan,
    catalogue: Catalogue,
    inventory: Inventory,
    names: Iterable[str],
    *,
    on_demand: bool = False,
) -> Asked:
    """What may be asked of these slots.

    Args:
        plan: of the cluster.
        catalogue: with its platforms.
        inventory: says which of them are not there.
        names: slots that the user chose; those that run no jobs are left out.
        on_demand: ask also for slots on demand, filled or not.

    Raises:
        UsageError: none of them runs jobs, or they are of several Slurms.
    """
    nobodys = _NOBODYS - ({Absence.ON_DEMAND} if on_demand else set())
    wanted = set(names) - {name for name, gone in inventory.absent.items() if gone.absence in nobodys}
    running = {name: pool for name, pool in _pools_of(plan) if wanted & pool.slots.keys()}
    scheduler = _scheduler(plan, running)
    ways = tuple(_ways(plan, {pool.site for pool in running.values()}))
    nodes = {node.name: node for node in _nodes(catalogue, scheduler, running, wanted, between=bool(ways))}
    absent = {name: gone for name, gone in inventory.absent.items() if name in nodes}
    return Asked(
        nodes=nodes,
        controller=scheduler.controllers[0],
        parts=tuple(_parts(scheduler, running, nodes, on_demand=on_demand)),
        ways=ways,
        held={name: gone.reason for name, gone in absent.items() if gone.absence is Absence.HELD},
        missing={name: gone.reason for name, gone in absent.items() if gone.absence is Absence.NO_INSTANCE},
        lost={name: _reason(gone) for name, gone in absent.items() if gone.absence not in _NOT_LOST},
    )


def _ways(plan: Plan, sites: set[str]) -> Iterator[Way]:
    for name, link in plan.links.items():
        if set(link.between) <= sites:
            yield Way(name, link.between, link.mtu)


def _reason(gone: Absent) -> str:
    return f"not in the inventory: {gone.reason}"


def _scheduler(plan: Plan, running: Mapping[str, PoolPlan]) -> SlurmPlan:
    """The one Slurm that has all of these pools."""
    if not running:
        raise _nobody(plan)
    for scheduler in plan.slurm.values():
        if running.keys() <= scheduler.pools.keys():
            return scheduler
    raise _scattered(running)


def _first(scheduler: SlurmPlan, pools: Collection[str]) -> str:
    """The partition that has all of these pools; empty if none has."""
    fitting = sorted(
        (not part.default, name)
        for name, part in scheduler.partitions.items()
        if set(pools) <= set(part.pools)
    )
    return fitting[0][1] if fitting else ""


def _parts(
    scheduler: SlurmPlan, running: Mapping[str, PoolPlan], nodes: Mapping[str, Node], *, on_demand: bool
) -> Iterator[Part]:
    """By partition, and within one by checks."""
    alike: dict[tuple[str, tuple[Check, ...]], list[str]] = {}
    for pools in _alike(running, nodes):
        whole = _first(scheduler, pools)
        for pool in pools:
            home = whole or _first(scheduler, {pool})
            slots = [name for name in running[pool].slots if name in nodes]
            alike.setdefault((home, tuple(sorted(nodes[slots[0]].checks))), []).extend(slots)
    of_slurm = {name for pool in running for name in scheduler.pools[pool].burst} if on_demand else set()
    for (partition, _), slots in sorted(alike.items()):
        launched = frozenset(of_slurm.intersection(slots))
        yield Part(
            partition=partition,
            most_hours=scheduler.partitions[partition].max_hours,
            nodes=tuple(sorted(slots)),
            on_demand=launched,
            launched_within_s=_launched_within_s(scheduler) if launched else 0,
        )


def _alike(running: Mapping[str, PoolPlan], nodes: Mapping[str, Node]) -> list[list[str]]:
    """Pools by the checks that their nodes are proven by.

    Those that are alike are one job, if one partition has them all; else each is one in its own partition.
    """
    found: dict[frozenset[Check], list[str]] = {}
    for name, pool in running.items():
        checks = next(nodes[slot].checks for slot in pool.slots if slot in nodes)
        found.setdefault(checks, []).append(name)
    return list(found.values())


def _launched_within_s(scheduler: SlurmPlan) -> int:
    """For a node that is being given back just now, too: it is launched once it is gone."""
    times = scheduler.burst
    return times.suspend_within_s + times.resume_within_s if times else 0


def _pools_of(plan: Plan) -> Iterator[tuple[str, PoolPlan]]:
    """Pools that run jobs."""
    named = {name for scheduler in plan.slurm.values() for name in scheduler.pools}
    return ((name, pool) for name, pool in plan.pools.items() if name in named)


def _nodes(
    catalogue: Catalogue,
    scheduler: SlurmPlan,
    running: Mapping[str, PoolPlan],
    wanted: set[str],
    *,
    between: bool,
) -> Iterator[Node]:
    for name, pool in sorted(running.items()):
        declared = frozenset(catalogue.platforms[pool.platform].checks)
        checks = declared | {Check.LINK} if between else declared
        for slot in pool.slots.values():
            if slot.name in wanted:
                yield _node(pool, slot, scheduler.pools[name].memory_mib, checks)


def _node(pool: PoolPlan, slot: Slot, memory_mib: int | None, checks: frozenset[Check]) -> Node:
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
        nvlinks=has_nvlinks(pool.accelerator, pool.accelerators_per_node),
        checks=checks,
    )


def _bare(address: str | None) -> str:
    return (address or "").partition("/")[0]


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
        "no Slurm has all of these nodes, so no run is of all of them",
        code="VAL004",
        where="--limit",
        got=f"nodes of {', '.join(sorted(running))}",
        expected="pools of one scheduler",
        hint="run it once for each with --limit POOL",
    )
