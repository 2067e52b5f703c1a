"""What one operation on one stack did: changes per slot, failures, held hosts, outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwright.canonical import Json
    from rackwright.errors import Failure
    from rackwright.provision.notes import Change
    from rackwright.provision.stacks import StackName


@dataclass
class Report:
    """One stack after (or, for a preview, before) an operation."""

    name: StackName
    changes: tuple[Change, ...] = ()
    """By slot."""
    resources: dict[str, int] = field(default_factory=dict)
    """Operation → resources, as the engine counts them."""
    failures: tuple[Failure, ...] = ()
    held: dict[str, str] = field(default_factory=dict)
    """Slot → why it is not touched."""
    orphans: dict[str, str] = field(default_factory=dict)
    """Instance that fills no slot → why."""
    standing: str = ""
    """How many slots are filled: ``3 of 3 hosts on``."""
    outputs: Json = None
    """The stack's one output object, as JSON has it; None where there is none."""
    not_run: str = ""
    """Why the operation was not run; empty where it was."""
