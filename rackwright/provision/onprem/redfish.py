"""One management controller through sushy: the machine behind it, its next boot and its power.

Whatever goes wrong is a `SubjectFailed` that names the host. Basic authentication, which every
Redfish service offers (DSP0266 §13.3): a session would stay behind in a controller that has room
for a few when this process is killed.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sushy  # type: ignore[import-untyped]  # (sushy has no types)
from sushy import auth
from sushy import exceptions as answers

from rackwright.errors import EnvironmentUnfit
from rackwright.provision.onprem import failures
from rackwright.provision.onprem.bounded import LIMITS, Connector, Limits
from rackwright.provision.onprem.failures import AnotherMachine, failed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.spec.credentials import Credentials, Login

_ON = (sushy.PowerState.ON, sushy.PowerState.POWERING_ON)
_NETWORK = (sushy.BootSource.PXE, sushy.BootSource.UEFI_HTTP)
_QUOTED = 200
"""Characters of a controller's own message that are repeated."""
_MAC_DIGITS = "0123456789abcdef"


@dataclass(frozen=True, slots=True)
class Access:
    """How the controllers of a site are reached."""

    port: int
    ca: Path
    """PEM of the authority that signed their certificates."""
    credentials: Credentials
    limits: Limits = LIMITS


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine a controller serves, found by its serial number."""

    slot: str
    address: str
    system: sushy.resources.system.system.System
    limits: Limits

    @property
    def on(self) -> bool:
        """Whether it is on or about to be, as last read."""
        return self.system.power_state in _ON

    def require_mac(self, boot_mac: str) -> None:
        """Read its NICs until one has that address, permanent or current.

        Raises:
            SubjectFailed: none has; many controllers list none before the first power-on self test.
        """
        wanted, seen = _plain_mac(boot_mac), []
        with _understood(self.slot, self.address):
            nics = self.system.ethernet_interfaces
            for identity in nics.members_identities:
                nic = nics.get_member(identity)
                macs = [mac for mac in (nic.permanent_mac_address, nic.mac_address) if mac]
                if wanted in map(_plain_mac, macs):
                    return
                seen += macs
        raise failed(
            self.slot,
            failures.MAC_DIFFERS,
            f"BMC {self.address}: got NICs {', '.join(seen) or 'none'}, expected boot MAC {boot_mac}",
            "the host is untouched: correct the asset file, or the cabling of the BMC",
        )

    def boot_from_network_once(self) -> None:
        """Let the next boot, and only that, ask the network; nothing is sent where it already will.

        Raises:
            SubjectFailed: the controller offers no boot from the network.
        """
        boot = self.system.boot
        if boot is not None and boot.target in _NETWORK and boot.enabled in _LASTING:
            return
        offered = boot.allowed_values if boot is not None else None
        source = next((source for source in _NETWORK if offered is None or source.value in offered), None)
        if source is None:
            raise failed(
                self.slot,
                failures.NO_NETWORK_BOOT,
                f"BMC {self.address}: got boot sources {', '.join(offered or ())}, expected Pxe or UefiHttp",
                "enable network boot in the firmware",
            )
        with _understood(self.slot, self.address):
            self.system.set_system_boot_options(source, sushy.BootSourceOverrideEnabled.ONCE)

    def power_on(self) -> None:
        """Send one power-on and wait until the controller reports it.

        Raises:
            SubjectFailed: refused, or accepted and not reported within `Limits.power_s`.
        """
        with _understood(self.slot, self.address):
            self.system.reset_system(sushy.ResetType.ON)
            until = time.monotonic() + self.limits.power_s
            self.system.refresh(force=True)
            while not self.on and time.monotonic() < until:
                time.sleep(self.limits.poll_s)
                self.system.refresh(force=True)
        if not self.on:
            raise failed(
                self.slot,
                failures.STUCK,
                f"BMC {self.address}: got power-on accepted and still off after {self.limits.power_s:g} s",
                "look at its event log and at the power feed; the next `up` tries again",
            )


_LASTING = (sushy.BootSourceOverrideEnabled.ONCE, sushy.BootSourceOverrideEnabled.CONTINUOUS)


def require_authority(path: Path, where: str) -> None:
    """See that a file holds certificates of an authority, before any controller is spoken to.

    Raises:
        EnvironmentUnfit: it does not.
    """
    try:
        ssl.create_default_context(cafile=path)
    except OSError as error:
        raise EnvironmentUnfit(
            "the authority of the BMCs' certificates cannot be read",
            code="BMC011",
            where=where,
            got="no PEM certificate" if isinstance(error, ssl.SSLError) else error.strerror or "nothing",
            expected=f"PEM certificates at {path}",
        ) from None


@contextlib.contextmanager
def machine(slot: str, address: str, serial: str, access: Access) -> Iterator[Machine]:
    """Connect to a controller and find the machine with that serial number behind it.

    A controller may serve more systems than the host, as DGX H100 does its GPU baseboard.

    Raises:
        AnotherMachine: no machine of that serial.
        SubjectFailed: not reached, not let in, or not understood.
    """
    login = access.credentials.of(slot)
    if login is None:
        raise failed(
            slot,
            failures.NO_LOGIN,
            "got no login for its BMC, expected an entry of the slot or of *",
            "add it to the credentials file of the site",
        )
    connection = Connector(slot, address, access.port, access.ca, access.limits)
    try:
        yield Machine(slot, address, _system(slot, address, serial, connection, login), access.limits)
    finally:
        connection.close()


def _system(
    slot: str, address: str, serial: str, connection: Connector, login: Login
) -> sushy.resources.system.system.System:
    seen = []
    with _understood(slot, address):
        root = sushy.Sushy(
            f"https://{address}", connector=connection, auth=auth.BasicAuth(login.user, login.password)
        )
        systems = root.get_system_collection()
        for identity in systems.members_identities:
            system = systems.get_member(identity)
            read = (system.serial_number or "").strip()
            if read == serial:
                return system
            seen.append(read)
    others = ", ".join(filter(None, seen))
    raise AnotherMachine(slot, f"BMC {address}: got serial {others or 'none'}, expected {serial}", others)


@contextlib.contextmanager
def _understood(slot: str, address: str) -> Iterator[None]:
    """Turn what sushy raises into what a reader can act on.

    Sushy trusts the types in an answer, so a wrong one is any of the built-in errors below.
    """
    try:
        yield
    except answers.AccessError as error:
        raise failed(
            slot,
            failures.DENIED,
            f"BMC {address}: got HTTP {error.status_code}, expected to be let in",
            "correct user and password of the slot in the credentials file of the site",
        ) from None
    except answers.HTTPError as error:
        raise failed(
            slot,
            failures.REFUSED,
            f"BMC {address}: got HTTP {error.status_code}, expected success",
            f"the BMC says: {str(error.detail or 'nothing')[:_QUOTED]}; reset the BMC if it persists",
        ) from None
    except (answers.SushyError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise failed(
            slot,
            failures.UNCLEAR,
            f"BMC {address}: got an answer that is not as Redfish has it ({type(error).__name__})",
            "update the BMC's firmware, or is this address no BMC?",
        ) from None


def _plain_mac(mac: str) -> str:
    """Hex digits alone: controllers write colons, dashes or neither, in either case."""
    return "".join(digit for digit in mac.lower() if digit in _MAC_DIGITS)
