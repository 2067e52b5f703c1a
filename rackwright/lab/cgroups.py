"""One control group a host, in every hierarchy that matters to it: made, joined, emptied, removed.

A host's systemd makes its own groups below the one it was started in: two hosts in one group would
end each other's services. The memory controller, where there is one, bounds the host, and the one of
processors can slow it down.

A host weighs as much as a process beside the lab: else all hosts of all labs together got what one process
gets, and on a busy machine they would measure that machine, and no longer their rails.

Both layouts are served: version 1, one tree a controller, and version 2, one tree for all.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from rackwright.lab import places
from rackwright.lab.processes import Process

_VERSION_1 = ("systemd", "unified", "memory", "cpu")
_MEMORY_LIMITS = ("memory.limit_in_bytes", "memory.max")
_CPU_QUOTAS = {"cpu.cfs_quota_us": ("-1", "{quota}"), "cpu.max": ("max {period}", "{quota} {period}")}
"""File → what it holds without and with a quota, microseconds a period."""
_CPU_PERIOD_US = 100_000
_CPU_WEIGHTS = {"cpu.shares": (1024, 262_144), "cpu.weight": (100, 10_000)}
"""File → what a process or group has that nobody weighed, and the most that one can have."""
_MIB = 1 << 20
_POLL_S = 0.05


def hierarchies() -> list[Path]:
    """Roots of the trees that a host gets a group in."""
    if (places.CGROUPS / "cgroup.controllers").exists():
        return [places.CGROUPS]
    roots = (places.CGROUPS / name for name in _VERSION_1)
    return [root for root in roots if (root / "cgroup.procs").exists()]


def make(group: str, memory_mib: int) -> bool:
    """Make a group in every hierarchy.

    Returns:
        Whether its memory is bounded; it is not where the kernel has no such controller.
    """
    bounded = False
    for root in hierarchies():
        folder = root / group
        folder.mkdir(parents=True, exist_ok=True)
        _hand_down(root, folder)
        for name in _MEMORY_LIMITS:
            if (folder / name).exists():
                (folder / name).write_text(str(memory_mib * _MIB))
                bounded = True
        _weigh(root, folder)
    return bounded


def _weigh(root: Path, host: Path) -> None:
    """Give the groups of a lab, and of all labs, the weight of the hosts in them."""
    for folder, hosts in ((host.parent, "*"), (host.parent.parent, "*/*")):
        count = sum(path.is_dir() for path in folder.glob(hosts)) if folder != root else 0
        for name, (one, most) in _CPU_WEIGHTS.items():
            if count and (folder / name).exists():
                (folder / name).write_text(str(min(count * one, most)))


def _hand_down(root: Path, folder: Path) -> None:
    """Version 2 gives a group a controller only through all above it; the root is not ours to change."""
    for above in reversed(folder.relative_to(root).parents[:-1]):
        with suppress(OSError):
            (root / above / "cgroup.subtree_control").write_text("+memory")
        with suppress(OSError):
            (root / above / "cgroup.subtree_control").write_text("+cpu")


def can_limit_cpu(group: str) -> bool:
    """Whether the kernel has such a controller for a group that exists."""
    return any((folder / name).exists() for folder in folders(group) for name in _CPU_QUOTAS)


def limit_cpu(group: str, percent: int | None) -> bool:
    """Bound what all processes of a group get together, over power cycles too.

    Args:
        group: that exists.
        percent: of one processor; None for no bound.

    Returns:
        Whether it is so; it is not where the kernel has no such controller.
    """
    words = {"period": _CPU_PERIOD_US, "quota": (percent or 0) * _CPU_PERIOD_US // 100}
    done = False
    for folder in folders(group):
        for name, (free, bound) in _CPU_QUOTAS.items():
            if (folder / name).exists():
                (folder / name).write_text((free if percent is None else bound).format(**words))
                done = True
    return done


def join(group: str) -> None:
    """Move this process into it."""
    for root in hierarchies():
        (root / group / "cgroup.procs").write_text(str(os.getpid()))


def folders(group: str) -> list[Path]:
    """Its folders, where it exists."""
    return [root / group for root in hierarchies() if (root / group).is_dir()]


def members(group: str) -> set[Process]:
    """Living processes in it and below."""
    pids: set[int] = set()
    for folder in folders(group):
        for below, _, _ in os.walk(folder):  # passes over a group that goes meanwhile, as `rglob` does not
            with suppress(OSError):
                pids.update(int(word) for word in (Path(below) / "cgroup.procs").read_text().split())
    return {process for pid in pids if (process := Process.of(pid))}


def empty(group: str, seconds: float) -> set[Process]:
    """Kill all in it and wait.

    Returns:
        Those that are still there.
    """
    end = time.monotonic() + seconds
    while left := members(group):
        for process in left:
            process.kill(signal.SIGKILL)
        if time.monotonic() > end:
            return left
        time.sleep(_POLL_S)
    return set()


def remove(group: str) -> None:
    """Remove the empty group with all below it, and the groups above it that nobody uses any more."""
    for folder in folders(group):
        for below, _, _ in os.walk(folder, topdown=False):
            with suppress(OSError):  # not empty: it is reported as a part that is left
                Path(below).rmdir()
    for root in hierarchies():
        for above in (root / group).parents:
            if above == root:
                break
            with suppress(OSError):  # another lab's, or not there
                above.rmdir()
