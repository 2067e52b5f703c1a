"""What a lab's hosts are doing now, whether its daemon lives or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.lab import kept
from rackwright.lab.aws import run as emulated
from rackwright.lab.cloud.instances import Instances
from rackwright.lab.faults.planted import Faults
from rackwright.lab.hosts import Hosts
from rackwright.lab.model import World
from rackwright.lab.protocol import Answer, LabdSilent, NamedFault, Request, Verb, ask

if TYPE_CHECKING:
    from rackwright.lab.cloud.wire import Instance
    from rackwright.lab.places import Places

NO_ROLE = "compute"
"""What a host of a pool without roles does."""


@dataclass(frozen=True, slots=True)
class HostStatus:
    """One host.

    Args:
        name: its slot; of an instance that has no slot its id.
        pool: of the cluster.
        role: of its pool.
        site: where it is.
        state: ``off``, ``booting`` or ``on``.
        instance: its id in the cloud; None in a hall.
    """

    name: str
    pool: str
    role: str
    site: str
    state: str
    instance: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """A lab.

    Args:
        labd: whether its daemon answers; without it no BMC can do anything.
        hosts: all of it.
        faults: that were planted and are not cleared.
        emulator: whether its AWS runs; None where it has no cloud.
    """

    labd: bool
    hosts: tuple[HostStatus, ...]
    faults: tuple[NamedFault, ...] = ()
    emulator: bool | None = None


def status(places: Places) -> Status | None:
    """State of a lab now; None where there is none.

    Raises:
        EnvironmentUnfit: it is damaged, or was made by another version of rackwright.
    """
    if not places.world.exists():
        return None
    world = read_world(places)
    answers, now = _now(world)
    states = now.states or {}
    hosts = tuple(
        HostStatus(host.slot, host.pool, ",".join(host.roles) or NO_ROLE, host.site, states[host.slot])
        for host in world.hosts
    )
    return Status(answers, (*hosts, *map(_instance, now.instances)), now.faults, emulated.alive(places))


def _instance(one: Instance) -> HostStatus:
    return HostStatus(one.slot or one.instance, one.pool, NO_ROLE, one.site, one.state, one.instance)


def _now(world: World) -> tuple[bool, Answer]:
    """From labd; where it is dead, from the same places where it looks."""
    try:
        return True, ask(world.places.socket, Request(Verb.LIST))
    except LabdSilent:
        hosts = Hosts(world)
        states: dict[str, str] = {host.slot: hosts.state(host.slot) for host in world.hosts}
        faults = Faults(world, hosts).now()
        return False, Answer(
            states=states,
            faults=tuple(NamedFault(one.name, one.subject) for one in faults),
            instances=Instances(world, hosts).now(),
        )


def read_world(places: Places) -> World:
    """The stored world of a lab.

    Raises:
        EnvironmentUnfit: not readable by this version.
    """
    with kept.read_from(places.world):
        return World.model_validate_json(places.world.read_text())
