"""Hosts that run jobs, as Slurm said when it was last asked: a note in the state folder.

`up` writes it before the engine runs, and the provider reads it, also under a plain `pulumi up`. It
holds no secret and is no desired state: it lies beside the plan and not in it, so that jobs that
come and go change no plan and no stack. An old note counts for nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AwareDatetime, Field, ValidationError

from rackwright import canonical
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NOTE = "busy.json"
FRESH = timedelta(minutes=15)
"""As long as an `up` of a big hall may take; a host whose job has ended is held no longer than that."""


class Busy(Model):
    """The note."""

    schema_: Annotated[Literal["rackwright/busy/1"], Field(alias="schema")] = "rackwright/busy/1"
    asked: AwareDatetime
    """When Slurm was asked, UTC."""
    hosts: dict[str, str]
    """Slot → why it is held: ``runs Slurm job 12 of alice``."""


def write(state: Path, hosts: Mapping[str, str], now: datetime | None = None) -> None:
    """Note which hosts run jobs, none included.

    Raises:
        OSError: it could not be written whole; the old note stays.
    """
    note = Busy(asked=now or datetime.now(UTC), hosts=dict(hosts))
    canonical.write_atomic(state / NOTE, canonical.dumps(note), mode=0o600)


def read(state: Path, now: datetime | None = None) -> dict[str, str]:
    """Hosts that run jobs, slot → reason; none where the note is missing, old, or no note."""
    try:
        note = Busy.model_validate_json((state / NOTE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return {}
    age = (now or datetime.now(UTC)) - note.asked
    return note.hosts if timedelta(0) <= age <= FRESH else {}
