"""Instances that have printed their keys in, Ansible on them out: the roles of every other node.

The controller runs the same playbook that `rackwright converge` runs, over ssh that accepts no key but
the one on the instance's console, which EC2 itself gives. So the munge key comes over that connection,
and is in no user data.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import chain, count
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.burst.model import KEY
from rackwright.converge import leash
from rackwright.converge.stop_pipe import StopPipe
from rackwright.inventory import files
from rackwright.inventory.build import build, expected
from rackwright.inventory.console import NO_BLOCK
from rackwright.inventory.keys import Fault, Judged
from rackwright.plan.observed import Observed, ObservedSlot
from rackwright.render import host_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from rackwright.burst.model import Setting
    from rackwright.inventory.model import Inventory
    from rackwright.plan.model import Plan

_SAID_BYTES = 2000
_KEPT = 10
"""Folders of runs, so many of them for the log of one that is over."""
_STOP, _LOCK = "stop", "lock"
"""Files of a run's leash: no process of a run outlives it, nor us."""
log = logging.getLogger("rackwright.burst")


@dataclass(frozen=True, slots=True)
class Places:
    """Folders of a controller.

    Args:
        source: where the bundle is unpacked.
        laid: what the role has laid.
        work: inventories and logs of Ansible's runs; its own.
        secrets: where the munge key is.
    """

    source: Path
    laid: Path
    work: Path
    secrets: Path


@dataclass
class _Run:
    """One `ansible-playbook`.

    Args:
        instances: that it configures, by slot.
        folder: its own as long as it lives: inventory, known hosts, log.
        process: the leash that it is on.
        leash: what ends it.
        ends: when it is stopped at the latest, by the clock of `Configurer`.
        stopped: whether it was.
    """

    instances: Mapping[str, str]
    folder: Path
    process: subprocess.Popen[bytes]
    leash: StopPipe
    ends: float
    stopped: bool = False

    def stop(self) -> None:
        """End all of it, a task that hangs too."""
        log.warning("%s: roles not over in time, stopped", ", ".join(self.instances))
        self.leash.ask(now=True)
        self.stopped = True

    def said(self) -> str:
        """The end of its log."""
        return _log(self.folder).read_text(encoding="utf-8", errors="replace")[-_SAID_BYTES:]


@dataclass
class Configurer:
    """Runs of Ansible, several beside one another.

    Args:
        plan: the plan.
        setting: of the scheduler.
        places: of its controller.
        within_s: for one run; Slurm has given its nodes up by then.
    """

    plan: Plan
    setting: Setting
    places: Places
    within_s: float
    now: Callable[[], float] = time.monotonic
    _runs: list[_Run] = field(default_factory=list)
    _begun: int = 0

    def lay_files(self) -> None:
        """What the roles of an instance lay: names of all hosts, settings of its kernel, its storage."""
        for path, text in host_files.files(self.plan):
            canonical.write_atomic(self.places.work / path, text)

    @property
    def at_work(self) -> set[str]:
        """Instances that a run is configuring."""
        return {instance for run in self._runs for instance in run.instances.values()}

    def begin(self, seen: Mapping[str, ObservedSlot]) -> None:
        """Configure slots whose keys are known, in one run."""
        folder = self._folder()
        files.write(self._inventory(seen), folder, self.places.laid / KEY)
        stop = StopPipe(folder / _STOP)
        with _log(folder).open("wb") as output:
            process = subprocess.Popen(
                self._command(folder, seen),
                env=self._environment(folder),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        instances = {slot: one.instance for slot, one in sorted(seen.items())}
        self._runs.append(_Run(instances, folder, process, stop, self.now() + self.within_s))

    def _folder(self) -> Path:
        """The next one in turn that no run has any more."""
        self._begun += 1
        taken = {run.folder for run in self._runs}
        turns = chain(((self._begun + one) % _KEPT for one in range(_KEPT)), count(_KEPT))
        folders = (self.places.work / "runs" / str(number) for number in turns)
        return next(folder for folder in folders if folder not in taken)

    def ended(self) -> Iterator[tuple[Mapping[str, str], str]]:
        """Instances, by slot, of each run that is over, and why it failed; empty where it did not.

        A run whose time is over is told to end: it would keep its instances for ever.
        """
        for run in list(self._runs):
            if run.process.poll() is not None:
                self._runs.remove(run)
                run.leash.close()
                yield run.instances, self._why(run) if run.process.returncode else ""
            elif self.now() > run.ends and not run.stopped:
                run.stop()

    def _why(self, run: _Run) -> str:
        lines = run.said().splitlines()
        if not run.stopped:
            return _error(lines)
        task = next((line.rstrip(" *") for line in reversed(lines) if line.startswith("TASK [")), "no task")
        return f"not over after {self.within_s:g} s, stopped in {task}"

    def _inventory(self, seen: Mapping[str, ObservedSlot]) -> Inventory:
        """The cluster's, with these slots and the controllers; all others are left alone."""
        known = {**self.setting.controllers, **seen}
        silent = {slot.name for _, slot in expected(self.plan)} - known.keys()
        observed = Observed(cluster=self.plan.cluster.name, slots=known)
        found = build(self.plan, Judged(observed, dict.fromkeys(silent, Fault(NO_BLOCK, ""))))
        near = {name: host.model_copy(update={"bastion": None}) for name, host in found.hosts.items()}
        return found.model_copy(update={"hosts": near})

    def _command(self, folder: Path, seen: Mapping[str, object]) -> list[str]:
        variables = {"state": self.places.work, "secrets": self.places.secrets, "rendered": self.places.work}
        extra = [word for name, path in variables.items() for word in ("-e", f"rackwright_{name}={path}")]
        playbook = self.places.source / "playbooks" / "site.yml"
        hosts = ["-i", str(folder / "hosts.yml"), "--limit", ",".join(sorted(seen))]
        # Tagged `always` is a play on this host, which asserts an inventory that was written just now.
        tags = ["--tags", "configure", "--skip-tags", "always"]
        told = [str(os.getpid()), str(folder / _STOP), str(folder / _LOCK)]
        leashed = [sys.executable, "-m", leash.__name__, *told]
        return [*leashed, "ansible-playbook", str(playbook), *hosts, *tags, *extra]

    def _environment(self, folder: Path) -> dict[str, str]:
        return os.environ | {
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_ROLES_PATH": str(self.places.source / "roles"),
            "ANSIBLE_HOST_KEY_CHECKING": "True",
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        }


def _log(folder: Path) -> Path:
    return folder / "ansible.log"


def _error(lines: list[str]) -> str:
    """The line of Ansible's that names a fault."""
    named = [line.strip() for line in lines if "UNREACHABLE" in line or "ERROR" in line]
    named = named or [line.strip() for line in lines if line.startswith("fatal:")]
    return (named or lines or ["it said nothing"])[-1]
