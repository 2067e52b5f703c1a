"""Who is at work on a cluster, and who holds a stack of a folder backend: whether that process still lives.

The engine locks one stack with a file that stays when it is killed. A run of ours holds the cluster
with a lock of the kernel's, which no dead process holds: only beside it is a file judged by its pid.
Two containers may share a state and a name, and neither sees the other's processes.
"""

from __future__ import annotations

import socket
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from rackwright import locks
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = "work.lock"
"""In the cluster's state: held by the run that is at work on it."""
TAKEN = "UP003"
_UNWRITTEN = ".tmp"
"""End of the name of a file that the engine has not written in full yet (gocloud.dev, fileblob)."""


@contextmanager
def at_work(state: Path) -> Iterator[None]:
    """Be the one run that is at work on a cluster, on whichever of its stacks: they share plan and seeds.

    Args:
        state: the cluster's folder; made if it is not there.

    Raises:
        EnvironmentUnfit: another run is; the error says which. Or its file system keeps no locks.
    """
    state.mkdir(parents=True, exist_ok=True)
    with locks.alone(state / WORK, lambda holder: _busy(state / WORK, holder)):
        yield


def worker(state: Path) -> str:
    """Who is at work on a cluster now; empty if nobody is. Nothing is made."""
    return locks.holder(state / WORK)


def _busy(lock: Path, holder: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "another run is at work on this cluster",
        code=TAKEN,
        where=str(lock),
        got=holder,
        expected="a lock that nobody holds",
        hint="wait for it; its lock goes when it ends, even when it is killed",
    )


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
    files = sorted(_folder(state, project, stack).glob("*.json"))
    return [holder for file in files if (holder := _holder(file))]


def _folder(state: Path, project: str, stack: str) -> Path:
    return state / "engine" / ".pulumi" / "locks" / "organization" / project / stack


def _holder(file: Path) -> Holder | None:
    try:
        return _Written.model_validate_json(file.read_bytes()).holder(file)
    except ValidationError:
        # Cut short, by a full disk or a power cut: nobody's that we could prove dead.
        return _Written().holder(file)
    except FileNotFoundError:
        # Let go of since the folder was listed.
        return None


def release_dead(state: Path, project: str, stack: str) -> list[Holder]:
    """Take away the locks of dead processes of this machine, and return them; for who is `at_work` alone.

    The engine refuses to import a state beside a lock that a full disk kept from being written.
    """
    unwritten = _folder(state, project, stack).glob(f"*{_UNWRITTEN}")
    dead = [holder for holder in holders(state, project, stack) if holder.dead]
    dead += [_Written().holder(file) for file in sorted(unwritten) if not _is_open(file)]
    for holder in dead:
        holder.file.unlink(missing_ok=True)
    return dead


def _is_open(file: Path) -> bool:
    """Whether a process has it open, as far as we may see: the engine writes one, then gives it its name."""
    for handle in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):
            if handle.samefile(file):
                return True
    return False
