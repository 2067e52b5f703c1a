"""Power of the lab's hosts: what is asked is done at once, and what is answered is the truth of now.

Nothing is remembered: a host is on while its supervisor lives, wherever labd was meanwhile.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import defaultdict
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import cgroups, processes, supervisor, workbench
from rackwright.lab.cloud import records
from rackwright.lab.commands import run
from rackwright.lab.model import Host
from rackwright.lab.processes import Process
from rackwright.lab.supervisor import Machine
from rackwright.render.boot import site_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.model import Chassis, World

_ON_WITHIN_S = 60.0
_OFF_WITHIN_S = 20.0
_SSH_PORT = 22
_LISTENING = "0A"
"""TCP_LISTEN in /proc/net/tcp."""
_ENTER = ("--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd")
_CONTAINER_DEPTH = 3
"""Process id namespaces that see a host's init: the machine's, the supervisor's, its own."""


class State(StrEnum):
    """Power of a host, and how far it is."""

    OFF = "off"
    BOOTING = "booting"
    ON = "on"
    """It listens on its SSH port."""


class Hosts:
    """All hosts of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def state(self, slot: str) -> State:
        """Power of a host now.

        Raises:
            KeyError: no such host.
        """
        self.find(slot)
        running = self._supervisor(slot)
        if running is None:
            return State.OFF
        init = _init(running)
        return State.ON if init and _listens(init, _SSH_PORT) else State.BOOTING

    def on(self, slot: str) -> None:
        """Switch on a host; one that is on stays as it is.

        Raises:
            EnvironmentUnfit: it does not start.
        """
        with self._locks[slot]:
            if self._supervisor(slot) is None:
                self._start(slot)

    def off(self, slot: str) -> None:
        """Pull the plug.

        Raises:
            EnvironmentUnfit: something of it does not end.
        """
        with self._locks[slot]:
            self._stop(slot)

    def reset(self, slot: str) -> None:
        """Pull the plug and put it in again; a host that is off is switched on."""
        with self._locks[slot]:
            self._stop(slot)
            self._start(slot)

    def shutdown(self, slot: str) -> None:
        """Press the power button: the host goes down in order; within its self-test it is just off."""
        self._signal_init(slot, signal.SIGRTMIN + 4)

    def restart(self, slot: str) -> None:
        """Ask the host for a reboot; one that is within its self-test is about to boot anyway."""
        self._signal_init(slot, signal.SIGRTMIN + 5)

    @contextmanager
    def root(self, slot: str) -> Iterator[Path]:
        """Root of a host, on or off; its power stays as it is for the block.

        Raises:
            EnvironmentUnfit: its disk cannot be reached.
        """
        with self._locks[slot]:
            machine, running = self.machine(slot), self._supervisor(slot)
            if running is None:
                with workbench.root(machine) as root:
                    yield root
            else:
                yield workbench.seen_by(running.pid, machine)

    def supervisor_pid(self, slot: str) -> int | None:
        """Process that is the host's power supply and has its disk mounted; None while it is off."""
        running = self._supervisor(slot)
        return running.pid if running else None

    def run(self, slot: str, *words: str) -> bool:
        """Run a program as the host's root; what it wants is not done on a host that is off.

        Returns:
            Whether it ran.

        Raises:
            EnvironmentUnfit: it failed.
        """
        running = self._supervisor(slot)
        init = _init(running) if running else None
        if init is None:
            return False
        run("nsenter", f"--target={init.pid}", *_ENTER, "--", *words)
        return True

    def find(self, slot: str) -> Chassis:
        """A machine of a hall by its slot, or of the cloud by its instance id.

        Raises:
            KeyError: there is none.
        """
        host = records.read(self._world.places, slot)
        return host if host is not None else self._world.host(slot)

    def forget(self, slot: str) -> None:
        """A host is gone for good."""
        self._locks.pop(slot, None)

    def _supervisor(self, slot: str) -> Process | None:
        return processes.read_pid_file(self._world.places.host_pid(slot))

    def machine(self, slot: str) -> Machine:
        """Hardware of a host.

        Raises:
            KeyError: no such host.
        """
        host, places = self.find(slot), self._world.places
        hall = isinstance(host, Host)
        own = places.seeds / slot if hall else records.seed(places, slot)
        return Machine(
            places=places,
            slot=slot,
            seeds=(places.seeds / site_folder(host.site), own) if hall else (own,),
            keep_modes=not hall,
            image=Path(self._world.image),
            console=Path(host.console),
            memory_mib=self._world.memory_mib,
        )

    def _start(self, slot: str) -> None:
        machine = self.machine(slot)
        self._end_rest(machine)
        log = machine.places.host_log(slot)
        pid, said = processes.start(command_line(machine), log, _ON_WITHIN_S)
        threading.Thread(target=os.waitpid, args=(pid, 0), daemon=True).start()
        if said not in (supervisor.READY, supervisor.ALREADY_ON):
            raise EnvironmentUnfit(
                "a host does not start",
                code="LAB005",
                where=slot,
                got=said or "no word",
                hint=f"see {log} and {machine.console}",
            )

    def _stop(self, slot: str) -> None:
        running = self._supervisor(slot)
        if running is not None:
            running.kill()
        self._end_rest(self.machine(slot))
        if running is not None:
            if processes.wait_gone([running], _OFF_WITHIN_S):
                raise _does_not_end(slot, f"process {running.pid}")
            supervisor.note(Path(self.find(slot).console), "plug pulled")

    def _end_rest(self, machine: Machine) -> None:
        """Nothing of an earlier life may use the disk when the next one begins."""
        left = cgroups.empty(machine.cgroup, _OFF_WITHIN_S)
        if left:
            raise _does_not_end(machine.slot, f"processes {sorted(process.pid for process in left)}")

    def _signal_init(self, slot: str, number: int) -> None:
        with self._locks[slot]:
            running = self._supervisor(slot)
            if running is None:
                return
            init = _init(running)
            if init is not None:
                init.kill(number)
            elif number == signal.SIGRTMIN + 4:
                self._stop(slot)


def command_line(machine: Machine) -> list[str]:
    """A supervisor in a mount namespace of its own; what is unmounted outside goes in there too."""
    python = (sys.executable, "-I", "-m", supervisor.MODULE)
    return ["unshare", "--mount", "--propagation", "slave", *python, *machine.arguments()]


def _does_not_end(slot: str, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "a host does not go off",
        code="LAB006",
        where=slot,
        got=f"{got} still there after {_OFF_WITHIN_S:.0f} s",
    )


def _init(running: Process) -> Process | None:
    """The host's own process 1."""
    for pid in processes.descendants(running.pid):
        if _pids_in_namespaces(pid)[_CONTAINER_DEPTH - 1 :] == ["1"]:
            return Process.of(pid)
    return None


def _pids_in_namespaces(pid: int) -> list[str]:
    """Ids of a process, from the machine's namespace inwards (NSpid of proc(5))."""
    with suppress(OSError):
        for line in (processes.PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("NSpid:"):
                return line.split()[1:]
    return []


def _listens(process: Process, port: int) -> bool:
    """Whether something in its network namespace listens on a TCP port."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            lines = (processes.PROC / str(process.pid) / "net" / table).read_text().splitlines()[1:]
            fields = (line.split() for line in lines)
            if any(int(f[1].rpartition(":")[2], 16) == port and f[3] == _LISTENING for f in fields):
                return True
    return False
