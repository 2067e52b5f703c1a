"""Stands between a converge and one `ansible-playbook`: no process of it outlives the converge.

    python -m rackwright.converge.leash CONVERGE STOP_PIPE LOCK_FILE PROGRAM ARGUMENT…

Ansible's workers are sessions of their own, and ansible-runner ends only the session of its child:
neither a kill of the converge nor of the runner would reach them. This process adopts all of them
(PR_SET_CHILD_SUBREAPER, prctl(2)). When the stop pipe asks for an end, tasks that have begun may end
(`callback/between_tasks.py` begins no others); what is not over in time, or when it asks for one at
once, is interrupted, then killed. When the converge (its process id) is gone, all is killed at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rackwright.converge.lock import held_by_runner
from rackwright.converge.stop_pipe import NOW, Listener

GRACE_S = 30.0
"""For tasks that have begun when a run is stopped; the longest of our roles takes half of it."""
_INTERRUPT_S = 5.0
"""For Ansible to end its workers after SIGINT."""
_POLL_S = 0.1
_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")


def main(converge: str, stop_pipe: str, lock_file: str, *command: str) -> int:
    """Run a command to its end, or until it is stopped."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # The converge tells us by the stop pipe; a terminal or an operator that signals the whole
    # tree must not end us before those we look after.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    stop = Listener(Path(stop_pipe))
    with held_by_runner(Path(lock_file)), subprocess.Popen(command) as process:
        _watch(process, int(converge), stop)
        return process.returncode


def _watch(process: subprocess.Popen[bytes], converge: int, stop: Listener) -> None:
    deadline = 0.0
    while process.poll() is None:
        asked = stop.asked()
        if os.getppid() != converge:
            _kill_all(process)
        elif asked and not deadline:
            deadline = time.monotonic() + GRACE_S
        elif deadline and (time.monotonic() > deadline or asked >= NOW):
            _interrupt(process)
        time.sleep(_POLL_S)


def _interrupt(process: subprocess.Popen[bytes]) -> None:
    """Ansible passes SIGINT on to its workers; one that hangs is killed, and all that it leaves."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_INTERRUPT_S)
    _kill_all(process)


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill all descendants, until there are none: one that is being born has its parent killed first."""
    while doomed := _descendants(os.getpid()):
        for pid in doomed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()  # before all others are taken leave of: it has the status that we end with
        time.sleep(_POLL_S / 10)
        _reap()


def _descendants(pid: int) -> list[int]:
    found = _children(pid)
    return found + [below for child in found for below in _descendants(child)]


def _children(pid: int) -> list[int]:
    """Living children of all threads of a process (proc(5), task/children)."""
    words: list[str] = []
    for file in _PROC.glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            words += file.read_text().split()
    return [int(word) for word in words]


def _reap() -> None:
    """Take leave of the dead that came to us."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
