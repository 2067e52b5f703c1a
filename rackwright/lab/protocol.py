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

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 60.0
_LONGEST_LINE = 1 << 20


class Verb(StrEnum):
    """What can be asked."""

    LIST = "list"
    """State of every host."""
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


ABOUT_ALL = frozenset({Verb.LIST, Verb.BUILD})
"""Verbs that name no host."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question or order.

    Args:
        verb: what.
        slot: which host; empty for verbs about all.
    """

    verb: Verb
    slot: str = ""

    def line(self) -> bytes:
        """Its form on the wire."""
        return _line(asdict(self))

    @classmethod
    def parse(cls, line: bytes) -> Request:
        """Read it.

        Raises:
            ValueError: no request; the message says why.
        """
        plain = _object(line)
        if set(plain) - {"verb", "slot"} or not all(isinstance(value, str) for value in plain.values()):
            msg = "a request is an object with the texts `verb` and `slot`"
            raise ValueError(msg)
        request = cls(Verb(str(plain.get("verb", ""))), str(plain.get("slot", "")))
        if (request.verb in ABOUT_ALL) == bool(request.slot):
            msg = f"`{request.verb}` {'names no host' if request.slot else 'needs a slot'}"
            raise ValueError(msg)
        return request


@dataclass(frozen=True, slots=True)
class Answer:
    """What labd says.

    Args:
        error: why it was not done; empty when it was.
        states: slot → ``off``, ``booting`` or ``on``, of the hosts asked about.
        text: of a console, or one line for each thing built.
    """

    error: str = ""
    states: dict[str, str] | None = None
    text: str = ""

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
        return cls(str(plain.get("error", "")), known, str(plain.get("text", "")))


class LabdSilent(Exception):
    """Nobody answers on labd's socket."""


def ask(path: Path, request: Request, timeout_s: float = TIMEOUT_S) -> Answer:
    """Ask labd once.

    Raises:
        LabdSilent: it does not run, or does not answer in time.
        EnvironmentUnfit: it says that it could not be done.
    """
    try:
        answer = _exchange(path, request, timeout_s)
    except (OSError, ValueError) as error:
        raise LabdSilent(f"{path}: {error}") from None
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
