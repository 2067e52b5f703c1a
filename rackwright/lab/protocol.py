"""What labd is asked and what it answers: one JSON object a line, each way, over its socket.

Standard library only: every BMC process speaks it.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.cloud.wire import Instance, Launch, Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMEOUT_S = 60.0
_LONGEST_LINE = 1 << 20


class Verb(StrEnum):
    """What can be asked."""

    LIST = "list"
    """State of every host, those of the cloud too, and all faults that are planted."""
    STATE = "state"
    """State of one host."""
    ON = "on"
    OFF = "off"
    """Pull the plug."""
    SHUTDOWN = "shutdown"
    """Press the power button."""
    RESET = "reset"
    """Off and on again."""
    RESTART = "restart"
    """Ask for a reboot."""
    CONSOLE = "console"
    """The end of a host's console log."""
    BUILD = "build"
    """Make what is missing of the world, and clear what does not belong to it."""
    PLANT = "plant"
    """Plant a fault on a host, or on a part of one."""
    CLEAR = "clear"
    """Clear the faults of a name, or all."""
    LAUNCH = "launch"
    """Make a host of the cloud and switch it on; one that has run already stays as it is."""
    TERMINATE = "terminate"
    """Take a host of the cloud away with its disk; one that is not there is no error."""
    INSTANCES = "instances"
    """All hosts of the cloud, with their state."""


ABOUT_ALL = frozenset({Verb.LIST, Verb.BUILD, Verb.CLEAR, Verb.LAUNCH, Verb.INSTANCES})
"""Verbs that name no host, or bring it along."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question or order.

    Args:
        verb: what.
        slot: which host, or part of one: ``node-002/r1``; of the cloud's by their instance id; empty for
            verbs about all.
        fault: name of a fault, where one is planted or cleared.
        launch: the host to launch.
    """

    verb: Verb
    slot: str = ""
    fault: str = ""
    launch: Launch | None = None

    def line(self) -> bytes:
        """Its form on the wire."""
        texts: dict[str, object] = {"verb": self.verb, "slot": self.slot, "fault": self.fault}
        return _line(texts | ({"launch": self.launch.plain()} if self.launch else {}))

    @classmethod
    def parse(cls, line: bytes) -> Request:
        """Read it.

        Raises:
            ValueError: no request; the message says why.
        """
        plain = _object(line)
        launch = Launch.read(plain.pop("launch")) if "launch" in plain else None
        if set(plain) - {"verb", "slot", "fault"} or not all(isinstance(one, str) for one in plain.values()):
            msg = "a request is an object with the texts `verb`, `slot` and `fault`"
            raise ValueError(msg)
        texts = {key: str(value) for key, value in plain.items()}
        request = cls(Verb(texts.get("verb", "")), texts.get("slot", ""), texts.get("fault", ""), launch)
        if (request.verb in ABOUT_ALL) == bool(request.slot):
            msg = f"`{request.verb}` {'names no host' if request.slot else 'needs a slot'}"
            raise ValueError(msg)
        if request.fault and request.verb not in (Verb.PLANT, Verb.CLEAR):
            msg = f"`{request.verb}` names no fault"
            raise ValueError(msg)
        if (request.verb is Verb.LAUNCH) != (launch is not None):
            msg = f"`{request.verb}` {'needs a host to launch' if launch is None else 'launches nothing'}"
            raise ValueError(msg)
        return request


@dataclass(frozen=True, slots=True)
class NamedFault:
    """A fault that is planted.

    Args:
        name: of the fault.
        subject: full name of the host or rail it is on.
    """

    name: str
    subject: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What labd says.

    Args:
        error: why it was not done; empty when it was.
        states: slot → ``off``, ``booting`` or ``on``, of the hosts asked about.
        text: of a console, or one line for each thing built.
        faults: that are planted, or that the order planted or cleared.
        instances: hosts of the cloud.
        refusal: why a launch was refused; None where it was not.
    """

    error: str = ""
    states: dict[str, str] | None = None
    text: str = ""
    faults: tuple[NamedFault, ...] = ()
    instances: tuple[Instance, ...] = ()
    refusal: Refusal | None = None

    def line(self) -> bytes:
        """Its form on the wire."""
        return _line(asdict(self))

    @classmethod
    def parse(cls, line: bytes) -> Answer:
        """Read it.

        Raises:
            ValueError: no answer.
        """
        plain = _object(line)
        states = plain.get("states")
        if states is not None and not isinstance(states, dict):
            msg = "states are an object"
            raise ValueError(msg)
        known = {str(slot): str(state) for slot, state in states.items()} if states else None
        refusal = plain.get("refusal")
        return cls(
            error=str(plain.get("error", "")),
            states=known,
            text=str(plain.get("text", "")),
            faults=tuple(_faults(plain.get("faults"))),
            instances=tuple(map(Instance.read, _list(plain.get("instances")))),
            refusal=Refusal(str(refusal)) if refusal else None,
        )


class LaunchRefused(EnvironmentUnfit):
    """labd does not launch a host.

    Args:
        refusal: why.
        instance: which.
        got: why in words.
    """

    def __init__(self, refusal: Refusal, instance: str, got: str) -> None:
        super().__init__("labd does not launch that host", code="LAB023", where=instance, got=got)
        self.refusal = refusal


class LabdSilent(Exception):
    """Nobody answers on labd's socket."""


def ask(path: Path, request: Request, timeout_s: float = TIMEOUT_S) -> Answer:
    """Ask labd once.

    Raises:
        LabdSilent: it does not run, or does not answer in time.
        LaunchRefused: it says why it does not launch that host.
        EnvironmentUnfit: it says that it could not be done.
    """
    try:
        answer = _exchange(path, request, timeout_s)
    except (OSError, ValueError) as error:
        raise LabdSilent(f"{path}: {error}") from None
    if answer.refusal is not None and request.launch is not None:
        raise LaunchRefused(answer.refusal, request.launch.instance, answer.error)
    if answer.error:
        raise EnvironmentUnfit(
            f"labd could not do `{request.verb}`", code="LAB007", where=request.slot, got=answer.error
        )
    return answer


def _exchange(path: Path, request: Request, timeout_s: float) -> Answer:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(path))
        connection.sendall(request.line())
        with connection.makefile("rb") as answers:
            return Answer.parse(answers.readline(_LONGEST_LINE))


def _faults(plain: object) -> Iterator[NamedFault]:
    for fault in _list(plain):
        if not isinstance(fault, dict) or not {"name", "subject"} <= fault.keys():
            msg = "a fault has a name and a subject"
            raise ValueError(msg)
        yield NamedFault(str(fault["name"]), str(fault["subject"]))


def _list(plain: object) -> list[object]:
    return plain if isinstance(plain, list) else []


def _line(plain: dict[str, object]) -> bytes:
    return json.dumps(plain, ensure_ascii=True).encode() + b"\n"


def _object(line: bytes) -> dict[str, object]:
    if not line.endswith(b"\n"):
        msg = "a line that was cut off"
        raise ValueError(msg)
    plain = json.loads(line)
    if not isinstance(plain, dict):
        msg = "not an object"
        raise ValueError(msg)  # noqa: TRY004 (to the caller a line is bad, whatever is wrong with it)
    return plain
