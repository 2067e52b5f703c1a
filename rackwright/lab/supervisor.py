"""The hardware of one host: power is on as long as this process lives.

Started by labd in a mount namespace of its own, it puts the host's disk over the image, waits out
the power-on self-test, plays the boot server and runs `systemd-nspawn`; when the host asks for a
reboot, it does so again. It outlives labd. Killing it is pulling the plug: everything below it dies
with it, and so do its mounts.

Standard library only: there is one for each host.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import cgroups, processes, rootfs, seed
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import Places

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULE = "rackwright.lab.supervisor"
READY, ALREADY_ON = "ready", "already on"
POST_S = 2.0
"""A boot must be later than its request by more than Slurm's rounding."""
REBOOT = 133
"""What systemd-nspawn exits with when the host asks for a reboot."""
FSCK_REPAIRED = 1
_OWN_NET_SETTINGS = {"SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network"}
"""Sysctls of its network namespace are the host's to set."""
NSPAWN_STATE = Path("/run/systemd")
"""Where systemd-nspawn keeps files of its own; hidden from it, and missing where systemd never ran."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the hardware of one host needs to know.

    Args:
        places: of the lab.
        slot: the host.
        seeds: folders of the files it boots with, the later over the earlier; the last is its own.
        keep_modes: whether those files have the modes that they have on the host.
        image: root of the image.
        console: file that the console is written to.
        memory_mib: at most.
    """

    places: Places
    slot: str
    seeds: tuple[Path, ...]
    keep_modes: bool
    image: Path
    console: Path
    memory_mib: int

    def arguments(self) -> list[str]:
        """Its command line."""
        return [
            *self.places.arguments(),
            f"--slot={self.slot}",
            *(f"--seed={folder}" for folder in self.seeds),
            *(["--keep-modes"] if self.keep_modes else []),
            f"--image={self.image}",
            f"--console={self.console}",
            f"--memory-mib={self.memory_mib}",
        ]

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> Machine:
        """The machine of a command line."""
        parser = argparse.ArgumentParser(prog=MODULE, allow_abbrev=False)
        for option in ("cluster", "state", "run", "slot", "image", "console"):
            parser.add_argument(f"--{option}", required=True)
        parser.add_argument("--seed", type=Path, action="append", required=True)
        parser.add_argument("--keep-modes", action="store_true")
        parser.add_argument("--memory-mib", type=int, required=True)
        read = parser.parse_args(arguments)
        places = Places(read.cluster, Path(read.state), Path(read.run))
        return cls(
            places=places,
            slot=read.slot,
            seeds=tuple(read.seed),
            keep_modes=read.keep_modes,
            image=Path(read.image),
            console=Path(read.console),
            memory_mib=read.memory_mib,
        )

    @property
    def cgroup(self) -> str:
        """Path of its control groups."""
        return f"{self.places.cgroup}/{self.slot}"

    @property
    def disk_mount(self) -> Path:
        """Where its disk is mounted, for its own processes only."""
        return self.places.mounts(self.slot) / "disk"

    @property
    def root(self) -> Path:
        """Where its root is mounted, for its own processes only."""
        return self.places.mounts(self.slot) / "root"


def main(arguments: Sequence[str]) -> NoReturn:
    """Be one host's hardware until its power goes off."""
    os.chdir("/")
    machine = Machine.parse(arguments)
    try:
        processes.claim_pid_file(machine.places.host_pid(machine.slot))
    except processes.AlreadyRuns:
        sys.stdout.write(f"{ALREADY_ON}\n")
        sys.exit(0)
    try:
        prepare(machine)
    except (EnvironmentUnfit, OSError) as error:
        print_reason(error)
        sys.exit(1)
    _say_ready()
    sys.exit(_serve(machine))


def print_reason(error: EnvironmentUnfit | OSError) -> None:
    """Tell labd why there is no power; it reads our standard output."""
    reason = f"{error.where}: {error.got}" if isinstance(error, EnvironmentUnfit) else str(error)
    sys.stdout.write(reason.replace("\n", " ") + "\n")


def prepare(machine: Machine) -> None:
    """Make what the host will run in; nobody outside this mount namespace sees its mounts.

    Raises:
        EnvironmentUnfit: the disk or a mount failed.
    """
    cgroups.make(machine.cgroup, machine.memory_mib)
    mount_root(machine)
    _hide_nspawn_state()


def mount_root(machine: Machine) -> None:
    """Mount the disk over the image.

    Raises:
        EnvironmentUnfit: the disk or a mount failed.
    """
    disk, upper = machine.places.disk(machine.slot), machine.disk_mount
    for folder in (upper, machine.root):
        folder.mkdir(parents=True, exist_ok=True)
    _check(disk)
    run("mount", "-o", "loop,noatime", disk, upper)
    for name in ("upper", "work"):
        (upper / name).mkdir(exist_ok=True)
    layers = f"lowerdir={machine.image},upperdir={upper / 'upper'},workdir={upper / 'work'}"
    run("mount", "-t", "overlay", "-o", layers, "overlay", machine.root)


def _check(disk: Path) -> None:
    """Repair what a power cut of the whole machine left; a kill of the host leaves nothing."""
    command = ["e2fsck", "-p", str(disk)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode > FSCK_REPAIRED:
        raise EnvironmentUnfit(
            "a host's disk is broken",
            code="LAB004",
            where=str(disk),
            got=done.stdout.strip() or done.stderr.strip(),
            hint="`rackwright lab down` removes the lab with its disks",
        )


def _hide_nspawn_state() -> None:
    """Keep systemd-nspawn's own files under /run out of the machine: nobody would remove them."""
    NSPAWN_STATE.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", NSPAWN_STATE)


def _say_ready() -> None:
    """From here on the host is on; labd waits for no more, and may be gone."""
    try:
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)


def _serve(machine: Machine) -> int:
    machine.console.parent.mkdir(parents=True, exist_ok=True)
    with machine.console.open("ab", buffering=0) as console:
        mark(console.fileno(), "power on")
        while (code := _boot(machine, console.fileno())) == REBOOT:
            mark(console.fileno(), "reboot")
        mark(console.fileno(), "power off")
    return code


def mark(console: int, event: str) -> None:
    """Note an event on a console, in the form of conserver's own notes."""
    now = datetime.now(UTC).strftime("%a %b %e %H:%M:%S %Y")
    os.write(console, f"\r\n[-- {event} -- {now}]\r\n".encode())


def note(console: Path, event: str) -> None:
    """As `mark`, where the supervisor lives no more."""
    with console.open("ab", buffering=0) as file:
        mark(file.fileno(), event)


def _boot(machine: Machine, console: int) -> int:
    time.sleep(POST_S)
    _network_boot(machine, console)
    return subprocess.run(
        command_line(machine),
        stdin=subprocess.DEVNULL,
        stdout=console,
        stderr=console,
        check=False,
        env=os.environ | _OWN_NET_SETTINGS,
        preexec_fn=lambda: cgroups.join(machine.cgroup),  # this process has one thread
    ).returncode


def _network_boot(machine: Machine, console: int) -> None:
    try:
        laid = seed.lay(machine.seeds, machine.root, keep_modes=machine.keep_modes)
    except (rootfs.UnsafeRoot, OSError) as error:
        mark(console, f"boot seed not laid: {error}")
        return
    if not machine.seeds[-1].is_dir():
        mark(console, "no boot seed for this host: it boots without identity")
    else:
        mark(console, f"network boot: {laid} files of the boot seed")


def command_line(machine: Machine) -> list[str]:
    """The host, in process ids, time and mounts of its own, tied to the life of this process.

    Its uptime begins at 0: a time namespace moves its boot time, or Slurm would believe no reboot.
    """
    uptime_s = int(Path("/proc/uptime").read_text().split(".")[0])
    return [
        *("setpriv", "--pdeathsig", "KILL"),
        *("unshare", "--pid", "--mount-proc", "--time", "--boottime", f"-{uptime_s}", "--fork"),
        "--kill-child",
        *("systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--link-journal=no"),
        *("--resolv-conf=off", "--timezone=off", "--capability=CAP_NET_ADMIN", "--console=read-only"),
        *("--machine=host", "--hostname=localhost"),
        f"--directory={machine.root}",
        f"--network-namespace-path={Namespace(machine.places.netns(machine.slot)).path}",
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
