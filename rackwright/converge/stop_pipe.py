"""How a shard's processes hear of a stop: by a named pipe, for a full or read-only disk takes no file.

Nobody takes out what is put in: how much waits there is what is asked, and all who look see the same.
What was asked once is never less afterwards.
"""

from __future__ import annotations

import array
import fcntl
import os
import termios
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

END, NOW = 1, 2
"""Bytes in it: begin no further task; and do not wait for those that have begun, either."""


class StopPipe:
    """The end of who asks."""

    def __init__(self, path: Path) -> None:
        """Args: path: where it is made anew.

        Raises:
            OSError: it cannot be made there.
        """
        path.unlink(missing_ok=True)
        os.mkfifo(path, 0o600)
        # Opened for both: what is in a pipe stays for as long as somebody could read it.
        self._pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._asked = 0

    def ask(self, *, now: bool = False) -> None:
        """Ask for an end, or for one at once; from a signal's handler too, and whatever the disk does."""
        wanted = NOW if now else END
        if self._asked < wanted:
            os.write(self._pipe, b"." * (wanted - self._asked))
            self._asked = wanted

    def close(self) -> None:
        """When nobody is left to be asked."""
        os.close(self._pipe)


class Listener:
    """The end of who is asked."""

    def __init__(self, path: Path) -> None:
        """Args: path: of a pipe that is there."""
        self._pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def asked(self) -> int:
        """0 while all goes on, then `END`, then `NOW` or more."""
        waiting = array.array("i", [0])
        fcntl.ioctl(self._pipe, termios.FIONREAD, waiting)
        return waiting[0]
