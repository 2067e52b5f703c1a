"""The guests' network: a namespace of its own, with a bridge for each network and a tap for each card.

Nothing of it is seen outside. A test runs in that namespace, and so does all that it starts: guests are
reached at the addresses of the plan.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.lab.commands import run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwright.lab.netns import Namespace

_CLONE_NEWNET = 0x40000000
_OWN = Path("/proc/thread-self/ns/net")


@dataclass(frozen=True)
class Network:
    """Bridges of one run.

    Args:
        namespace: where they are.
        bridges: one for each card of a guest.
    """

    namespace: Namespace
    bridges: Sequence[str]

    def make(self, outer: str) -> None:
        """Make it; this machine has an address on the first bridge.

        Args:
            outer: that address, with its prefix length.
        """
        self.namespace.make()
        for bridge in self.bridges:
            self.namespace.ip("link", "add", bridge, "type", "bridge")
            self.namespace.ip("link", "set", bridge, "up")
        self.namespace.ip("address", "add", outer, "dev", self.bridges[0])

    def add_taps(self, guest: int) -> list[str]:
        """Interfaces behind the cards of a guest, in their order."""
        taps = [f"tap{guest}-{number}" for number in range(len(self.bridges))]
        for tap, bridge in zip(taps, self.bridges, strict=True):
            self.namespace.ip("tuntap", "add", tap, "mode", "tap")
            self.namespace.ip("link", "set", tap, "master", bridge, "up")
        return taps

    def forget_neighbours(self) -> None:
        """Ask for guests' addresses anew, by which they learn ours.

        A saved guest knows the bridge by the address that it had then, and would answer that one for half a
        minute.
        """
        self.namespace.ip("neigh", "flush", "all")

    def cut(self, tap: str) -> None:
        """Pull a cable."""
        self.namespace.ip("link", "set", tap, "nomaster")

    def mend(self, tap: str) -> None:
        """Put it back."""
        self.namespace.ip("link", "set", tap, "master", self.bridges[int(tap.partition("-")[2])])

    def remove(self) -> None:
        """Take all of it away."""
        run("ip", "netns", "delete", self.namespace.name)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Be in it, with all that is started meanwhile."""
        before = os.open(_OWN, os.O_RDONLY)
        try:
            _set(self.namespace.path)
            yield
        finally:
            _set_handle(before)
            os.close(before)


def _set(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        _set_handle(handle)
    finally:
        os.close(handle)


def _set_handle(handle: int) -> None:
    """Python has `os.setns` from 3.12 on."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.setns(handle, _CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
