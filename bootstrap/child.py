"""Child processes of set-up: their output goes to a log, and they end when set-up ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_TAIL_LINES, _TAIL_COLUMNS = 12, 200


@dataclass
class ChildFailed(Exception):
    """A command ended badly; the caller says what that means for the user."""

    command: str
    code: int
    log: Path
    tail: str

    @property
    def no_space(self) -> bool:
        """Whether the command says that a file system is full."""
        return "No space left on device" in self.tail


def run(  # noqa: PLR0913 (a command, where it writes, and the three ways to shape its world)
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path | None = None,
    extra: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
    finish: bool = False,
) -> None:
    """Run a command to its end.

    Args:
        command: program and arguments; nothing is read from standard input.
        log: file that gets all it prints.
        cwd: its working folder.
        extra: environment variables on top of ours.
        timeout_s: seconds after which it counts as failed.
        finish: let it come to its own end even when set-up is killed, as a package manager must.

    Raises:
        ChildFailed: exit status other than 0, or out of time (code 124, as timeout(1) has it).
    """
    words = [str(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        output.write(f"$ {' '.join(words)}\n".encode())
        output.flush()
        process = subprocess.Popen(
            words if finish else [*_tied(), *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(extra or {})},
        )
        code = _ended(process, timeout_s, finish=finish)
    if code:
        raise ChildFailed(words[0], code, log, _tail(log))


def _tied() -> list[str]:
    """Prefix by which the kernel ends a child whose parent was killed."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _ended(process: subprocess.Popen[bytes], timeout_s: float | None, *, finish: bool) -> int:
    """Exit status of a child; none is left behind, whatever stops the waiting."""
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM if finish else signal.SIGKILL)
            process.wait()


def _tail(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return "\n".join(line[:_TAIL_COLUMNS] for line in lines[-_TAIL_LINES:])


def answer(command: Sequence[str | Path], *, extra: Mapping[str, str] | None = None) -> str:
    """First line a command prints; empty if it cannot be run, fails or says nothing in 30 s."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
            env={**os.environ, **(extra or {})},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return next(iter(done.stdout.splitlines()), "").strip()
