"""A command on a terminal of its own, which may be lost, as when an operator's ssh is."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class OnTerminal:
    """A command that leads the session of a terminal."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self._ours, its = os.openpty()
        os.set_blocking(self._ours, False)
        self.process = subprocess.Popen(
            ["setsid", "--ctty", *words], stdin=its, stdout=its, stderr=its, env=environment
        )
        os.close(its)

    def look(self) -> str:
        """What it has printed since; who writes to a full terminal waits."""
        seen = b""
        with suppress(BlockingIOError):
            while more := os.read(self._ours, 65536):
                seen += more
        return seen.decode(errors="replace")

    def lose(self) -> None:
        """Let it go: the kernel sends the command a hang-up, and refuses what it writes."""
        os.close(self._ours)
