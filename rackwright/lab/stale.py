"""What a crash or a reboot left of a lab: found and cleared before the lab goes on.

What lives and belongs to the world stays: hosts that outlived labd, with their disks; and all that a
living labd is at, for whoever asked it waits for that.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rackwright.lab import cgroups, parts, processes, teardown
from rackwright.lab.cloud import records
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.places import ROUTER

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rackwright.lab.model import World
    from rackwright.lab.parts import Part
    from rackwright.lab.processes import Process

_NAMED_WITHIN_S = 5.0
"""From the start of a Python program to its pid file, on a busy machine too."""
_POLL_S = 0.1


def clear(world: World) -> Iterator[str]:
    """Clear it; each thing is named when it is gone."""
    yield from _processes(world)
    yield from _mounts_and_loops(world)
    yield from _namespaces(world)
    yield from _files(world)


def _machines(world: World) -> list[str]:
    """Hosts of the halls and of the cloud, as labd calls them."""
    return [
        *(host.name for host in world.hosts),
        *(host.name for host in records.read_all(world.places)),
    ]


def _pid_files(world: World) -> dict[Path, Process | None]:
    """Every pid file of the lab's processes, with the one that lives."""
    places = world.places
    files = [places.labd_pid, places.emulator_pid]
    files += [places.bmc_pid(host.slot) for host in world.hosts]
    files += [places.host_pid(name) for name in _machines(world)]
    return {file: processes.read_pid_file(file) for file in files}


def _processes(world: World) -> Iterator[str]:
    """Those that no pid file names: nothing would find them again."""
    for part in _nobodys(world):
        if part.process and part.process.kill():
            yield str(part)
    for name in _machines(world):
        group = f"{world.places.cgroup}/{name}"
        if processes.read_pid_file(world.places.host_pid(name)) is None and cgroups.members(group):
            cgroups.empty(group, seconds=20)
            yield f"processes of {name}"


def _nobodys(world: World) -> list[Part]:
    """Those that are so for a while: one that was just started has yet to write its pid file."""
    end = time.monotonic() + _NAMED_WITHIN_S
    while (left := list(_unnamed(world))) and time.monotonic() < end:
        time.sleep(_POLL_S)
    return left


def _unnamed(world: World) -> Iterator[Part]:
    """Without the children of a living labd: hosts that it switches on, disks that it has on its bench."""
    found = [part for part in parts.own_processes(world.places) if part.module and part.process]
    files = _pid_files(world)  # after: what has written its own meanwhile is named
    known, daemon = set(files.values()), files[world.places.labd_pid]
    for part in found:
        of_daemon = daemon and part.process and processes.parent(part.process.pid) == daemon.pid
        if part.process not in known and not of_daemon:
            yield part


def _mounts_and_loops(world: World) -> Iterator[str]:
    for part in parts.mounts(world.places):
        run("umount", "--lazy", part.name)
        yield str(part)
    used = {
        str(world.places.disk(name))
        for name in _machines(world)
        if processes.read_pid_file(world.places.host_pid(name))
    }
    backing = parts.backing_files()
    unused = [part for part in parts.loops(world.places) if backing.get(part.name) not in used]
    freed: list[str] = []
    teardown.detach(world.places, unused, freed.append)
    yield from freed


def _namespaces(world: World) -> Iterator[str]:
    """Those of no host of the world, and the plain files that a reboot left."""
    routers = (ROUTER, *(site.router for site in world.cloud))
    wanted = {world.places.netns(who) for who in (*routers, *_machines(world))}
    for part in parts.namespaces(world.places):
        if part.name not in wanted or not Namespace(part.name).exists:
            teardown.remove_namespace(part)
            yield str(part)


def _files(world: World) -> Iterator[str]:
    """Pid files of the dead; of a dead labd its socket, unfinished disks, and those of no host."""
    places, alive = world.places, _pid_files(world)
    files = [file for file in places.run.glob("*.pid") if alive.get(file) is None]
    if alive[places.labd_pid] is None:
        disks = {places.disk(name) for name in _machines(world)}
        files += [file for file in places.disk("any").parent.glob("*") if file not in disks]
        files.append(places.socket)
    else:  # it may be about to write one of a host's
        hosts = {places.host_pid(name) for name in _machines(world)}
        files = [file for file in files if file not in hosts]
    for file in files:
        if file.exists():
            file.unlink()
            yield f"file {file}"
