"""What earlier runs said of the nodes of a run: `history.json` of its folder, written when it begins.

A run is judged by what lies in its folder and by nothing else; so what it is told of others is a file of it,
under a hash as all of them are, and is the same wherever and whenever it is judged.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Model

SCHEMA: Literal["rackwright/history/1"] = "rackwright/history/1"


class Earlier(Model):
    """What one run said of one node, whose machine is the same today."""

    run: str
    """Name of its folder."""
    started: str
    """RFC 3339, UTC."""
    failed: bool
    """Whether the node, or a port of it, was itself at fault; else it passed."""
    subject: str = ""
    """What failed: ``node-002``, ``node-002/r1``."""
    criterion: str = ""
    """By which."""


class History(Model):
    """What is known of the nodes of a run before it began."""

    schema_: Annotated[Literal["rackwright/history/1"], Field(alias="schema")] = SCHEMA
    runs: tuple[str, ...] = ()
    """Runs that were read, the oldest first."""
    nodes: dict[str, tuple[Earlier, ...]] = {}
    """Slot → what they said of it, the oldest first; of slots whose machine they tell of."""
    unread: dict[str, str] = {}
    """Run → why it says nothing."""
    cleared: dict[str, str] = {}
    """Slot → day up to which nothing is told of it, as a person has it in `cleared.yaml`."""
