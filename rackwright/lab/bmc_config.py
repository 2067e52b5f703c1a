"""What `lab up` writes for a host's BMC, and its process reads."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "rackwright.lab.bmc"
CONFIG, PASSWORDS = "bmc.json", "passwords"
"""Files of a BMC's folder, beside its key and certificate."""


@dataclass(frozen=True, slots=True)
class Config:
    """What a controller knows of its machine; it lies in the lab's state, and stays as it is there.

    Args:
        slot: what labd calls the host.
        address: to listen on.
        port: to listen on.
        serial: the machine's serial number.
        uuid: the machine's.
        macs: of its network interfaces, the one that boots first.
    """

    slot: str
    address: str
    port: int
    serial: str
    uuid: str
    macs: tuple[str, ...]

    def dumps(self) -> str:
        """Its text."""
        return json.dumps(asdict(self), indent=2, sort_keys=True) + "\n"

    @classmethod
    def read(cls, path: Path) -> Config:
        """Read what `dumps` wrote.

        Raises:
            OSError, ValueError, TypeError: not there, or not that.
        """
        plain = json.loads(path.read_text())
        return cls(**{**plain, "macs": tuple(plain["macs"])})
