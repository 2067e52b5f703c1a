"""Ctrl-C, a supervisor's SIGTERM and a lost terminal go to who brings a run to its end in its order."""

from __future__ import annotations

import os
import signal
import stat
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STDOUT, STDERR = 1, 2
Handler: TypeAlias = "Callable[[int, FrameType | None], None]"


@contextmanager
def taken_by(on_signal: Handler, numbers: Sequence[signal.Signals] = STOPPING) -> Iterator[None]:
    """Within it these signals call a function instead of ending us; in the main thread, as Python has it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    taken = _Taken(on_signal)
    before = {number: signal.signal(number, taken) for number in heeded(numbers)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def heeded(numbers: Sequence[signal.Signals]) -> list[signal.Signals]:
    """Without the hang-up where it is ignored: what was begun by ``nohup`` is to outlive its terminal."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [number for number in numbers if number is not signal.SIGHUP or not ignored]


@dataclass
class _Taken:
    """Passes signals on; of hang-ups only one that comes first, and with it the next signal of another kind.

    The kernel, the shell and systemd each send one for the same lost terminal, systemd a SIGTERM as
    well: that is somebody who went away, and nobody who asks for the second time.
    """

    on_signal: Handler
    _asked: int = 0
    _passed: int = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            leave_terminal()
        else:
            self._asked += 1
        if self._passed < max(1, self._asked):
            self._passed += 1
            self.on_signal(number, frame)


def leave_terminal() -> None:
    """Print to nobody from now on what went to a terminal that is gone, where each write would fail."""
    for handle in filter(is_gone, (STDOUT, STDERR)):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, handle)
        os.close(nowhere)


def is_gone(handle: int) -> bool:
    """Whether a handle is of a terminal that was lost; of such a one the kernel knows no more than that."""
    with suppress(OSError):
        return stat.S_ISCHR(os.fstat(handle).st_mode) and not os.isatty(handle)
    return False
