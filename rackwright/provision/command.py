"""The `pulumi` process: started so that Ctrl-C reaches it once, through us, and it ends in its order.

The SDK's own runner leaves the engine in our process group. A terminal's Ctrl-C then reaches the
engine directly, a supervisor's signal does not, and a runner that passes signals on sends a second
one, at which the engine drops what it is doing.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pulumi.automation import CommandResult, PulumiCommand
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from rackwright.errors import Interrupted
from rackwright.signals import taken_by

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType


class Command(PulumiCommand):
    """Runs `pulumi` in a session of its own."""

    def __init__(self, engine: Path) -> None:
        """Args: engine: folder of `pulumi`; the SDK's own constructor wants one named ``bin``."""
        self.command = str(engine / "pulumi")
        self.version = _version(self.command)
        self.interrupts = 0
        """How often Ctrl-C came while it ran: at the second one the engine drops what it does."""

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: Callable[[str], object] | None = None,
        on_error: Callable[[str], object] | None = None,
    ) -> CommandResult:
        """Run one command line to its end, whatever comes.

        Raises:
            Interrupted: Ctrl-C came meanwhile; the engine was told, and has ended.
            CommandError: exit status other than 0.
        """
        told: tuple[list[str], list[str]] = ([], [])
        self.interrupts = 0
        passing = _Passing(self)
        with taken_by(passing.on_signal), self._begun(args, cwd, additional_env) as process:
            passing.to(process)
            streams = zip((process.stdout, process.stderr), (on_output, on_error), told, strict=True)
            readers = [threading.Thread(target=_read, args=stream) for stream in streams]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
        if process.returncode < 0:
            _end_session(process.pid)
        return self._ended(process.returncode, told)

    def _begun(self, args: list[str], cwd: str, more: Mapping[str, str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.command, "--non-interactive", *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=_clean({**os.environ, **more, "PULUMI_AUTOMATION_API": "true"}),
            encoding="utf-8",
            start_new_session=True,
        )

    def _ended(self, status: int, told: tuple[list[str], list[str]]) -> CommandResult:
        if self.interrupts:
            raise Interrupted(_ENDED[self.interrupts > 1], hint="the same command goes on from here")
        out, err = ("\n".join(lines) for lines in told)
        result = CommandResult(stdout=out, stderr=err, code=status)
        if status:
            raise create_command_error(result)
        return result


@functools.cache
def _version(command: str) -> VersionInfo:
    said = subprocess.run([command, "version"], capture_output=True, text=True, check=True).stdout
    return VersionInfo.parse(said.strip().removeprefix("v"))


def _end_session(leader: int) -> None:
    """End what an engine that was killed has left: its language host would stay for ever."""
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(ProcessLookupError):
            if os.getsid(int(entry.name)) == leader:
                os.kill(int(entry.name), signal.SIGKILL)


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    """Without a passphrase of another stack: the engine prefers it to the file."""
    return {name: value for name, value in environment.items() if name != "PULUMI_CONFIG_PASSPHRASE"}


def _read(stream: IO[str], told: Callable[[str], object] | None, lines: list[str]) -> None:
    for line in stream:
        lines.append(line.rstrip())
        if told:
            told(line.rstrip())


class _Passing:
    """Passes SIGINT and SIGTERM on to a process instead of ending us.

    It takes them before the process starts: one that came in between would leave the process alone,
    and a process started where SIGINT is ignored (in a shell's background) would ignore it too.
    """

    def __init__(self, command: Command) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None

    def to(self, process: subprocess.Popen[str]) -> None:
        """Pass on from now, and what has come already."""
        self._process = process
        for _ in range(self._command.interrupts):
            process.send_signal(signal.SIGINT)

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._command.interrupts += 1
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)


_ENDED = (
    "stopped; what was begun is finished",
    "stopped at once; what was begun may be done without being noted",
)
"""By whether Ctrl-C came again."""
