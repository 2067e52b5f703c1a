"""Instances that have printed their keys in, Ansible on them out: the roles of every other node.

The controller runs the same playbook that `rackwright converge` runs, over ssh that accepts no key but
the one on the instance's console, which EC2 itself gives. So the munge key comes over that connection,
and is in no user data.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwright import canonical
from rackwright.burst.model import KEY
from rackwright.inventory import files
from rackwright.inventory.build import build, expected
from rackwright.inventory.console import NO_BLOCK
from rackwright.inventory.keys import Fault, Judged
from rackwright.plan.observed import Observed, ObservedSlot
from rackwright.render import host_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from rackwright.burst.model import Setting
    from rackwright.inventory.model import Inventory
    from rackwright.plan.model import Plan

_SAID_BYTES = 2000


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
    slots: tuple[str, ...]
    process: subprocess.Popen[bytes]
    log: Path


@dataclass
class Configurer:
    """Runs of Ansible, several beside one another."""

    plan: Plan
    setting: Setting
    places: Places
    _runs: list[_Run] = field(default_factory=list)
    _begun: int = 0

    def lay_files(self) -> None:
        """What the roles of an instance lay: names of all hosts, settings of its kernel, its storage."""
        for path, text in host_files.files(self.plan):
            canonical.write_atomic(self.places.work / path, text)

    @property
    def at_work(self) -> set[str]:
        """Slots that a run is configuring."""
        return {slot for run in self._runs for slot in run.slots}

    def begin(self, seen: Mapping[str, ObservedSlot]) -> None:
        """Configure slots whose keys are known, in one run."""
        self._begun += 1
        folder = self.places.work / "runs" / str(self._begun % 10)
        inventory = self._inventory(seen)
        files.write(inventory, folder, self.places.laid / KEY)
        log = folder / "ansible.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._command(folder, seen),
                env=self._environment(folder),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._runs.append(_Run(tuple(sorted(seen)), process, log))

    def ended(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """Slots of each run that is over, and what it said where it failed; empty where it did not."""
        for run in list(self._runs):
            code = run.process.poll()
            if code is not None:
                self._runs.remove(run)
                said = run.log.read_text(encoding="utf-8", errors="replace")[-_SAID_BYTES:]
                yield run.slots, said if code else ""

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
        return ["ansible-playbook", str(playbook), *hosts, *tags, *extra]

    def _environment(self, folder: Path) -> dict[str, str]:
        return os.environ | {
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
            "ANSIBLE_ROLES_PATH": str(self.places.source / "roles"),
            "ANSIBLE_HOST_KEY_CHECKING": "True",
            "ANSIBLE_NOCOLOR": "1",
            "LC_ALL": "C.UTF-8",
        }
