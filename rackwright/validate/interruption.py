"""Ctrl-C and a supervisor's SIGTERM end a validation in its order: the job cancelled, its evidence kept."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stoppable() -> Iterator[None]:
    """Within it either signal raises KeyboardInterrupt, once, also where it was ignored before.

    A second one changes nothing: what is left to do then is bounded, and must not be left undone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _stop) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass
class _Stop:
    """A stop that came while it had to wait."""

    must_wait: bool = False
    has_come: bool = False


_THE_STOP = _Stop()


@contextmanager
def held_back() -> Iterator[None]:
    """A stop within it is raised at its end: a thread that is just being started would be nobody's."""
    _THE_STOP.must_wait, _THE_STOP.has_come = True, False
    try:
        yield
    finally:
        _THE_STOP.must_wait = False
    if _THE_STOP.has_come:
        raise KeyboardInterrupt


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    for each in STOPPING:
        signal.signal(each, _nothing_more)
    if _THE_STOP.must_wait:
        _THE_STOP.has_come = True
    else:
        raise KeyboardInterrupt


def _nothing_more(number: int, frame: FrameType | None) -> None:
    """Take one that came with the first: where it were ignored, Python would complain of that race."""
    del number, frame
