"""Whom a rolling reboot asks: hosts, their Slurm, time, and who stops it; and what it says of each host."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import FrameType

PREFIX = "rackwright reboot: "
"""Of our drains; node_health takes back those of its own, which begin otherwise, and leaves these."""


class End(StrEnum):
    """What became of a host."""

    WAITING = "waiting"
    REBOOTED = "rebooted"
    HELD = "held"
    """A job runs on it: it was not touched."""
    FAILED = "failed"
    """It was to be rebooted, and is not as it should be: it stays drained."""
    BEGUN = "begun"
    """A reboot that was cut off has left it drained."""
    GIVEN_BACK = "given-back"
    """A reboot that was cut off had rebooted it: it gets jobs again."""
    UNTOUCHED = "untouched"
    """Its turn did not come: a host before it failed, or somebody stopped the run."""
    LEFT = "left"
    """Somebody stopped the run at once while it was to come back: it stays drained until the next one."""
    UNREACHED = "unreached"
    """It could not be asked whether it waits."""


@dataclass(frozen=True, slots=True)
class Result:
    """Of one host.

    Args:
        end: what became of it.
        reasons: why it waited.
        message: why it is held, failed or left; empty otherwise.
        seconds: from going down to being given back.
    """

    end: End
    reasons: tuple[str, ...]
    message: str = ""
    seconds: float = 0.0


class Fleet(Protocol):
    """The hosts, over ssh."""

    def boot_id(self, host: str) -> str:
        """Of the boot it runs; empty where it does not answer."""
        ...

    def state(self, host: str) -> str:
        """As systemd tells it: ``starting``, ``running``, ``stopping``; empty where it does not answer."""
        ...

    def services(self, host: str) -> frozenset[str]:
        """Those that start at boot, and run."""
        ...

    def failed(self, host: str) -> frozenset[str]:
        """Those that start at boot, and have failed."""
        ...

    def reasons(self, host: str) -> tuple[str, ...]:
        """Why it waits for a reboot."""
        ...

    def reboot(self, host: str, boot_id: str) -> None:
        """Tell it to go down, unless it has booted since; it may close the connection at once."""
        ...


class Scheduler(Protocol):
    """Its Slurm, as far as a host has one."""

    def drained_for(self, host: str) -> str | None:
        """Reason why it gets no new jobs; None where it gets some, or is in no Slurm."""
        ...

    def drain(self, host: str, reason: str) -> None:
        """Give it no new jobs."""
        ...

    def jobs(self, host: str) -> tuple[str, ...]:
        """Those that have it now."""
        ...

    def registered(self, host: str) -> bool:
        """Whether its slurmd has answered since it booted; true where it is in no Slurm."""
        ...

    def release(self, host: str) -> None:
        """Give it jobs again."""
        ...


class Stop:
    """What Ctrl-C and its like ask for: first, to begin no host more; then, to wait for none."""

    def __init__(self) -> None:
        self._signals = 0

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """As `signal.signal` wants it."""
        del number, frame
        self._signals += 1

    @property
    def asked(self) -> bool:
        """No further host is to be told to go down."""
        return self._signals > 0

    @property
    def at_once(self) -> bool:
        """No host is to be waited for."""
        return self._signals > 1


class Clock(Protocol):
    """Time, which tests make pass."""

    def now(self) -> float:
        """Seconds of a clock that is never set back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class SystemClock:
    """This machine's."""

    def now(self) -> float:
        """As `Clock`."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """As `Clock`."""
        time.sleep(seconds)
