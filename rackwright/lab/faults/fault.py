"""What a fault is: a name, words for its user, and how it comes into the world and goes out again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rackwright.spec.base import Model

if TYPE_CHECKING:
    from rackwright.lab.faults.subjects import SubjectKind
    from rackwright.lab.hosts import Hosts
    from rackwright.lab.model import World


@dataclass(frozen=True, slots=True)
class Stage:
    """Where faults are planted.

    Args:
        world: how it was built.
        hosts: power and files of its hosts.
    """

    world: World
    hosts: Hosts


class Kept(Model):
    """What a file was like before a fault changed it."""

    path: str
    """Relative to the host's root."""
    base64: str | None
    """Its bytes; None where there was no such file."""
    mode: int = 0
    owner: tuple[int, int] = (0, 0)
    folders: int = 0
    """How many folders above it were not there either."""


class Planted(Model):
    """One fault on one subject, with what is needed to undo it."""

    name: str
    subject: str
    kept: tuple[Kept, ...] = ()


class Fault(ABC):
    """One kind of fault.

    `prepare` changes nothing. `plant` and `clear` do the same whether they run once or again: after a
    crash of labd or a reboot of the machine they do.
    """

    name: ClassVar[str]
    kind: ClassVar[SubjectKind]
    does: ClassVar[str]
    """What is broken, in one clause."""
    shows: ClassVar[str]
    """How a verdict shows it, in one clause."""
    breaks_bmc: ClassVar[bool] = False
    """Whether the BMC of its host does not answer as it should."""

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """See that it can be planted, and take down what will undo it.

        Raises:
            EnvironmentUnfit: it cannot be planted now.
        """
        del stage
        return Planted(name=self.name, subject=subject)

    @abstractmethod
    def plant(self, stage: Stage, planted: Planted) -> None:
        """Bring it into the world."""

    @abstractmethod
    def clear(self, stage: Stage, planted: Planted) -> None:
        """Make the world as it was before."""

    def repair(self, stage: Stage, planted: Planted) -> None:
        """Bring it back where the world was built anew below it."""
        self.plant(stage, planted)

    def is_over(self, stage: Stage, subject: str) -> bool:
        """Whether somebody has mended it by what a machine room can do: switched a host on."""
        del stage, subject
        return False
