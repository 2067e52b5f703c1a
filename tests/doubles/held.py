"""A call of an emulated AWS that is done, while its caller has not heard of it: the place to cut one off."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.doubles.cutting import WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tests.doubles.ec2 import Cloud


class Held:
    """The first call of some names; its answer is held back.

    Args:
        calls: their names.
    """

    def __init__(self, calls: Collection[str]) -> None:
        self.call = ""
        """Its name, once it is done."""
        self._calls = frozenset(calls)
        self._first, self.heard = threading.Lock(), threading.Event()

    def __call__(self, name: str) -> None:
        """Hold the answer to a call, if it is the first of those."""
        if name in self._calls and self._first.acquire(blocking=False):
            self.call = name
            self.heard.wait(WITHIN_S)


@contextmanager
def held(cloud: Cloud, calls: Collection[str]) -> Iterator[Held]:
    """Until the block ends, the answer to the first call of these names is held back."""
    cloud.on_answer = holding = Held(calls)
    try:
        yield holding
    finally:
        cloud.on_answer = None
        holding.heard.set()
