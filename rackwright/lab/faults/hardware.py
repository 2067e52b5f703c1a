"""Faults of a host's own hardware: a slow processor, a disk that is full or takes no writes."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import cgroups, parts, processes, rootfs
from rackwright.lab.commands import run
from rackwright.lab.faults.fault import Fault
from rackwright.lab.faults.subjects import SubjectKind

if TYPE_CHECKING:
    from rackwright.lab.faults.fault import Planted, Stage

SLOW_PERCENT = 25
"""Of one processor, for all of a host together."""
LEFT_BYTES = 8 << 20
"""A disk that is full takes a note of the system now and then, and no file of a job."""
FILLER = PurePosixPath("var/tmp/full-disk")
_EXT4 = Path("/sys/fs/ext4")
_READ_ONLY = frozenset({"ro", "emergency_ro"})
"""In the options of a mount (mount(8), ext4(5)); Linux 6.15 and newer say the second after an error."""


class SlowCpu(Fault):
    """A processor that is throttled: too hot, or set to save power."""

    name = "slow-cpu"
    kind = SubjectKind.HOST
    does = f"all its programs together get {SLOW_PERCENT} % of one processor"
    shows = "FAIL of that node, by its speed against the fleet's (8 nodes or more)"

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """Only what there is a controller for can be bound."""
        if not cgroups.can_limit_cpu(_group(stage, subject)):
            raise EnvironmentUnfit(
                "this machine cannot slow a host down",
                code="LAB028",
                where=subject,
                got="no controller of processors among its control groups",
                expected="cpu, of version 1 or 2",
            )
        return super().prepare(stage, subject)

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Bound its control group, which stays over power cycles."""
        cgroups.limit_cpu(_group(stage, planted.subject), SLOW_PERCENT)

    def clear(self, stage: Stage, planted: Planted) -> None:
        """No bound; without a controller there is none."""
        cgroups.limit_cpu(_group(stage, planted.subject), None)


def _group(stage: Stage, slot: str) -> str:
    """A host's control group, made where it is not there yet."""
    machine = stage.hosts.machine(slot)
    cgroups.make(machine.cgroup, machine.memory_mib)
    return machine.cgroup


class FullDisk(Fault):
    """A disk that something has filled."""

    name = "full-disk"
    kind = SubjectKind.HOST
    does = f"a file takes up all of its disk but {LEFT_BYTES >> 20} MiB"
    shows = "ERROR of that node: its disk could not be measured"

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Take what is free; nothing is written, so that it takes no time."""
        with stage.hosts.root(planted.subject) as root:
            free = os.statvfs(root)
            size = free.f_bavail * free.f_frsize - LEFT_BYTES
            if size > LEFT_BYTES:
                rootfs.allocate(root, FILLER, size)

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Remove it."""
        with stage.hosts.root(planted.subject) as root:
            rootfs.remove(root, FILLER)


class ReadOnlyDisk(Fault):
    """A disk with an error, to which the kernel writes no more; a check at power-on mends it."""

    name = "read-only-disk"
    kind = SubjectKind.HOST
    does = (
        "its file system has met an error and takes no writes; `clear` power cycles the host, which checks it"
    )
    shows = "ERROR of that node and its rails: no step could be started there"

    def prepare(self, stage: Stage, subject: str) -> Planted:
        """Only the disk of a host that is on is mounted."""
        if stage.hosts.supervisor_pid(subject) is None:
            raise EnvironmentUnfit(
                "the disk of a host that is off meets no error", code="LAB029", where=subject, got="off"
            )
        return super().prepare(stage, subject)

    def plant(self, stage: Stage, planted: Planted) -> None:
        """Have the kernel take an error for what it is, and meet one."""
        slot = planted.subject
        pid = stage.hosts.supervisor_pid(slot)
        if pid is None or _is_read_only(stage, slot):
            return
        mounted, disk = stage.hosts.machine(slot).disk_mount, str(stage.world.places.disk(slot))
        enter = ("nsenter", f"--mount=/proc/{pid}/ns/mnt")
        run(*enter, "mount", "-o", "remount,errors=remount-ro", mounted)
        run(*enter, "sync", "--file-system", mounted)  # what was written before the error is not lost by it
        for device, file in parts.backing_files().items():
            if file == disk:
                (_EXT4 / Path(device).name / "trigger_fs_error").write_text(f"lab fault {self.name}")

    def clear(self, stage: Stage, planted: Planted) -> None:
        """Off and on: the disk is checked and mounted anew."""
        stage.hosts.reset(planted.subject)

    def repair(self, stage: Stage, planted: Planted) -> None:
        """Nothing: a disk that was checked since has no error."""

    def is_over(self, stage: Stage, subject: str) -> bool:
        """Whether it was checked and mounted anew since."""
        return not _is_read_only(stage, subject)


def _is_read_only(stage: Stage, slot: str) -> bool:
    pid = stage.hosts.supervisor_pid(slot)
    mounted = str(stage.hosts.machine(slot).disk_mount)
    try:
        lines = (processes.PROC / str(pid) / "mounts").read_text().splitlines()
    except OSError:
        return False
    options = [fields[3].split(",") for line in lines if (fields := line.split())[1] == mounted]
    return any(_READ_ONLY & set(words) for words in options)
