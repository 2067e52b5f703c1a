"""Hosts and Slurm of a rolling reboot, over the inventory's ssh."""

from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwright.converge.reboot_model import PREFIX
from rackwright.errors import Failure, Incomplete, SubjectFailed
from rackwright.inventory.model import SlurmDuty

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwright.inventory.model import Inventory

NOTES = "/run/rackwright/reboot"
"""Roles write there why their host waits; a reboot empties it."""
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_NO_CONNECTION = 255
_THEN = "--"
"""Between two answers to one question."""
_CONNECT_S, _ANSWER_S = 15, 60
_TRIES = 3
"""Of what may be said twice: one lost connection among the thousands of a rolling reboot does not end it."""
_STATE = "sinfo --noheader --nodes={host} --format='%T|%E'"
_DRAINS = "date +%s; SLURM_TIME_FORMAT=%s sinfo --noheader --Node --format='%N|%T|%H|%E'"
_KEPT = ("drain", "down")
_DOWN = ("down", "unk", "fail", "boot", "reboot", "powering")


@dataclass(frozen=True, slots=True)
class Ssh:
    """Commands of root on hosts.

    Args:
        config: of the inventory.
    """

    config: Path

    def run(self, host: str, command: str) -> tuple[int, str]:
        """Exit status and standard output; 255 where it cannot be reached, or does not answer."""
        options = ["-o", f"ConnectTimeout={_CONNECT_S}", "-o", "ControlPath=none", "-o", "BatchMode=yes"]
        words = ["ssh", "-F", str(self.config), *options, host, f"sudo sh -c {shlex.quote(command)}"]
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                errors="replace",  # who drains a host may write its reason in any encoding
                check=False,
                timeout=_ANSWER_S,
                start_new_session=True,  # Ctrl-C is for us: what was begun on a host is not cut off by it
            )
        except subprocess.TimeoutExpired:
            return _NO_CONNECTION, ""
        return done.returncode, done.stdout

    def ask(self, host: str, command: str) -> tuple[int, str]:
        """The same of what changes nothing when it is said twice: tried again where there was no answer."""
        answer = self.run(host, command)
        for _ in range(_TRIES - 1):
            if answer[0] == _NO_CONNECTION:
                answer = self.run(host, command)
        return answer


@dataclass(frozen=True, slots=True)
class SshFleet:
    """As `rackwright.converge.reboots.Fleet`."""

    ssh: Ssh

    def boot_id(self, host: str) -> str:
        """Of the boot it runs; empty where it does not answer."""
        status, said = self.ssh.run(host, f"cat {_BOOT_ID}")
        return said.strip() if status == 0 else ""

    def state(self, host: str) -> str:
        """As systemd tells it; empty where it does not answer."""
        return self.ssh.run(host, "systemctl is-system-running; true")[1].strip()

    def services(self, host: str) -> frozenset[str]:
        """Those that start at boot, and run."""
        return self._at_boot(host, "running")

    def failed(self, host: str) -> frozenset[str]:
        """Those that start at boot, and have failed."""
        return self._at_boot(host, "failed")

    def _at_boot(self, host: str, state: str) -> frozenset[str]:
        shown = f"systemctl list-units --type=service --state={state} --no-legend --plain"
        enabled = "systemctl list-unit-files --type=service --state=enabled --no-legend --plain"
        _, said = self.ssh.ask(host, f"{shown}; echo {_THEN}; {enabled}")
        running, _, at_boot = said.partition(f"{_THEN}\n")
        first = [
            {line.split()[0] for line in part.splitlines() if line.split()} for part in (running, at_boot)
        ]
        return frozenset(first[0] & first[1])

    def reasons(self, host: str) -> tuple[str, ...]:
        """Why it waits for a reboot.

        Raises:
            Incomplete: it cannot be asked.
        """
        status, said = self.ssh.ask(host, f"grep -rhs . {NOTES}; true")
        if status != 0:
            raise Incomplete(
                "it cannot be asked whether it waits for a reboot",
                code="RBT001",
                where=host,
                got="no answer over ssh",
                hint="see `rackwright converge`, which names hosts that are not reached",
            )
        return tuple(said.splitlines())

    def reboot(self, host: str, boot_id: str) -> None:
        """Tell it to go down, unless it has booted since: a run that was cut off may have told it, too."""
        same = f'test "$(cat {_BOOT_ID})" = {shlex.quote(boot_id)}'
        self.ssh.run(host, f"{same} && systemctl reboot --no-block")


@dataclass(frozen=True, slots=True)
class SshSlurm:
    """As `rackwright.converge.reboots.Scheduler`.

    Args:
        ssh: to the controllers.
        controllers: host → the controller of its Slurm; one that is not in it is in none.
    """

    ssh: Ssh
    controllers: Mapping[str, str]

    def drained_for(self, host: str) -> str | None:
        """Reason why it gets no new jobs; None where it gets some, or is in no Slurm."""
        state, reason = self._state(host)
        return reason if state.startswith(_KEPT) else None

    def drain(self, host: str, reason: str) -> None:
        """Give it no new jobs."""
        self._ask(host, f"scontrol update nodename={host} state=drain reason={shlex.quote(reason)}")

    def jobs(self, host: str) -> tuple[str, ...]:
        """Those that have it now."""
        states = "running,completing,configuring,suspended,stopped,signaling,stage_out"
        return tuple(
            self._ask(host, f"squeue --noheader --nodelist={host} --states={states} --format=%i").split()
        )

    def registered(self, host: str) -> bool:
        """Whether its slurmd has answered since it booted; true where it is in no Slurm."""
        if host not in self.controllers:
            return True
        status, said = self.ssh.run(self.controllers[host], _STATE.format(host=host))
        state = said.partition("|")[0]
        return status == 0 and not state.endswith("*") and not state.startswith(_DOWN)

    def release(self, host: str) -> None:
        """Give it jobs again."""
        self._ask(host, f"scontrol update nodename={host} state=resume")

    def left(self) -> dict[str, float]:
        """Host → seconds since a reboot of ours has drained it, of all whose drain is there still.

        Raises:
            SubjectFailed: a controller does not answer, or refuses.
        """
        found: dict[str, float] = {}
        for controller in sorted(set(self.controllers.values())):
            host = next(name for name, one in self.controllers.items() if one == controller)
            now, *nodes = self._ask(host, _DRAINS).splitlines()
            for name, state, since, reason in (line.split("|", 3) for line in nodes):
                if state.startswith(_KEPT) and reason.startswith(PREFIX):
                    found[name] = float(now) - float(since)
        return found

    def _state(self, host: str) -> tuple[str, str]:
        line = self._ask(host, _STATE.format(host=host)).partition("\n")[0]
        state, _, reason = line.partition("|")
        return state, reason

    def _ask(self, host: str, command: str) -> str:
        """What a command on its controller prints; nothing for a host in no Slurm.

        Raises:
            SubjectFailed: the controller does not answer, or refuses.
        """
        if host not in self.controllers:
            return ""
        status, said = self.ssh.ask(self.controllers[host], command)
        if status != 0:
            got = "no answer" if status == _NO_CONNECTION else f"exit status {status}"
            cause = f"{command.partition(' ')[0]} on {self.controllers[host]}: {got}"
            hint = "see that slurmctld runs; nothing was rebooted without its word"
            raise SubjectFailed([Failure(host, "RBT002", cause, hint)])
        return said


def controllers(inventory: Inventory) -> dict[str, str]:
    """Compute node → the controller of its Slurm."""
    serving: dict[str, str] = {}
    for name, host in sorted(inventory.hosts.items()):
        if host.slurm and SlurmDuty.CONTROLLER in host.slurm.duties:
            serving.setdefault(host.slurm.scheduler, name)
    return {
        name: serving[host.slurm.scheduler]
        for name, host in inventory.hosts.items()
        if host.slurm and SlurmDuty.NODE in host.slurm.duties and host.slurm.scheduler in serving
    }
