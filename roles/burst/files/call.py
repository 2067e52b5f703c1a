#!/usr/bin/python3 -IS
"""Slurm's programs burst-resume, burst-suspend and burst-resume-failed: wake the daemon, and return at once.

What is wanted of each node, the daemon reads from Slurm itself; so a call that does not come through,
because it is just being restarted, is only later.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

DAEMON = "/run/rackwright-burst/call"
_LONGEST = 60_000
"""Bytes; the call is for the log, so that more of a hostlist need not come through."""
_WITHIN_S = 5


def main(words: list[str]) -> int:
    """Tell the daemon our name and what Slurm says; exit status 1 where it is not there."""
    call = " ".join([Path(words[0]).name, *words[1:]])
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as calling:
        calling.settimeout(_WITHIN_S)
        try:
            calling.sendto(call.encode()[:_LONGEST], DAEMON)
        except OSError as error:
            sys.stderr.write(f"{call}: rackwright-burst.service is not there: {error}\n")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
