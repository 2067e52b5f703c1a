"""What can go wrong with one host: its codes, and the one way to raise them."""

from __future__ import annotations

from rackwright.errors import Failure, SubjectFailed

UNREACHABLE = "BMC001"
SILENT = "BMC002"
FOREIGN = "BMC003"
"""The certificate is not from the site's authority, or not for that address."""
DENIED = "BMC004"
REFUSED = "BMC005"
"""An HTTP error that is not about the login."""
UNCLEAR = "BMC006"
"""An answer that is no Redfish."""
STUCK = "BMC007"
"""Power-on accepted, host still off."""
NO_LOGIN = "BMC008"
NO_NETWORK_BOOT = "BMC009"

SERIAL_DIFFERS = "IDENTITY001"
MAC_DIFFERS = "IDENTITY002"
ANOTHER_MACHINE = frozenset({SERIAL_DIFFERS, MAC_DIFFERS})
"""The machine is not the one the plan means; it stays untouched."""

INTERRUPTED = "UP010"
"""Stopped before the host's turn came."""


class AnotherMachine(SubjectFailed):
    """The machine behind a controller is not the one the plan means."""

    def __init__(self, slot: str, cause: str, serial: str) -> None:
        hint = "the host is untouched: correct the asset file, or the cabling of the BMC"
        super().__init__([Failure(slot, SERIAL_DIFFERS, cause, hint)])
        self.serial = serial
        """What was read instead; empty where the machine has none."""


def failed(slot: str, code: str, cause: str, hint: str) -> SubjectFailed:
    """The failure of one host, ready to raise."""
    return SubjectFailed([Failure(slot, code, cause, hint)])
