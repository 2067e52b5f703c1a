"""Commands on the controller over ssh: their output byte for byte into files, or as an answer.

One lasting connection carries many commands; sshd allows ten at once on each (MaxSessions), so there
are as many connections as are needed.
"""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Iterator

SESSIONS = 8
"""Commands at once over one connection; sshd's default limit is ten."""
NO_CONNECTION = 255
"""ssh's own exit status when it could not reach the other end, or lost it."""
_NOT_LOST = f" || exit $(($? == {NO_CONNECTION} ? {NO_CONNECTION - 1} : $?))"
"""A command may end by that status too, as srun does where a node cannot start a task: it is told apart."""
ANSWER_WITHIN_S = 60.0
_PERSIST_S = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command said."""

    status: int
    stdout: str
    stderr: str


class ControllerLost(EnvironmentUnfit):
    """The controller cannot be reached any more."""

    default_code = "VAL005"


class Controller(Protocol):
    """The host on which Slurm is asked and steps are started."""

    @property
    def name(self) -> str:
        """Its slot."""
        ...

    def ask(self, words: Sequence[str], within_s: float = ANSWER_WITHIN_S) -> Answer:
        """Run a command to its end and give what it said.

        Raises:
            ControllerLost: it could not be reached, or did not answer in time.
        """
        ...

    def run(self, words: Sequence[str], stdout: IO[bytes], stderr: IO[bytes], lane: int) -> int:
        """Run a command with its output into files, and give its exit status.

        Args:
            words: of the command.
            stdout: and
            stderr: where its output goes.
            lane: of those that run at once, from 0.

        Raises:
            ControllerLost: it could not be reached.
        """
        ...


@dataclass(frozen=True, slots=True)
class SshController:
    """The controller over ssh.

    Args:
        name: its slot.
        ssh_config: of the inventory.
        sockets: folder of the connections.
    """

    name: str
    ssh_config: Path
    sockets: Path

    def ask(self, words: Sequence[str], within_s: float = ANSWER_WITHIN_S) -> Answer:
        """As `Controller`."""
        try:
            done = subprocess.run(
                self._command(words, 0),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=within_s,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise self._lost(f"no answer to `{words[0]}` within {within_s:g} s") from None
        stderr = done.stderr.decode(errors="replace")
        if done.returncode == NO_CONNECTION:
            raise self._lost(stderr.strip())
        return Answer(done.returncode, done.stdout.decode(errors="replace"), stderr)

    def run(self, words: Sequence[str], stdout: IO[bytes], stderr: IO[bytes], lane: int) -> int:
        """As `Controller`."""
        done = subprocess.run(
            self._command(words, lane // SESSIONS),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            check=False,
            start_new_session=True,
        )
        if done.returncode == NO_CONNECTION:
            raise self._lost("the connection was lost while a step ran")
        return done.returncode

    def _command(self, words: Sequence[str], connection: int) -> list[str]:
        lasting = {
            "ControlMaster": "auto",
            "ControlPath": str(self.sockets / f"{connection}"),
            "ControlPersist": str(_PERSIST_S),
        }
        options = [word for key, value in lasting.items() for word in ("-o", f"{key}={value}")]
        return ["ssh", "-F", str(self.ssh_config), *options, self.name, "--", shlex.join(words) + _NOT_LOST]

    def _lost(self, got: str) -> ControllerLost:
        return ControllerLost(
            "the controller cannot be reached",
            where=self.name,
            got=got,
            expected="an answer over ssh",
            hint=f"ssh -F {self.ssh_config} {self.name} sinfo",
        )

    def close(self) -> None:
        """End the lasting connections."""
        for socket in self.sockets.iterdir():
            words = [
                "ssh",
                "-F",
                str(self.ssh_config),
                "-o",
                f"ControlPath={socket}",
                "-O",
                "exit",
                self.name,
            ]
            subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, check=False, start_new_session=True
            )


@contextmanager
def connected(name: str, ssh_config: Path) -> Iterator[SshController]:
    """The controller, as long as it is needed; its sockets lie where a path is short enough for one."""
    with tempfile.TemporaryDirectory(prefix="rackwright-") as folder:
        controller = SshController(name, ssh_config, Path(folder))
        try:
            yield controller
        finally:
            controller.close()
