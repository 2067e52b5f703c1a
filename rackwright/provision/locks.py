"""Who holds a stack of a folder backend, and whether that process still lives."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ValidationError

_UNWRITTEN = ".tmp"
"""End of the name of a file that the engine has not written in full yet (gocloud.dev, fileblob)."""


@dataclass(frozen=True, slots=True)
class Holder:
    """One lock, as the engine wrote it."""

    file: Path
    pid: int
    user: str
    host: str
    since: str

    @property
    def dead(self) -> bool:
        """Whether it was taken on this machine by a process that is gone."""
        return self.host == socket.gethostname() and not _is_engine(self.pid)

    def __str__(self) -> str:
        if not self.pid:
            return "a process that could not write who it is"
        return f"process {self.pid} of {self.user} on {self.host}, since {self.since}"


class _Written(BaseModel):
    """A lock's file (pulumi 3.272, pkg/backend/diy/lock.go)."""

    pid: int = 0
    username: str = ""
    hostname: str = ""
    timestamp: str = ""

    def holder(self, file: Path) -> Holder:
        return Holder(file, self.pid, self.username, self.hostname, self.timestamp)


def _is_engine(pid: int) -> bool:
    """Whether a process of that id runs `pulumi`; ids are used again."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 (no path of ours)
            return b"pulumi" in file.read().partition(b"\0")[0]
    except FileNotFoundError:
        return False


def holders(state: Path, project: str, stack: str) -> list[Holder]:
    """Locks on a stack whose state lies in the cluster's folder; none for other backends."""
    return [_holder(file) for file in sorted(_folder(state, project, stack).glob("*.json"))]


def _folder(state: Path, project: str, stack: str) -> Path:
    return state / "engine" / ".pulumi" / "locks" / "organization" / project / stack


def _holder(file: Path) -> Holder:
    try:
        return _Written.model_validate_json(file.read_bytes()).holder(file)
    except ValidationError:
        # Cut short, by a full disk or a power cut: nobody's that we could prove dead.
        return _Written().holder(file)


def release_dead(state: Path, project: str, stack: str) -> list[Holder]:
    """Take away the locks of dead processes of this machine, and return them.

    The engine refuses to import a state beside a lock that a full disk kept from being written.
    """
    unwritten = _folder(state, project, stack).glob(f"*{_UNWRITTEN}")
    dead = [holder for holder in holders(state, project, stack) if holder.dead]
    dead += [_Written().holder(file) for file in sorted(unwritten) if not _is_open(file)]
    for holder in dead:
        os.unlink(holder.file)  # noqa: PTH108 (missing is an error here)
    return dead


def _is_open(file: Path) -> bool:
    """Whether a process has it open, as far as we may see: the engine writes one, then gives it its name."""
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if handle.samefile(file):
                return True
    return False
