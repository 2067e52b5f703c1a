#!/usr/bin/python3
"""Bandwidth between two hosts of one step: this host is iperf3's server, or the client that prints its JSON.

``pair.py --server node-002 --address 10.0.0.2 --bind 10.0.0.1 --port 5201 --seconds 1 [--reverse]``

The server serves once and is told by name; every other host of the step is the client. The client asks again
for some seconds while nobody listens yet, and prints only what iperf3 said last.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from sealed import host

PATIENCE_S = 5.0
"""For a server that starts at the same moment on another host."""
PAUSE_S = 0.1
REFUSED = "Connection refused"


def serve(address: str, port: int) -> int:
    """Serve one client; what the server prints of it is the client's to tell."""
    command = ["iperf3", "--server", "--one-off", "--bind", address, "--port", str(port)]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode


def ask(command: list[str]) -> int:
    """Be the client, as soon as there is a server."""
    end = time.monotonic() + PATIENCE_S
    while True:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if REFUSED not in done.stdout or time.monotonic() > end:
            sys.stdout.write(done.stdout)
            return done.returncode
        time.sleep(PAUSE_S)


def main() -> int:
    """Be the one or the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--server", required=True, metavar="HOST")
    parser.add_argument("--address", required=True, help="of the server")
    parser.add_argument("--bind", required=True, metavar="ADDRESS", help="of the client")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--reverse", action="store_true", help="the server sends")
    asked = parser.parse_args()
    if host() == asked.server:
        return serve(asked.address, asked.port)
    command = ["iperf3", "--json", "--client", asked.address, "--bind", asked.bind, "--port", str(asked.port)]
    return ask([*command, "--time", str(asked.seconds), *(["--reverse"] if asked.reverse else [])])


if __name__ == "__main__":
    sys.exit(main())
