"""Ctrl-C and a supervisor's SIGTERM go to who brings a run to its end in its order."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def taken_by(
    on_signal: Callable[[int, FrameType | None], None], numbers: Sequence[signal.Signals] = STOPPING
) -> Iterator[None]:
    """Within it these signals call a function instead of ending us; in the main thread, as Python has it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
