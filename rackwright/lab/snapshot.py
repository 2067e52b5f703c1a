"""What is on a machine, to tell what a lab left behind: taken before, taken after, compared.

Nothing here knows a lab: all processes, mounts, namespaces, links, routes, packet filters, loop
devices, control groups and settings of the machine are read, and all files under /etc, /run and
/var/lib. What changes on every machine all the time, with or without a lab, is named below.

    python3 -m rackwright.lab.snapshot take > before.json
    python3 -m rackwright.lab.snapshot compare before.json
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rackwright.lab import parts, processes
from rackwright.lab.commands import run
from rackwright.lab.places import CGROUPS, NETNS
from rackwright.lab.processes import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Things = dict[str, str]
"""Name of a thing → what it is like."""
Snapshot = dict[str, Things]
"""Kind → things."""

FOLDERS = (Path("/etc"), Path("/run"), Path("/var/lib"))
_KERNEL_THREADS = 2
"""kthreadd and its children are the kernel's own."""
_INIT = 1
_RESTLESS_FILES = re.compile(
    r"/run/(user|udev|log|systemd/(?!nspawn)[^/]+)/"  # sessions, devices, journal, units
    r"|/var/lib/(systemd|apt|dpkg|postgresql|logrotate)/"
)
_RESTLESS_SETTINGS = re.compile(
    r"kernel/(random|ns_last_pid|perf_|sched_|usermodehelper|pty/nr)"  # the kernel writes these itself
    r"|fs/(binfmt_misc|aio-nr|file-nr|inode-)"
    r"|net/ipv4/(neigh|conf)/(?!all|default)|net/ipv6/(neigh|conf)/(?!all|default)"  # links, told as links
    r"|net/netfilter/nf_conntrack_count"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it was.

    Args:
        kind: ``process``, ``mount`` …
        name: of the thing.
        before: what it was like; None where it was not there.
        after: what it is like; None where it is gone.
    """

    kind: str
    name: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.kind} {self.name}: left behind ({self.after})"
        if self.after is None:
            return f"{self.kind} {self.name}: gone ({self.before})"
        return f"{self.kind} {self.name}: was {self.before}, is {self.after}"


def take() -> Snapshot:
    """Everything as it is now."""
    return {kind: read() for kind, read in _READERS.items()}


def compare(before: Snapshot, after: Snapshot) -> list[Difference]:
    """What differs; of processes only those that nobody who was there before has started or ended."""
    return [
        Difference(kind, name, old.get(name), new.get(name))
        for kind in _READERS
        for old, new in [(before[kind], after[kind])]
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and not (kind == "process" and _is_somebodys(name, before))
    ]


def _processes() -> Things:
    """All but the kernel's, this one, and those that it runs for."""
    found: Things = {}
    mine = set(_ancestors(os.getpid()))
    for pid in processes.all_pids():
        process = Process.of(pid)
        arguments = processes.arguments(pid)
        if process is None or pid in mine or processes.parent(pid) in {0, _KERNEL_THREADS, None}:
            continue
        found[f"{pid}.{process.started}"] = " ".join(arguments) or "(no command line)"
    return found


def _ancestors(pid: int | None) -> Iterator[int]:
    while pid:
        yield pid
        pid = processes.parent(pid)


def _is_somebodys(name: str, before: Snapshot) -> bool:
    """Whether a new process belongs to one that was there before, or an old one just ended."""
    if name in before["process"]:
        return True
    pid = int(name.partition(".")[0])
    above = (Process.of(parent) for parent in list(_ancestors(pid))[1:] if parent > _INIT)
    return any(one is not None and f"{one.pid}.{one.started}" in before["process"] for one in above)


def _mounts() -> Things:
    found: Things = {}
    for line in (processes.PROC / "self/mountinfo").read_text().splitlines():
        fields, _, tail = line.partition(" - ")
        words = fields.split()
        found[f"{words[4]} #{words[0]}"] = f"{tail.split()[0]} {words[5]}"
    return found


def _namespaces() -> Things:
    return {path.name: "network namespace" for path in NETNS.glob("*")}


def _links() -> Things:
    return {
        link["ifname"]: f"{link.get('address', '')} mtu {link['mtu']}"
        for link in json.loads(run("ip", "-j", "link", "show"))
    }


def _routes() -> Things:
    found: Things = {}
    for family in ("-4", "-6"):
        for route in json.loads(run("ip", "-j", family, "route", "show", "table", "all")):
            name = " ".join(str(route.get(key, "")) for key in ("type", "dst", "dev", "table"))
            found[name.strip()] = str(route.get("gateway", ""))
    return found


def _packet_filters() -> Things:
    if shutil.which("nft") is None:
        return {}
    return dict.fromkeys(run("nft", "list", "tables").splitlines(), "table")


def _control_groups() -> Things:
    """The uppermost ones: those below are their owner's."""
    one_tree = (CGROUPS / "cgroup.controllers").exists()
    folders = CGROUPS.glob("*/" if one_tree else "*/*/")
    return {str(folder): "control group" for folder in folders if not folder.is_symlink()}


def _settings() -> Things:
    """All sysctls that can be set."""
    root = processes.PROC / "sys"
    found: Things = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            key = str(path.relative_to(root))
            if path.stat().st_mode & stat.S_IWUSR and not _RESTLESS_SETTINGS.match(key):
                found[key] = _value(path)
    return found


def _value(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return "(not readable)"


def _files() -> Things:
    """In /etc with size and time, elsewhere only that they are there: what runs keeps writing."""
    found: Things = {}
    for root in FOLDERS:
        for folder, folders, names in os.walk(root):
            for name in (*folders, *names):
                path = Path(folder) / name
                if not _RESTLESS_FILES.match(str(path)):
                    found[str(path)] = _like(path, in_detail=root == FOLDERS[0])
    return {name: like for name, like in found.items() if like}


def _like(path: Path, *, in_detail: bool) -> str:
    try:
        info = path.lstat()
    except OSError:
        return ""
    kind = stat.filemode(info.st_mode)
    return f"{kind} {info.st_size} {info.st_mtime_ns}" if in_detail and not path.is_dir() else kind


_READERS: dict[str, Callable[[], Things]] = {
    "process": _processes,
    "mount": _mounts,
    "namespace": _namespaces,
    "link": _links,
    "route": _routes,
    "packet filter": _packet_filters,
    "loop device": parts.backing_files,
    "control group": _control_groups,
    "setting": _settings,
    "file": _files,
}


def main(arguments: Sequence[str]) -> NoReturn:
    """Print a snapshot, or what has changed since one; 1 where something has."""
    if list(arguments) == ["take"]:
        print(json.dumps(take(), indent=1, sort_keys=True))  # noqa: T201 (a program)
        sys.exit(0)
    if len(arguments) != len(("compare", "FILE")) or arguments[0] != "compare":
        sys.exit("usage: python3 -m rackwright.lab.snapshot take|compare FILE")
    found = compare(json.loads(Path(arguments[1]).read_text()), take())
    print("\n".join(map(str, found)) or "nothing was left behind")  # noqa: T201
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
