"""The folder where console servers write: one file per host, of which only the end is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.inventory.console import CUT_OFF, NO_BLOCK, KeyFault, Reading, parse

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO

_TAILS = (16 << 10, 1 << 20, 64 << 20)
"""Bytes read from the end, until a block is found in them. A host prints its keys at boot: what
lies further back than the last tail is older than any boot that matters."""

NO_LOG = KeyFault(
    "KEY001",
    "no console log",
    "`rackwright up SPEC` powers hosts on; then see that the console server writes a file named after "
    "the host into the site's console_logs",
    waiting_helps=True,
)
CLOSED_LOG = KeyFault(
    "KEY006",
    "a console log cannot be read",
    "add this user to the group that the console server writes its logs for",
)


@dataclass(frozen=True, slots=True)
class ConsoleLogs:
    """Console logs of one site."""

    folder: Path

    def read(self, host: str) -> Reading:
        """What the host's log says of its keys; a log that cannot be read is a fault of this host alone."""
        for name in (f"{host}.log", host):
            try:
                with (self.folder / name).open("rb") as log:
                    return _read(log, host)
            except FileNotFoundError:
                continue
            except OSError as error:
                return Reading(fault=CLOSED_LOG, got=f"{self.folder / name}: {error.strerror}")
        return Reading(fault=NO_LOG, got=f"neither {host}.log nor {host} in {self.folder}")


def _read(log: BinaryIO, host: str) -> Reading:
    length = log.seek(0, os.SEEK_END)
    for tail in _TAILS:
        log.seek(max(0, length - tail))
        reading = parse(log.read(tail), host)
        if tail >= length or reading.fault not in (NO_BLOCK, CUT_OFF):
            break
    return reading
