"""Hosts as wanted in, hosts as found out: the on-prem reconciler, without any engine.

Per host: identity first, then the next boot, then power. A host that is already on is adopted as
it is, so that the same command may be cut off anywhere and run again: a power-on is sent once,
and only to a host that was just read as off. A held host is not even spoken to.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from rackwright.errors import SubjectFailed
from rackwright.provision.notes import FailureNote
from rackwright.provision.onprem import failures
from rackwright.provision.onprem.failures import AnotherMachine, failed
from rackwright.provision.onprem.model import FoundHost
from rackwright.provision.onprem.redfish import machine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwright.plan.model import HostPlan
    from rackwright.provision.onprem.model import Power, WantedHost
    from rackwright.provision.onprem.redfish import Access

WORKERS = 64
"""Controllers spoken to at once by one process: bounds sockets, threads and inrush current."""


class Deed(Protocol):
    """Something done to one host of a site; it returns how the host was found after it."""

    def __call__(self, slot: str, host: WantedHost, access: Access) -> FoundHost:
        """Raises SubjectFailed where the host is not as wanted."""
        ...


def bring_up(slot: str, host: WantedHost, access: Access) -> FoundHost:
    """See that a host runs; one that already does is left as it is.

    Raises:
        SubjectFailed: not this machine, not reached, or not on.
    """
    with machine(slot, host.bmc_address, host.serial, access) as found:
        found.require_mac(host.boot_mac)
        if not found.on:
            found.boot_from_network_once()
            found.power_on()
    return _found(host, "on", found_serial=host.serial)


def look(slot: str, host: WantedHost, access: Access) -> FoundHost:
    """Read a host's serial number and power; changes nothing.

    Raises:
        SubjectFailed: not this machine, or not reached.
    """
    with machine(slot, host.bmc_address, host.serial, access) as found:
        return _found(host, "on" if found.on else "off", found_serial=host.serial)


def identify(slot: str, host: WantedHost, access: Access) -> FoundHost:
    """See that a host could be brought up: its controller lets us in, and it is the machine meant.

    Raises:
        SubjectFailed: not this machine, or not reached.
    """
    with machine(slot, host.bmc_address, host.serial, access) as found:
        found.require_mac(host.boot_mac)
        return _found(host, "on" if found.on else "off", found_serial=host.serial)


def _note(error: SubjectFailed) -> FailureNote:
    failure = error.failures[0]
    return FailureNote(code=failure.code, cause=failure.cause, hint=failure.hint)


@dataclass(frozen=True)
class Reconciler:
    """The workers that talk to controllers, shared by all host sets of a process."""

    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(WORKERS, "bmc"))
    stopped: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """Begin no further host; those begun are finished."""
        self.stopped.set()

    def each(self, deed: Deed, hosts: Mapping[str, WantedHost], access: Access) -> dict[str, FoundHost]:
        """Do something to every host that is not held; one host's failure is noted with it alone."""
        begun = {slot: self.pool.submit(self._one, deed, slot, host, access) for slot, host in hosts.items()}
        return {slot: future.result() for slot, future in begun.items()}

    def _one(self, deed: Deed, slot: str, host: WantedHost, access: Access) -> FoundHost:
        if host.held:
            return _found(host, "held")
        try:
            self._go_on(slot)
            return deed(slot, host, access)
        except AnotherMachine as error:
            return _found(host, "unknown", found_serial=error.serial, failure=_note(error))
        except SubjectFailed as error:
            return _found(host, "unknown", failure=_note(error))

    def _go_on(self, slot: str) -> None:
        if self.stopped.is_set():
            raise failed(
                slot,
                failures.INTERRUPTED,
                "stopped before its turn came; it is untouched",
                "run the same command again; it goes on from here",
            )


def _found(
    host: HostPlan, power: Power, found_serial: str = "", failure: FailureNote | None = None
) -> FoundHost:
    return FoundHost(
        bmc_address=host.bmc_address,
        serial=host.serial,
        boot_mac=host.boot_mac,
        held=host.held,
        power=power,
        found_serial=found_serial,
        failure=failure,
    )
