"""Ends this process when the one that started it is gone.

An engine killed with ``kill -9`` leaves its plugins behind, and ours would go on powering hosts
on beside the next run. Two plugins that read a host as off at the same moment would boot it twice.
"""

from __future__ import annotations

import os
import socket
import threading
import time

POLL_S = 0.1
"""The next engine needs ten times that until its first plugin talks to a host."""
_UNREACHABLE_EXIT = 1


def end_with_engine(address: str) -> None:
    """Watch the parent from a thread; the engine's address tells whether it still lived when we began."""
    parent = os.getppid()
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=5):
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    os._exit(_UNREACHABLE_EXIT)
