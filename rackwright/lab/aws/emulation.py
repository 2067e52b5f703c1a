"""What the emulator knows of the world outside moto: real machines, faults, types, and the time.

moto keeps its state in modules, so one process is one emulated AWS, and `current` is its world.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Interface:
    """A network interface of a machine.

    Args:
        card: network card index.
        device: device index.
        kind: ``interface``, ``efa`` or ``efa-only``.
        mac: its address.
        address: IPv4; empty for efa-only, which has none.
    """

    card: int
    device: int
    kind: str
    mac: str
    address: str


@dataclass(frozen=True, slots=True)
class Machine:
    """What is launched.

    Args:
        instance: its id.
        kind: instance type.
        image: AMI id.
        interfaces: the first is the primary one.
        user_data: as given, in base64.
        tags: of the instance.
    """

    instance: str
    kind: str
    image: str
    interfaces: tuple[Interface, ...]
    user_data: str
    tags: Mapping[str, str]


class MachineRefused(Exception):
    """The machine could not be started; EC2 shows such an instance as terminated, with the reason.

    Args:
        code: EC2's state reason: ``Server.InsufficientInstanceCapacity``, ``Server.InternalError``.
        why: in words.
    """

    def __init__(self, code: str, why: str) -> None:
        super().__init__(f"{code}: {why}")
        self.code = code
        self.why = why


class WorldSilent(Exception):
    """Nobody answers for the machines; the caller may try again."""


class Machines(Protocol):
    """Real machines behind instances: labd in a lab, a double in tests."""

    def launch(self, machine: Machine) -> None:
        """Start it; once more with the same id changes nothing.

        Raises:
            MachineRefused: it cannot be started.
        """

    def terminate(self, instance: str) -> None:
        """Take it away with its disk; one that is not there is no error.

        Raises:
            WorldSilent: nobody can.
        """

    def states(self) -> Mapping[str, str]:
        """Instance id → ``off``, ``booting`` or ``on`` (its sshd answers)."""

    def console(self, instance: str) -> str:
        """What it has printed."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What is broken on purpose.

    Args:
        throttled_every: each so many-th call is refused; 0 for none.
        capacity: pool or type → how many instances more of it can start.
    """

    throttled_every: int = 0
    capacity: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceType:
    """An instance type as the catalogue has it.

    Args:
        name: of it.
        cards: network card index → most interfaces on it.
        efa_cards: cards that can carry an EFA.
        efa_interfaces: most of them in all.
        vcpus: of it.
        memory_mib: of it.
        launchable: whether the lab has such machines; others can be asked about, and dry run.
    """

    name: str
    cards: tuple[int, ...]
    efa_cards: frozenset[int]
    efa_interfaces: int
    vcpus: int = 1
    memory_mib: int = 1024
    launchable: bool = True


@dataclass(slots=True)
class Clock:
    """Time of day; during a call that is kept it stands still, so that its replay tells the same."""

    stopped_at: datetime | None = None

    def now(self) -> datetime:
        """The time, without a zone, as moto has it."""
        return self.stopped_at or datetime.now(UTC).replace(tzinfo=None)


@dataclass(slots=True)
class World:
    """All that is outside moto.

    Args:
        machines: behind the instances.
        types: instance types by name.
        faults: reads what is broken now.
        visible_after_s: how long describing a new instance by its id finds nothing.
        images: AMI ids that exist; empty for any.
        silent: while calls are replayed, machines are left as they are.
        refused: instance id → code and reason of those that did not start in this call.
    """

    machines: Machines
    types: Mapping[str, InstanceType]
    faults: Callable[[], Faults] = Faults
    visible_after_s: float = 0.0
    images: frozenset[str] = frozenset()
    clock: Clock = field(default_factory=Clock)
    silent: bool = False
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)
    _states: Mapping[str, str] | None = None

    def state(self, instance: str) -> str:
        """``off``, ``booting`` or ``on``; asked once a call."""
        if self._states is None:
            self._states = {} if self.silent else self.machines.states()
        return self._states.get(instance, "off")

    def begin_call(self, at: datetime | None, refused: Mapping[str, tuple[str, str]]) -> None:
        """A call begins: time stands still, and machines are looked at anew.

        Args:
            at: the time; None for now.
            refused: while it is replayed, what did not start when it was made.
        """
        self._states = None
        self.clock.stopped_at = at
        self.refused = dict(refused)

    def launch(self, machine: Machine) -> None:
        """Start it; while calls are replayed it is as it was.

        Raises:
            MachineRefused: it cannot be started.
        """
        if self.silent:
            if machine.instance in self.refused:
                raise MachineRefused(*self.refused[machine.instance])
            return
        try:
            self.machines.launch(machine)
        except MachineRefused as refused:
            self.refused[machine.instance] = (refused.code, refused.why)
            raise

    def terminate(self, instance: str) -> None:
        """Take it away, unless this is only stopped_at."""
        if not self.silent:
            self.machines.terminate(instance)


_worlds: list[World] = []


def enter(world: World) -> None:
    """Let this be the world of this process."""
    _worlds[:] = [world]


def current() -> World:
    """The world of this process."""
    return _worlds[0]
