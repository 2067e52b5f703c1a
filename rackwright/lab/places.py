"""Names and places of one lab on a machine; everything a lab makes is found again by these.

Standard library only: taking a lab away must work where the Python environment is already gone.
Namespaces are named ``rw-<cluster>.<who>``; no cluster's name holds a dot, so one lab's names are
never the beginning of another's.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

LINK_NAME_LIMIT = 15
"""Characters of a Linux interface name."""
ROUTER = "router"
NETNS = Path("/run/netns")
CGROUPS = Path("/sys/fs/cgroup")
MADE_NETNS_FOLDER = ".made-netns-folder"
"""Marks that the first lab made the folder of named namespaces, so that the last one takes it away."""


def state_root() -> Path:
    """All clusters' state, as `rackwright.paths.state` has it; a test holds the two together."""
    base = os.environ.get("XDG_STATE_HOME", "").strip()
    return (Path(base) if base else Path.home() / ".local" / "state") / "rackwright"


def run_root() -> Path:
    """All labs' sockets and process ids, as in `rackwright.paths.run`."""
    return Path(os.environ.get("RACKWRIGHT_RUN", "/run/rackwright"))


@dataclass(frozen=True, slots=True)
class Places:
    """Where one lab keeps things.

    Args:
        cluster: its name.
        state: the cluster's state folder; the lab's own part is ``lab/`` in it.
        run: sockets and process ids.
    """

    cluster: str
    state: Path
    run: Path

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> Places | None:
        """The places that a command line of `arguments` names; None where it names none."""
        options = dict(word[2:].split("=", 1) for word in arguments if word.startswith("--") and "=" in word)
        if not {"cluster", "state", "run"} <= options.keys():
            return None
        return cls(options["cluster"], Path(options["state"]), Path(options["run"]))

    def arguments(self) -> list[str]:
        """Options that every process of the lab is started with, so that it can be found by them."""
        return [f"--cluster={self.cluster}", f"--state={self.state}", f"--run={self.run}"]

    @property
    def lab(self) -> Path:
        """The lab's part of the state: it is there exactly as long as the lab is."""
        return self.state / "lab"

    @property
    def world(self) -> Path:
        """What this lab is made of."""
        return self.lab / "world.json"

    @property
    def faults(self) -> Path:
        """What was broken in this lab on purpose, and how to mend it."""
        return self.lab / "faults.json"

    @property
    def outside(self) -> Path:
        """List of files that the lab made outside its own folders, one path a line."""
        return self.lab / "outside"

    @property
    def logs(self) -> Path:
        """One log a process."""
        return self.lab / "logs"

    @property
    def authority(self) -> Path:
        """Key and certificate of the lab's certificate authority."""
        return self.lab / "ca"

    @property
    def cloud(self) -> Path:
        """One folder an instance of the emulated cloud, as long as that is there."""
        return self.lab / "cloud"

    @property
    def emulator(self) -> Path:
        """The emulated AWS: configuration, and the journal of its calls."""
        return self.lab / "aws"

    @property
    def emulator_config(self) -> Path:
        """Addresses, types and credentials of the emulated AWS."""
        return self.emulator / "emulator.json"

    @property
    def emulator_journal(self) -> Path:
        """Calls that changed something."""
        return self.emulator / "journal.jsonl"

    @property
    def emulator_pid(self) -> Path:
        """The emulated AWS's process; locked as long as it lives."""
        return self.run / "emulator.pid"

    @property
    def seeds(self) -> Path:
        """The boot folder, filled by ``rackwright up``."""
        return self.state / "boot"

    @property
    def socket(self) -> Path:
        """Where labd listens."""
        return self.run / "labd.sock"

    @property
    def labd_pid(self) -> Path:
        """Process id of labd; locked as long as it lives."""
        return self.run / "labd.pid"

    def disk(self, slot: str) -> Path:
        """A host's disk: the file system that holds its changes to the image."""
        return self.lab / "disks" / f"{slot}.ext4"

    def mounts(self, slot: str) -> Path:
        """Mount points of a host, seen only by its own processes."""
        return self.lab / "mounts" / slot

    def bmc(self, slot: str) -> Path:
        """Configuration of a host's BMC."""
        return self.lab / "bmc" / slot

    def bmc_pid(self, slot: str) -> Path:
        """A BMC's process; locked as long as it lives."""
        return self.run / f"bmc.{slot}.pid"

    def host_pid(self, slot: str) -> Path:
        """A host's supervisor; locked as long as it lives."""
        return self.run / f"host.{slot}.pid"

    def host_log(self, slot: str) -> Path:
        """What a host's supervisor has to say."""
        return self.logs / f"host.{slot}.log"

    def netns(self, who: str) -> str:
        """Name of a host's or the router's network namespace."""
        return f"{self.netns_prefix}{who}"

    @property
    def netns_prefix(self) -> str:
        """How the names of this lab's namespaces begin."""
        return f"rw-{self.cluster}."

    @property
    def leg(self) -> str:
        """The lab's one link in the machine's own network namespace."""
        name = f"rw-{self.cluster}"
        if len(name) <= LINK_NAME_LIMIT:
            return name
        digest = hashlib.sha256(self.cluster.encode()).hexdigest()
        return f"{name[:8]}.{digest[:6]}"

    @property
    def leg_alias(self) -> str:
        """What marks the leg as ours."""
        return f"rackwright lab {self.cluster}"

    @property
    def cgroup(self) -> str:
        """Path of the lab's control groups below each hierarchy."""
        return f"rackwright/{self.cluster}"


def of(cluster: str) -> Places:
    """The places of a lab by its name."""
    return Places(cluster, state_root() / cluster, run_root() / cluster)


def known() -> list[Places]:
    """Every lab that has left anything under the state or run folders."""
    with_state = {path.parent.name for path in state_root().glob("*/lab") if path.is_dir()}
    running = {path.name for path in run_root().glob("*") if path.is_dir()}
    return [of(name) for name in sorted(with_state | running)]
