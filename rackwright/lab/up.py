"""Bring a lab up: a plan in; networks, daemon, BMCs and AWS out, with all hosts as they were, at first off.

Every step looks at what is there and makes what is missing: the first run makes all, the next one
verifies, a run after a crash repairs.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.canonical import dumps, write_atomic
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import (
    authority,
    bmcs,
    doctor,
    files,
    labd,
    logins,
    processes,
    stale,
    supervisor,
    teardown,
)
from rackwright.lab.aws import run as emulated
from rackwright.lab.aws.types import instance_types
from rackwright.lab.faults import planted
from rackwright.lab.model import World
from rackwright.lab.places import Places
from rackwright.lab.protocol import TIMEOUT_S, Answer, LabdSilent, Request, Verb, ask
from rackwright.lab.status import read_world
from rackwright.lab.world import world_of
from rackwright.spec.references import locate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwright.catalogue.load import Catalogue
    from rackwright.lab.authority import Authority
    from rackwright.lab.aws.emulation import InstanceType
    from rackwright.plan.model import Plan
    from rackwright.spec.credentials import Credentials

_ONE_AT_A_TIME = "rackwright lab up"
_OTHERS_WITHIN_S = 300.0
_READY_WITHIN_S = 60.0
_BUILT_WITHIN_S = 300.0
_POLL_S = 0.1
_LOG_BYTES = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for.

    Args:
        plan: of the cluster.
        spec: where it was read from.
        world: what the plan's machines are.
        types: instance types of its cloud.
    """

    plan: Plan
    spec: Path
    world: World
    types: Mapping[str, InstanceType]

    @classmethod
    def of(cls, plan: Plan, catalogue: Catalogue, spec: Path) -> Wanted:
        """The lab of a plan, over the image in the cache.

        Raises:
            NotProvisionable: no lab can be that.
        """
        name = plan.cluster.name
        places = Places(name, paths.state(name), paths.run(name))
        world = world_of(plan, catalogue, spec, image(), places)
        return cls(plan, spec, world, instance_types(catalogue))


def image() -> Path:
    """Root of the hosts' image, by its content hash: a later image is another one."""
    return (paths.cache() / "image" / "current").resolve()


@dataclass(frozen=True, slots=True)
class Report:
    """What was done.

    Args:
        was_up: whether this lab was there before.
        cleared: what a crash had left.
        made: what was missing.
    """

    was_up: bool
    cleared: tuple[str, ...]
    made: tuple[str, ...]


def up(wanted: Wanted, tell: Callable[[str], None]) -> Report:
    """Make what is missing of a lab.

    Args:
        wanted: the lab.
        tell: is told of each thing cleared or made.

    Raises:
        EnvironmentUnfit: the machine lacks something, another lab of that name is up, or a step failed.
    """
    try:
        # Of two labs in one range, the second must see the first one's routes.
        with processes.machine_wide(_ONE_AT_A_TIME, _OTHERS_WITHIN_S):
            return _up(wanted, tell)
    except processes.StillHeld:
        raise teardown.busy(wanted.world.places) from None


def _up(wanted: Wanted, tell: Callable[[str], None]) -> Report:
    world, places = wanted.world, wanted.world.places
    teardown.refuse_namesake(places)
    doctor.require(doctor.Ground(world, Path(world.image)))
    places.lab.mkdir(parents=True, exist_ok=True, mode=0o700)
    with processes.exclusive(places.lab) as free:
        if not free or not places.lab.exists():
            raise teardown.busy(places)
        was_up = _claim(world)
        cleared = tuple(_told(tell, "cleared", stale.clear(world)))
        made = tuple(_told(tell, "made", _make(wanted)))
    return Report(was_up, cleared, made)


def _told(tell: Callable[[str], None], what: str, things: Iterator[str]) -> Iterator[str]:
    for thing in things:
        tell(f"{what} {thing}")
        yield thing


def _claim(world: World) -> bool:
    """Store the world, or see that it is the one that is stored; returns whether it was."""
    path = world.places.world
    if not path.exists():
        write_atomic(path, dumps(world))
        return False
    stored = read_world(world.places)
    if stored == world:
        return True
    raise EnvironmentUnfit(
        f"a lab named {world.cluster} is up, and it is another one than this spec describes",
        code="LAB014",
        where=str(path),
        got=f"another {', '.join(_differences(stored, world))}",
        expected="the same world",
        hint=f"`rackwright lab down {world.cluster}` first; its hosts and their disks go with it",
    )


def _differences(stored: World, world: World) -> Iterator[str]:
    """Names of what differs."""
    for name in World.model_fields:
        if getattr(stored, name) != getattr(world, name):
            yield name


def _make(wanted: Wanted) -> Iterator[str]:
    world, places = wanted.world, wanted.world.places
    places.run.parent.mkdir(parents=True, exist_ok=True)
    places.run.mkdir(exist_ok=True, mode=0o700)
    signer = _publish(wanted)
    bmcs.configure(world, _logins(wanted), signer)
    for path in (supervisor.NSPAWN_STATE, *(Path(host.console) for host in world.hosts)):
        files.note(places, path)
    yield from _daemon(places)
    yield from _asked(places, Verb.BUILD, _BUILT_WITHIN_S).text.splitlines()
    yield from bmcs.start(world, signer.pem, planted.broken_bmcs(places.faults))
    yield from emulated.start(world, wanted.plan, wanted.types)


def _publish(wanted: Wanted) -> Authority:
    """The authority, its certificate where each hall's spec says."""
    places = wanted.world.places
    signer = authority.authority(places.authority, places.cluster)
    for site in wanted.plan.sites.values():
        if site.kind == "onprem":
            files.publish(places, _locate(wanted, site.bmc.ca), signer.pem)
    return signer


def _locate(wanted: Wanted, reference: str) -> Path:
    return locate(reference, wanted.spec.resolve().parent, wanted.world.places.state)


def _logins(wanted: Wanted) -> dict[str, Credentials]:
    """Site → logins of its BMCs; halls may share one file."""
    places, folder = wanted.world.places, wanted.spec.resolve().parent
    references = {
        name: site.bmc.credentials for name, site in wanted.plan.sites.items() if site.kind == "onprem"
    }
    known = {}
    for reference in dict.fromkeys(references.values()):
        if not reference.startswith("env:"):
            files.note(places, _locate(wanted, reference))
        slots = [host.slot for host in wanted.world.hosts if references[host.site] == reference]
        known[reference] = logins.logins(reference, slots, folder, places)
    return {name: known[reference] for name, reference in references.items()}


def _daemon(places: Places) -> Iterator[str]:
    if processes.read_pid_file(places.labd_pid) is None:
        _start_daemon(places)
        yield "labd"
    _asked(places, Verb.LIST, TIMEOUT_S, tried_for_s=_READY_WITHIN_S)


def _asked(places: Places, verb: Verb, within_s: float, *, tried_for_s: float = 0.0) -> Answer:
    """One that another `up` had begun to start, and was killed, has its pid file before it listens."""
    end = time.monotonic() + tried_for_s
    while True:
        try:
            return ask(places.socket, Request(verb), within_s)
        except LabdSilent as silent:
            if time.monotonic() >= end or processes.read_pid_file(places.labd_pid) is None:
                raise _no_daemon(places, f"no answer to `{verb}`: {silent}") from None
        time.sleep(_POLL_S)


def _start_daemon(places: Places) -> None:
    log = places.logs / "labd.log"
    command = [sys.executable, "-I", "-m", labd.MODULE, *places.arguments()]
    _, said = processes.start(command, log, _READY_WITHIN_S)
    if said != labd.READY:
        raise _no_daemon(places, log.read_text(errors="replace")[-_LOG_BYTES:].strip() or "no word")


def _no_daemon(places: Places, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the lab's daemon does not run, or does not answer",
        code="LAB015",
        where=str(places.socket),
        got=got,
        hint=f"see {places.logs / 'labd.log'}; `rackwright lab up` tries again",
    )
