"""Commands on the controller over ssh: their output byte for byte into files, or as an answer.

One lasting connection carries many commands; sshd allows ten at once on each (MaxSessions), so there
are as many connections as are needed. Each is made before any command shares it: of many that would make
it at the same time all but one would stay alone, and sshd turns some of so many away (MaxStartups).
"""

from __future__ import annotations

import shlex
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Lock
from typing import IO, TYPE_CHECKING, Protocol

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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

    def run(self, words: Sequence[str], stdout: IO[bytes], stderr: IO[bytes]) -> int:
        """Run a command with its output into files, and give its exit status.

        Raises:
            ControllerLost: it could not be reached, or was given up.
        """
        ...

    def give_up(self) -> None:
        """Wait for no command of `run` any more, and begin none; questions may still be asked."""
        ...


@dataclass(frozen=True, slots=True)
class _Seats:
    """Places on connections, of which the lowest free one is taken; and connections that are being made."""

    taken: set[int] = field(default_factory=set)
    making: dict[int, Future[None]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    @contextmanager
    def one(self) -> Iterator[int]:
        """The number of the connection that a command may use meanwhile."""
        with self.lock:
            seat = next(number for number in count() if number not in self.taken)
            self.taken.add(seat)
        try:
            yield seat // SESSIONS
        finally:
            with self.lock:
                self.taken.remove(seat)

    def made(self, connection: int, is_there: Callable[[], bool], make: Callable[[], object]) -> None:
        """See that a connection is there: who comes first makes it, the others wait for what comes of it."""
        with self.lock:
            by_another = self.making.get(connection)
            if by_another is None and is_there():
                return
            ours = by_another or self.making.setdefault(connection, Future())
        if by_another is not None:
            by_another.result()
            return
        try:
            make()
        except BaseException as error:
            ours.set_exception(error)
            raise
        else:
            ours.set_result(None)
        finally:
            with self.lock:
                del self.making[connection]


@dataclass
class _Steps:
    """The ssh of each step that runs; once they are given up, none begins."""

    running: set[subprocess.Popen[bytes]] = field(default_factory=set)
    given_up: bool = False
    lock: Lock = field(default_factory=Lock)

    def status_of(self, begin: Callable[[], subprocess.Popen[bytes]]) -> int | None:
        """Begin a step and wait for its exit status; None where none may begin."""
        with self.lock:
            if self.given_up:
                return None
            step = begin()
            self.running.add(step)
        try:
            return step.wait()
        finally:
            with self.lock:
                self.running.remove(step)

    def give_up(self) -> None:
        """Kill them: what they run there goes on, and is waited for no more."""
        with self.lock:
            self.given_up = True
            for step in self.running:
                step.kill()


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
    _seats: _Seats = field(default_factory=_Seats)
    _steps: _Steps = field(default_factory=_Steps)

    def ask(self, words: Sequence[str], within_s: float = ANSWER_WITHIN_S) -> Answer:
        """As `Controller`."""
        with self._connection() as connection:
            return self._answer(words, within_s, connection)

    def _answer(self, words: Sequence[str], within_s: float, connection: int) -> Answer:
        try:
            done = subprocess.run(
                self._command(words, connection),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=within_s,
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise self._lost(f"no answer to `{words[0]}` within {within_s:g} s") from None
        stderr = done.stderr.decode(errors="replace")
        if lost := _why_lost(done.returncode):
            raise self._lost(stderr.strip() or lost)
        return Answer(done.returncode, done.stdout.decode(errors="replace"), stderr)

    def run(self, words: Sequence[str], stdout: IO[bytes], stderr: IO[bytes]) -> int:
        """As `Controller`."""
        with self._connection() as connection:
            command = self._command(words, connection)
            status = self._steps.status_of(lambda: _begun(command, stdout, stderr))
        if status is None:
            raise self._lost("it was given up")
        if lost := _why_lost(status):
            raise self._lost(f"{lost} while a step ran")
        return status

    def give_up(self) -> None:
        """As `Controller`."""
        self._steps.give_up()

    @contextmanager
    def _connection(self) -> Iterator[int]:
        """The number of a connection that is there, and has room for a command."""
        with self._seats.one() as connection:
            self._seats.made(
                connection,
                (self.sockets / f"{connection}").exists,
                lambda: self._answer(("true",), ANSWER_WITHIN_S, connection),
            )
            yield connection

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


def _begun(command: Sequence[str], stdout: IO[bytes], stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True
    )


def _why_lost(status: int) -> str:
    """What the exit status of ssh here says of the connection; empty where a command there ended by it."""
    if status < 0:
        return f"ssh was ended by a signal ({signal.strsignal(-status)})"
    return "the connection was lost" if status == NO_CONNECTION else ""


@contextmanager
def connected(name: str, ssh_config: Path) -> Iterator[SshController]:
    """The controller, as long as it is needed; its sockets lie where a path is short enough for one."""
    with tempfile.TemporaryDirectory(prefix="rackwright-") as folder:
        controller = SshController(name, ssh_config, Path(folder))
        try:
            yield controller
        finally:
            controller.close()
