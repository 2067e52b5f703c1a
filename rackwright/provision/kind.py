"""What the engine's side needs of a kind of node set: its models, what differs, and what is done.

A set is one resource with many slots: `rackwright:onprem:HostSet` and `rackwright:aws:NodeSet` have
one contract; beside it only what is left over in EC2, and what is held in a hall, is told by its kind.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rackwright.provision.onprem.reconcile import Reconciler
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwright.errors import Failure
    from rackwright.provision.notes import Change
    from rackwright.provision.places import Folders

W = TypeVar("W", bound=Model)
F = TypeVar("F", bound=Model)


@dataclass
class Process:
    """What all sets of one plugin process share.

    Args:
        folders: what references are relative to.
        reconciler: the one that brings up hosts.
        stopped: whether nothing further is to begin.
    """

    folders: Folders
    reconciler: Reconciler = field(default_factory=Reconciler)
    stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Begin nothing further."""
        self.stopped.set()
        self.reconciler.stop()


class Kind(ABC, Generic[W, F]):
    """One type of resource."""

    token: ClassVar[str]
    """Its type."""
    slots: ClassVar[str]
    """Property that holds its slots."""
    noun: ClassVar[str]
    """What fills a slot."""
    wanted: type[W]
    """Model of its inputs."""
    found: type[F]
    """Model of its state."""

    @abstractmethod
    def changes(self, found: F | None, wanted: W | None) -> list[Change]:
        """What differs, slot by slot."""

    @abstractmethod
    def ground(self, found: F, wanted: W) -> list[str]:
        """Names of the properties that differ for the set as a whole."""

    @abstractmethod
    def drift(self, before: F, after: F) -> list[Change]:
        """What became of slots between two looks."""

    @abstractmethod
    def failures(self, found: F) -> Iterable[Failure]:
        """Slots that are not as wanted, each with its reason."""

    @abstractmethod
    def standing(self, found: F) -> tuple[int, int]:
        """How many slots are filled, of how many."""

    @abstractmethod
    def foreseen(self, wanted: W) -> F:
        """What a preview expects."""

    def previewed(self, process: Process, found: F | None, wanted: W) -> F:
        """What a preview expects, after a look at slots that no state knows; changes nothing."""
        del process, found
        return self.foreseen(wanted)

    @abstractmethod
    def drifted(self, wanted: W, found: F) -> W:
        """Inputs as they would have to be for the slots to be as wanted."""

    @abstractmethod
    def bring_up(self, process: Process, found: F | None, wanted: W) -> F:
        """Make the slots as wanted."""

    @abstractmethod
    def read(self, process: Process, found: F, wanted: W) -> F:
        """Look at every slot; changes nothing."""

    @abstractmethod
    def remove(self, process: Process, found: F) -> None:
        """The set is destroyed."""

    @abstractmethod
    def outputs(self, site: str, found: Sequence[F]) -> Model:
        """Outputs of a stack of such sets."""
