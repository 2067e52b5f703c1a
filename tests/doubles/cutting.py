"""Ways to cut a command of the engine off, at a point that a test waits for."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from tests.doubles.processes import ENGINE, working_on

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

WITHIN_S = 120
"""Generous: nothing is measured here."""
PLUGINS = b".server"
"""In the command line of our own plugin, and of the lab's for `aws`."""
_NOTICED_S = 1
"""Within which an engine has taken a first Ctrl-C: two that come at once are one to it."""


class Cut(NamedTuple):
    """A way to cut a command off."""

    engine: bool
    """Kill the engine."""
    command: signal.Signals | None
    """Signal to `rackwright`."""
    code: int
    says: str
    times: int = 1
    """How often the signal is sent."""


ENGINE_KILLED = Cut(engine=True, command=None, code=2, says="PULUMI002")
BOTH_KILLED = Cut(engine=True, command=signal.SIGKILL, code=-9, says="")
CTRL_C = Cut(engine=False, command=signal.SIGINT, code=130, says="INT001")
ENDED = Cut(engine=False, command=signal.SIGTERM, code=130, says="INT001")
TWICE = Cut(engine=False, command=signal.SIGINT, code=130, says="INT001", times=2)
CUTS = {
    "engine killed": ENGINE_KILLED,
    "killed": BOTH_KILLED,
    "Ctrl-C": CTRL_C,
    "SIGTERM": ENDED,
    "Ctrl-C twice": TWICE,
}


def wait(condition: Callable[[], object], what: str) -> None:
    """Until it holds.

    Args:
        condition: what is waited for.
        what: is wrong where it never does.
    """
    until = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


def strike(begun: subprocess.Popen[str], state: Path, cut: Cut) -> None:
    """Cut a command off now; it may need a while to end."""
    for number in range(cut.times if cut.command else 0):
        time.sleep(_NOTICED_S if number else 0)
        os.kill(begun.pid, cut.command)  # type: ignore[arg-type]  # (there is one: see above)
    for engine in working_on(state, of=ENGINE) if cut.engine else ():
        os.kill(engine, signal.SIGKILL)


def ended(begun: subprocess.Popen[str], state: Path, cut: Cut) -> str:
    """See that a command which was cut off ends as it should, and leaves nobody at work; what it said."""
    said, _ = begun.communicate(timeout=WITHIN_S)
    assert begun.returncode == cut.code, said
    assert cut.says in said
    assert "Traceback" not in said
    wait(lambda: not working_on(state, of=PLUGINS), "a plugin stayed behind")
    if cut is not BOTH_KILLED:
        assert not working_on(state, of=b"pulumi"), "an engine or its language host stayed behind"
    return said


def end_language_hosts(state: Path) -> None:
    """Pulumi's own language host outlives an engine whose starter is dead too."""
    for left in working_on(state, of=b"pulumi-language-python"):
        os.kill(left, signal.SIGKILL)
