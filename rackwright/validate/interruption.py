"""What ends a run ends a validation in its order, too: the job cancelled, its evidence kept."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.signals import STOPPING, heeded, taken_by

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import FrameType


def stoppable() -> AbstractContextManager[None]:
    """Within it either of them raises KeyboardInterrupt, once, also where Ctrl-C was ignored before.

    A second one changes nothing: what is left to do then is bounded, and must not be left undone.
    """
    return taken_by(_stop)


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
    for each in heeded(STOPPING):
        signal.signal(each, _nothing_more)
    if _THE_STOP.must_wait:
        _THE_STOP.has_come = True
    else:
        raise KeyboardInterrupt


def _nothing_more(number: int, frame: FrameType | None) -> None:
    """Take one that came with the first: where it were ignored, Python would complain of that race."""
    del number, frame
