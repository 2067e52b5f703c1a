"""Plant and clear faults, and keep them on disk, so that they outlive labd.

What undoes a fault is on disk before anything is broken, and leaves it after it was undone: whatever
is cut off on the way can be cleared.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from rackwright.canonical import dumps, write_atomic
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import kept
from rackwright.lab.faults import subjects
from rackwright.lab.faults.fault import Planted, Stage
from rackwright.lab.faults.table import FAULTS
from rackwright.lab.rootfs import UnsafeRoot
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.lab.faults.fault import Fault
    from rackwright.lab.hosts import Hosts
    from rackwright.lab.model import World


class Record(Model):
    """What is planted, in the order of planting."""

    faults: tuple[Planted, ...] = ()


def read(path: Path) -> tuple[Planted, ...]:
    """The faults of a record; none where nothing was ever planted.

    Raises:
        EnvironmentUnfit: it is damaged, or was written by another version.
    """
    try:
        with kept.read_from(path):
            return Record.model_validate_json(path.read_text()).faults
    except FileNotFoundError:
        return ()


def broken_bmcs(path: Path) -> frozenset[str]:
    """Hosts of a record whose BMC does not answer as it should."""
    return frozenset(one.subject for one in read(path) if FAULTS[one.name].breaks_bmc)


class Faults:
    """The faults of one lab; used by labd alone."""

    def __init__(self, world: World, hosts: Hosts) -> None:
        self._stage = Stage(world, hosts)
        self._path = world.places.faults
        self._one_at_a_time = Lock()
        self._planted = read(self._path)

    def now(self) -> tuple[Planted, ...]:
        """What is planted; waits for nobody."""
        return tuple(one for one in self._planted if not self._is_over(one))

    def plant(self, name: str, subject: str) -> Planted:
        """Plant one; one that is there already is brought about again, and stays one.

        Args:
            name: of the fault.
            subject: its full name, or a slot.

        Raises:
            ValueError: no such fault or subject.
            EnvironmentUnfit: it cannot be planted now.
        """
        fault, full = self._find(name, subject)
        with self._one_at_a_time, _told_as_unfit(full):
            self._forget_what_is_over()
            planted = self._known(name, full)
            if planted is None:
                planted = fault.prepare(self._stage, full)
                self._keep(*self._planted, planted)
            fault.plant(self._stage, planted)
        return planted

    def clear(self, name: str = "") -> Iterator[Planted]:
        """Clear all, or all of a name, the last one first; each is told when it is gone.

        Raises:
            EnvironmentUnfit: one cannot be undone; it stays planted.
        """
        with self._one_at_a_time:
            self._forget_what_is_over()
            for planted in reversed(self._planted):
                if name in ("", planted.name):
                    with _told_as_unfit(planted.subject):
                        FAULTS[planted.name].clear(self._stage, planted)
                    self._keep(*(one for one in self._planted if one != planted))
                    yield planted

    def repair(self) -> None:
        """Bring back all that a rebuilt world lacks."""
        with self._one_at_a_time:
            self._forget_what_is_over()
            for planted in self._planted:
                with _told_as_unfit(planted.subject):
                    FAULTS[planted.name].repair(self._stage, planted)

    def _find(self, name: str, subject: str) -> tuple[Fault, str]:
        fault = FAULTS.get(name)
        if fault is None:
            msg = f"no such fault: {name}"
            raise ValueError(msg)
        full = subjects.find(self._stage.world, fault.kind, subject)
        if full is None:
            msg = f"no {fault.kind} to plant {name} on: {subject}"
            raise ValueError(msg)
        return fault, full

    def _known(self, name: str, subject: str) -> Planted | None:
        return next((one for one in self._planted if (one.name, one.subject) == (name, subject)), None)

    def _is_over(self, planted: Planted) -> bool:
        return FAULTS[planted.name].is_over(self._stage, planted.subject)

    def _forget_what_is_over(self) -> None:
        left = self.now()
        if left != self._planted:
            self._keep(*left)

    def _keep(self, *planted: Planted) -> None:
        write_atomic(self._path, dumps(Record(faults=planted)), mode=0o600)
        self._planted = planted


@contextmanager
def _told_as_unfit(subject: str) -> Iterator[None]:
    try:
        yield
    except UnsafeRoot as unsafe:
        raise EnvironmentUnfit(
            "a file of a host cannot be touched safely",
            code="LAB021",
            where=subject,
            got=str(unsafe),
            expected="plain files in plain folders",
            hint="somebody has put a link there: remove it on the host",
        ) from None
