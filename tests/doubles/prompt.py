"""Command lines of `rackwright`, each in a process of its own that starts at once.

A Python that imports what all commands need takes a second of processor time, more than most commands
themselves. So one process has it imported, and each command is a fork of that one: with its own
environment, standard streams and exit code, run as the installed program runs it.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.cli import frame
from rackwright.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.context import ForkServerContext

STREAMS = ("stdout", "stderr")


@functools.cache
def _server() -> ForkServerContext:
    """Who has all imported; it ends with this process."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *(entry.module for entry in COMMANDS.values())])
    return context


def run(
    words: Sequence[str], environment: Mapping[str, str], within_s: float
) -> subprocess.CompletedProcess[str]:
    """Run one command line to its end, which reads nothing.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process = _server().Process(
            target=_command, args=(list(words), dict(environment), folder, Path.cwd())
        )
        process.start()
        process.join(within_s)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), within_s)
        out, err = ((folder / stream).read_text() for stream in STREAMS)
    return subprocess.CompletedProcess(list(words), process.exitcode, out, err)


def _command(words: list[str], environment: dict[str, str], folder: Path, working: Path) -> None:
    os.chdir(working)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, stream in enumerate(STREAMS, 1):
        os.dup2(os.open(folder / stream, os.O_WRONLY | os.O_CREAT, 0o600), number)
    sys.exit(frame.run(words))
