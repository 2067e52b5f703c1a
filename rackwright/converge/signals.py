"""Ctrl-C and a supervisor's SIGTERM go to who brings a run to its end in its order."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


@contextmanager
def taken_by(on_signal: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM stop a run instead of ending us before what it has begun."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
