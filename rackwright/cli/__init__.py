"""The command line: arguments in, an answer on stdout, messages on stderr, an exit code out.

`commands.py` is the table of commands, `frame.py` what they have in common, `output.py` how
answers and errors look. This module is the edge: the only place that turns whatever was raised
into one error and an exit code. Nothing heavy is imported before a command is known.
"""

from __future__ import annotations

import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""


def main() -> NoReturn:
    """The console script `rackwright`."""
    try:
        from rackwright.cli.frame import run  # noqa: PLC0415 (Ctrl-C counts from the first import on)

        code = run(sys.argv[1:])
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said; a Ctrl-C more would end us by that signal
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stderr.write("interrupted\n")
        code = INTERRUPTED
    sys.exit(code)
