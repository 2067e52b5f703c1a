"""The one daemon of a lab: it alone makes namespaces, links, disks and hosts, and knows their power.

It listens on a Unix socket that only root may open. BMC processes and `rackwright lab` talk to it.
If it dies, hosts and networks stay; the next one finds them by their pid files and names.
"""

from __future__ import annotations

import logging
import os
import socketserver
import sys
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NoReturn

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import disks, network, processes
from rackwright.lab.cloud.instances import Instances
from rackwright.lab.faults.planted import Faults
from rackwright.lab.hosts import Hosts
from rackwright.lab.model import World
from rackwright.lab.places import Places
from rackwright.lab.protocol import Answer, LaunchRefused, NamedFault, Request, Verb

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rackwright.lab.faults.fault import Planted

MODULE = "rackwright.lab.labd"
READY = "ready"
ALREADY_RUNS = 75
_LONGEST_REQUEST = 1 << 16
"""User data is 16 KiB at most, a third more in base64."""
_CONSOLE_BYTES = 65536
_LOG = logging.getLogger("labd")


class Daemon:
    """Requests in, answers out."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._hosts = Hosts(world)
        self._instances = Instances(world, self._hosts)
        self._faults = Faults(world, self._hosts)
        self._building = Lock()
        self._orders: dict[Verb, Callable[[str], None]] = {
            Verb.ON: self._hosts.on,
            Verb.OFF: self._hosts.off,
            Verb.SHUTDOWN: self._hosts.shutdown,
            Verb.RESET: self._hosts.reset,
            Verb.RESTART: self._hosts.restart,
        }
        self._about_all: dict[Verb, Callable[[Request], Answer]] = {
            Verb.LIST: lambda _: self._list(),
            Verb.BUILD: lambda _: Answer(text="\n".join(self.build())),
            Verb.CLEAR: lambda request: self._clear(request.fault),
            Verb.LAUNCH: self._launch,
            Verb.INSTANCES: lambda _: Answer(instances=self._instances.now()),
        }

    def answer(self, line: bytes) -> Answer:
        """Do what a line asks; whatever goes wrong is in the answer."""
        try:
            request = Request.parse(line)
            return self._do(request)
        except KeyError as error:
            return Answer(error=f"no such host: {error.args[0]}")
        except LaunchRefused as refused:
            _LOG.warning("%s not launched, %s: %s", refused.where, refused.refusal, refused.got)
            return Answer(error=refused.got, refusal=refused.refusal)
        except EnvironmentUnfit as error:
            _LOG.error("%s: %s: %s: %s", error.code, error.message, error.where, error.got)
            return Answer(error=f"{error.message}: {error.where}: {error.got}")
        except (ValueError, OSError) as error:
            return Answer(error=str(error))

    def build(self) -> list[str]:
        """Make what is missing of the world; what was missing is returned."""
        with self._building:
            made = [
                *disks.build(self._world),
                *network.build(self._world),
                *self._instances.build(),
            ]
            self._faults.repair()
        return made

    def _do(self, request: Request) -> Answer:
        if request.verb in self._about_all:
            return self._about_all[request.verb](request)
        if request.verb is Verb.PLANT:
            _LOG.info("plant %s %s", request.fault, request.slot)
            return Answer(faults=(_named(self._faults.plant(request.fault, request.slot)),))
        if request.verb is Verb.TERMINATE:
            _LOG.info("terminate %s", request.slot)
            self._instances.terminate(request.slot)
            return Answer()
        host = self._hosts.find(request.slot)
        if request.verb is Verb.CONSOLE:
            return Answer(text=_tail(Path(host.console)))
        if request.verb in self._orders:
            _LOG.info("%s %s", request.verb, request.slot)
            self._orders[request.verb](request.slot)
        return Answer(states={request.slot: self._hosts.state(request.slot)})

    def _list(self) -> Answer:
        return Answer(
            states={host.slot: self._hosts.state(host.slot) for host in self._world.hosts},
            faults=tuple(map(_named, self._faults.now())),
            instances=self._instances.now(),
        )

    def _launch(self, request: Request) -> Answer:
        if request.launch is None:
            raise ValueError(request)
        _LOG.info("launch %s (%s)", request.launch.instance, request.launch.slot or "no slot")
        return Answer(instances=(self._instances.launch(request.launch),))

    def _clear(self, name: str) -> Answer:
        _LOG.info("clear %s", name or "all faults")
        return Answer(faults=tuple(map(_named, self._faults.clear(name))))


def _named(planted: Planted) -> NamedFault:
    return NamedFault(planted.name, planted.subject)


def _tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _CONSOLE_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""


class _Connection(socketserver.StreamRequestHandler):
    """One client: a line, an answer, and so on."""

    def __init__(self, daemon: Daemon, *arguments: object) -> None:
        self._daemon = daemon
        super().__init__(*arguments)  # type: ignore[arg-type]  # socketserver's own three

    def handle(self) -> None:
        """Answer until the client hangs up."""
        while line := self.rfile.readline(_LONGEST_REQUEST):
            self.wfile.write(self._daemon.answer(line).line())


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Note it; socketserver's own writes a trace on stderr."""
        del request, client_address
        _LOG.warning("a client went away: %s", sys.exception())


def main(arguments: Sequence[str]) -> NoReturn:
    """Run until a signal ends it; hosts and networks stay."""
    places = Places.parse(arguments)
    if places is None:
        sys.exit(f"usage: {MODULE} --cluster=NAME --state=DIR --run=DIR")
    os.chdir("/")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        processes.claim_pid_file(places.labd_pid)
    except processes.AlreadyRuns:
        sys.exit(ALREADY_RUNS)
    world = World.model_validate_json(places.world.read_text())
    daemon = Daemon(world)
    server = _listen(places.socket, daemon)
    _say_ready()
    _LOG.info("labd of %s: %d hosts", world.cluster, len(world.hosts))
    server.serve_forever()
    sys.exit(0)


def _listen(path: Path, daemon: Daemon) -> _Server:
    """Only root may open it, from the first moment on."""
    path.unlink(missing_ok=True)
    mask = os.umask(0o177)
    try:
        return _Server(str(path), partial(_Connection, daemon))
    finally:
        os.umask(mask)


def _say_ready() -> None:
    """Tell `lab up`, which waits for the end of our standard output."""
    try:
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)


if __name__ == "__main__":
    main(sys.argv[1:])
