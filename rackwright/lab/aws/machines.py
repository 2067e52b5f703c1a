"""labd behind the emulator's instances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.aws.emulation import MachineRefused, WorldSilent
from rackwright.lab.cloud.wire import Interface, Launch, Refusal
from rackwright.lab.protocol import LabdSilent, LaunchRefused, Request, Verb, ask
from rackwright.plan.aws_model import POOL_TAG, SLOT_TAG

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwright.lab.aws.emulation import Machine

_NO_CAPACITY, _BROKEN = "Server.InsufficientInstanceCapacity", "Server.InternalError"
"""State reasons of an instance that was accepted and did not start (EC2 User Guide)."""


class LabdMachines:
    """Hosts of a lab's cloud.

    Args:
        labd: its socket.
    """

    def __init__(self, labd: Path) -> None:
        self._labd = labd

    def launch(self, machine: Machine) -> None:
        """Have labd make the host.

        Raises:
            MachineRefused: it does not.
        """
        launch = Launch(
            instance=machine.instance,
            type=machine.kind,
            interfaces=tuple(
                Interface(mac=one.mac, address=one.address, card=one.card, device=one.device)
                for one in machine.interfaces
            ),
            user_data=machine.user_data,
            pool=machine.tags.get(POOL_TAG, ""),
            slot=machine.tags.get(SLOT_TAG, ""),
        )
        try:
            ask(self._labd, Request(Verb.LAUNCH, launch=launch))
        except LaunchRefused as refused:
            full = refused.refusal is Refusal.NO_CAPACITY
            raise MachineRefused(_NO_CAPACITY if full else _BROKEN, refused.got) from None
        except (LabdSilent, EnvironmentUnfit) as error:
            raise MachineRefused(_BROKEN, str(error)) from None

    def terminate(self, instance: str) -> None:
        """Have labd take the host away.

        Raises:
            WorldSilent: it does not answer, or could not.
        """
        try:
            ask(self._labd, Request(Verb.TERMINATE, instance))
        except (LabdSilent, EnvironmentUnfit) as error:
            raise WorldSilent(str(error)) from None

    def states(self) -> Mapping[str, str]:
        """From labd; nothing where it is dead or cannot tell: instances are as they were."""
        try:
            return {one.instance: one.state for one in ask(self._labd, Request(Verb.INSTANCES)).instances}
        except (LabdSilent, EnvironmentUnfit):
            return {}

    def console(self, instance: str) -> str:
        """The end of the host's console log; empty where labd knows no such host."""
        try:
            return ask(self._labd, Request(Verb.CONSOLE, instance)).text
        except LabdSilent as silent:
            raise WorldSilent(str(silent)) from None
        except EnvironmentUnfit:
            return ""
