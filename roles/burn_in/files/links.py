#!/usr/bin/python3
"""State of network interfaces of this host: ``links.py r0 r1``.

One line, ``rackwright/links/1``: every interface that was asked for, also one that is not there. Carrier,
operstate and mtu are the kernel's (/sys/class/net, RFC 2863).
"""

from __future__ import annotations

import sys
from pathlib import Path

from sealed import host, refuse, tell

SCHEMA = "rackwright/links/1"
NET = Path("/sys/class/net")
ABSENT: dict[str, bool | str | int] = {"present": False, "carrier": False, "operstate": "absent", "mtu": 0}


def main(names: list[str]) -> None:
    """Print the state of these interfaces."""
    if not names:
        refuse(SCHEMA, "no interface was named")
    tell(SCHEMA, "result", host=host(), interfaces={name: state(NET / name) for name in names})


def state(interface: Path) -> dict[str, bool | str | int]:
    """State of one interface."""
    if not interface.exists():
        return ABSENT
    return {
        "present": True,
        "carrier": carrier(interface),
        "operstate": read(interface / "operstate"),
        "mtu": int(read(interface / "mtu")),
    }


def carrier(interface: Path) -> bool:
    """Whether somebody is at the other end; the kernel refuses the question for an interface that is down."""
    try:
        return read(interface / "carrier") == "1"
    except OSError:
        return False


def read(file: Path) -> str:
    """One value of sysfs."""
    return file.read_text().strip()


if __name__ == "__main__":
    main(sys.argv[1:])
