"""Everything that a lab has on this machine, found by name: in the kernel, never in our own notes.

Standard library only: what is left must be found where the Python environment is already gone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.lab import cgroups, processes
from rackwright.lab.netns import Namespace
from rackwright.lab.places import NETNS, Places
from rackwright.lab.processes import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

MODULES = (
    "rackwright.lab.labd",
    "rackwright.lab.supervisor",
    "rackwright.lab.bmc",
    "rackwright.lab.workbench",
    "rackwright.lab.aws.emulator",
)
_MODULE_WITHIN = 9
"""Words of a command line, `unshare` or `nsenter` included, before the options."""
_BLOCK = Path("/sys/block")
_MOUNT_POINT = 4
"""Field of /proc/PID/mountinfo, from 0."""


class Kind(StrEnum):
    """What a part is."""

    PROCESS = "process"
    LOOP = "loop device"
    MOUNT = "mount"
    LINK = "link"
    NAMESPACE = "namespace"
    CGROUP = "control group"
    RUN = "run file"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Part:
    """One thing of a lab.

    Args:
        kind: what it is.
        name: what the operating system calls it.
        process: for a process.
        module: for a process that we started: which of `MODULES`; empty for what it started.
    """

    kind: Kind
    name: str
    process: Process | None = field(default=None, compare=False)
    module: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def find(places: Places) -> list[Part]:
    """All parts of a lab, in the order in which they can be taken away."""
    return [
        *own_processes(places),
        *mounts(places),
        *loops(places),
        *links(places),
        *namespaces(places),
        *control_groups(places),
        *run_files(places),
        *([Part(Kind.STATE, str(places.lab))] if places.lab.exists() else []),
    ]


def own_processes(places: Places) -> Iterator[Part]:
    """Daemon, supervisors, BMCs, the EC2 emulator, and all that runs in the hosts."""
    seen: set[Process] = set()
    for part, whose in _lab_processes():
        if part.process and _names(whose) == _names(places):
            seen.add(part.process)
            yield part
    for process in sorted(cgroups.members(places.cgroup) - seen, key=lambda process: process.pid):
        yield Part(Kind.PROCESS, f"{process.pid} {_command(process.pid)}", process)


def namesakes(places: Places) -> Iterator[Places]:
    """Living labs of the same name with another state folder: kernel names are the same for both."""
    for _, whose in _lab_processes():
        if whose.cluster == places.cluster and whose.state != places.state:
            yield whose


def _lab_processes() -> Iterator[tuple[Part, Places]]:
    """Daemons, supervisors, BMCs and emulators of all labs, with the lab each belongs to."""
    for pid in processes.all_pids():
        arguments = processes.arguments(pid)
        module = next((name for name in MODULES if name in arguments[:_MODULE_WITHIN]), "")
        whose = Places.parse(arguments) if module else None
        process = Process.of(pid) if whose else None
        if whose and process:
            yield Part(Kind.PROCESS, f"{pid} {module}", process, module), whose


def _names(places: Places) -> tuple[str, Path]:
    return places.cluster, places.state


def _command(pid: int) -> str:
    return " ".join(processes.arguments(pid)[:1])


def strangers(places: Places) -> Iterator[Part]:
    """Processes that somebody else runs in the lab's namespaces: a shell of `ip netns exec`."""
    spaces = {_inode(Namespace(part.name).path) for part in namespaces(places)} - {None}
    own = {part.process for part in own_processes(places)}
    for pid in processes.all_pids() if spaces else ():
        process = Process.of(pid)
        if process not in own and _inode(processes.PROC / str(pid) / "ns/net") in spaces:
            yield Part(Kind.PROCESS, f"{pid} {_command(pid)}", process)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def mounts(places: Places) -> Iterator[Part]:
    """Mounts in this mount namespace, the innermost first; a living lab has none here."""
    for point in reversed(mount_points()):
        if Path(point).is_relative_to(places.state) or Path(point).is_relative_to(places.run):
            yield Part(Kind.MOUNT, point)


def mount_points() -> list[str]:
    """Mount points of this mount namespace, in the order in which they were mounted."""
    lines = (processes.PROC / "self/mountinfo").read_text().splitlines()
    return [_unescaped(line.split()[_MOUNT_POINT]) for line in lines]


def _unescaped(word: str) -> str:
    """The kernel writes blanks as octal escapes."""
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def loops(places: Places) -> Iterator[Part]:
    """Loop devices over the hosts' disks; a living host has one."""
    for device, backing in backing_files().items():
        if Path(backing.removesuffix(" (deleted)")).is_relative_to(places.lab):
            yield Part(Kind.LOOP, device)


def backing_files() -> dict[str, str]:
    """Loop device → its file, for all that are in use."""
    found = {}
    for path in sorted(_BLOCK.glob("loop*/loop/backing_file")):
        try:
            found[f"/dev/{path.parent.parent.name}"] = path.read_text().rstrip("\n")
        except OSError:
            continue  # it was freed in between
    return found


def links(places: Places) -> Iterator[Part]:
    """The leg; a link of that name without our mark is not ours."""
    link = Namespace().links().get(places.leg)
    if link is not None and link.alias == places.leg_alias:
        yield Part(Kind.LINK, places.leg)


def namespaces(places: Places) -> Iterator[Part]:
    """Named network namespaces, and the plain files that a reboot leaves of them."""
    for path in sorted(NETNS.glob(f"{places.netns_prefix}*")):
        yield Part(Kind.NAMESPACE, path.name)


def control_groups(places: Places) -> Iterator[Part]:
    """Control groups of hosts."""
    for folder in cgroups.folders(places.cgroup):
        yield Part(Kind.CGROUP, str(folder))


def run_files(places: Places) -> Iterator[Part]:
    """The folder of sockets and process ids."""
    if places.run.exists():
        yield Part(Kind.RUN, str(places.run))
