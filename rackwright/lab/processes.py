"""Processes that outlive the one that started them, and how they are known again.

A process id alone means nothing: it is used again, soon or after a reboot. A process is its id,
its start time and the boot of the machine; its pid file holds all three and is locked as long as
the process lives, so that it cannot run twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PROC = Path("/proc")
_STATE, _PARENT, _STARTED = 2, 3, 21
"""Places in /proc/PID/stat, from 0 (proc(5)); counted behind the name, which may hold anything."""
_POLL_S = 0.02


@dataclass(frozen=True, slots=True)
class Process:
    """One process of one boot of the machine.

    Args:
        pid: its id.
        started: clock ticks after the machine's boot.
        boot: the kernel's boot id.
    """

    pid: int
    started: int
    boot: str

    @classmethod
    def of(cls, pid: int) -> Process | None:
        """The living process of that id; a zombie is dead."""
        fields = _stat(pid)
        if fields is None or fields[_STATE] in "ZX":
            return None
        return cls(pid, int(fields[_STARTED]), boot_id())

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        return Process.of(self.pid) == self

    def kill(self, number: int = signal.SIGKILL) -> bool:
        """Send a signal to this process and to no other that has its id.

        Returns:
            Whether there was one to send it to.
        """
        try:
            handle = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return False
        try:
            if not self.alive:
                return False
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)
        return True


def boot_id() -> str:
    """The kernel's id of this boot of the machine."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def _stat(pid: int) -> list[str] | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    head, _, tail = text.rpartition(")")
    return [*head.split("(", 1), *tail.split()]


def parent(pid: int) -> int | None:
    """Id of a process's parent."""
    fields = _stat(pid)
    return int(fields[_PARENT]) if fields else None


def arguments(pid: int) -> list[str]:
    """A process's command line; empty for kernel threads and for the dead."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(word) for word in raw.rstrip(b"\0").split(b"\0")] if raw else []


def all_pids() -> list[int]:
    """Ids of all processes."""
    return sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())


def children(pid: int) -> list[int]:
    """Ids of a process's children."""
    try:
        text = (PROC / str(pid) / "task" / str(pid) / "children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def descendants(pid: int) -> Iterator[int]:
    """Ids of all below a process, parents first."""
    for child in children(pid):
        yield child
        yield from descendants(child)


def wait_gone(processes: Iterable[Process], seconds: float) -> list[Process]:
    """Wait until processes have ended.

    Returns:
        Those that have not.
    """
    left = list(processes)
    end = time.monotonic() + seconds
    while (left := [process for process in left if process.alive]) and time.monotonic() < end:
        time.sleep(_POLL_S)
    return left


def read_pid_file(path: Path) -> Process | None:
    """The living process that a pid file names; None where there is none."""
    try:
        fields = json.loads(path.read_text())
        process = Process(int(fields["pid"]), int(fields["started"]), str(fields["boot"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None  # gone, or cut short by a crash: no lock is held on such a file
    return process if process.alive else None


def spawn(command: Sequence[str], log: Path, *, stdout: int | None = None) -> int:
    """Start a program that outlives this one, in a session of its own.

    Args:
        command: the program, found on PATH, and its arguments.
        log: where its messages go, appended.
        stdout: where its standard output goes instead.

    Returns:
        Its process id.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    messages = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.posix_spawnp(
            command[0],
            list(command),
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing, 0),
                (os.POSIX_SPAWN_DUP2, messages if stdout is None else stdout, 1),
                (os.POSIX_SPAWN_DUP2, messages, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(messages)
        os.close(nothing)


def start(command: Sequence[str], log: Path, seconds: float) -> tuple[int, str]:
    """Start a program as `spawn` does, and hear what it says until it closes its standard output.

    Args:
        command: the program and its arguments.
        log: where its messages go.
        seconds: how long to listen at most.

    Returns:
        Its process id, and what it said.
    """
    reader, writer = os.pipe()
    try:
        try:
            pid = spawn(command, log, stdout=writer)
        finally:
            os.close(writer)
        return pid, _heard(reader, seconds)
    finally:
        os.close(reader)


def _heard(reader: int, seconds: float) -> str:
    said, end = b"", time.monotonic() + seconds
    while select.select([reader], [], [], max(0.0, end - time.monotonic()))[0]:
        more = os.read(reader, 1024)
        if not more:
            break
        said += more
    return said.decode(errors="replace").strip()


class AlreadyRuns(Exception):
    """Another process holds the pid file."""


def claim_pid_file(path: Path) -> int:
    """Write this process into a pid file and lock it for the rest of its life.

    Returns:
        The open file; whoever inherits it holds the lock too.

    Raises:
        AlreadyRuns: another process holds it.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise AlreadyRuns(str(path)) from None
    me = Process.of(os.getpid())
    os.ftruncate(handle, 0)
    os.pwrite(handle, json.dumps(asdict(me) if me else {}).encode(), 0)
    return handle


@contextlib.contextmanager
def exclusive(folder: Path) -> Iterator[bool]:
    """Hold a folder alone, for as long as the block runs; the lock dies with its holder.

    Yields:
        Whether it was free.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


class StillHeld(Exception):
    """Somebody else has held a lock for too long."""


@contextlib.contextmanager
def machine_wide(name: str, seconds: float) -> Iterator[None]:
    """Hold a name alone on this machine, without a file: an abstract socket, gone with its holder.

    Args:
        name: what is held.
        seconds: how long to wait for it.

    Raises:
        StillHeld: another process has it still.
    """
    end = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as held:
        while True:
            try:
                held.bind(f"\0{name}")
            except OSError:
                if time.monotonic() > end:
                    raise StillHeld(name) from None
                time.sleep(_POLL_S)
            else:
                break
        yield
