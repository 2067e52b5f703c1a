"""Take a lab away: its places in, nothing left of it on the machine, whatever state it was in.

Each step looks at what is there, so that a run that was cut off goes on where it stopped, and a
second run finds nothing. The mark of a lab, the folder ``lab/`` of its state, goes last.

Standard library only: ``python3 -m rackwright.lab.teardown NAME`` works without the environment.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from rackwright.errors import EnvironmentUnfit, RackwrightError
from rackwright.lab import cgroups, naming, parts, processes
from rackwright.lab.commands import run
from rackwright.lab.netns import Namespace
from rackwright.lab.parts import Kind
from rackwright.lab.places import MADE_NETNS_FOLDER, NETNS
from rackwright.lab.processes import exclusive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rackwright.lab.parts import Part
    from rackwright.lab.places import Places

_GONE_WITHIN_S = 20.0
_FREED_WITHIN_S = 5.0
_WRITTEN_WITHIN_S = 60.0
_POLL_S = 0.05


def take_down(places: Places, tell: Callable[[str], None]) -> bool:
    """Remove all parts of a lab.

    Args:
        places: of the lab.
        tell: is told of each thing removed.

    Returns:
        Whether there was anything.

    Raises:
        EnvironmentUnfit: not root, or something that does not go.
    """
    if not parts.find(places):
        return False
    if os.geteuid() != 0:
        raise _needs_root(places)
    refuse_namesake(places)
    if not places.lab.exists():  # then the state folder, if there is one, is no lab's
        _clear_machine(places, tell)
        return True
    with exclusive(places.lab) as free:
        if not free:
            raise busy(places)
        _clear_machine(places, tell)
        _remove_state(places)
    return True


def _clear_machine(places: Places, tell: Callable[[str], None]) -> None:
    end_processes(places, tell)
    for part in parts.mounts(places):
        run("umount", "--lazy", part.name)
        tell(f"{part}")
    free_loops(places, tell)
    for part in parts.links(places):
        run("ip", "link", "del", part.name)
        tell(f"{part}")
    for part in parts.namespaces(places):
        remove_namespace(part)
        tell(f"{part}")
    cgroups.remove(places.cgroup)
    shutil.rmtree(places.run, ignore_errors=True)
    _leave_run_root(places.run.parent)
    left = [part for part in parts.find(places) if part.kind is not Kind.STATE]
    if left:
        raise _does_not_go(places, left)


def end_processes(places: Places, tell: Callable[[str], None]) -> None:
    """Kill them, labd first so that it starts no more, until there are none.

    Raises:
        EnvironmentUnfit: some do not end.
    """
    end = time.monotonic() + _GONE_WITHIN_S
    while found := list(parts.own_processes(places)):
        found.sort(key=lambda part: (not part.module.endswith("labd"), part.name))
        for part in found:
            if part.process and part.process.kill() and part.module:
                tell(f"{part}")
        processes.wait_gone([part.process for part in found if part.process], _FREED_WITHIN_S)
        if time.monotonic() > end:
            raise _does_not_go(places, found)


def free_loops(places: Places, tell: Callable[[str], None]) -> None:
    """Wait until the kernel has freed the hosts' disks, and free those that nobody mounted."""
    end = time.monotonic() + _FREED_WITHIN_S
    while list(parts.loops(places)) and time.monotonic() < end:
        time.sleep(_POLL_S)
    detach(places, list(parts.loops(places)), tell)


def detach(places: Places, devices: Iterable[Part], tell: Callable[[str], None]) -> None:
    """Free loop devices, and wait until the kernel has.

    One that a host had mounted goes once all is written back that the host wrote, which a busy machine takes
    its time for; until then its disk must not be mounted anew.

    Raises:
        EnvironmentUnfit: some are not freed.
    """
    files = parts.backing_files()
    held = {part: files[part.name] for part in devices if part.name in files}
    for part, file in held.items():
        try:
            run("losetup", "--detach", part.name)
        except EnvironmentUnfit:
            if parts.backing_files().get(part.name) == file:
                raise
        tell(f"{part}")
    end = time.monotonic() + _WRITTEN_WITHIN_S
    while left := [part for part, file in held.items() if parts.backing_files().get(part.name) == file]:
        if time.monotonic() > end:
            raise _does_not_go(places, left)
        time.sleep(_POLL_S)


def remove_namespace(part: Part) -> None:
    """Remove a named namespace, or the plain file that a reboot left of one."""
    if Namespace(part.name).exists:
        run("ip", "netns", "del", part.name)
    else:
        (NETNS / part.name).unlink(missing_ok=True)


def _leave_run_root(root: Path) -> None:
    """The last lab takes away what the first one made for all."""
    if any(path.is_dir() for path in root.glob("*")):
        return
    marker = root / MADE_NETNS_FOLDER
    if marker.exists() and not any(NETNS.glob("*")):
        if str(NETNS) in parts.mount_points():  # on itself: `Path.is_mount` does not see that
            run("umount", NETNS)
        NETNS.rmdir()
    marker.unlink(missing_ok=True)
    with suppress(OSError):  # somebody else's files
        root.rmdir()


def _remove_state(places: Places) -> None:
    """All that rackwright knew of these hosts: without them it means nothing."""
    _remove_outside(places)
    for path in places.state.iterdir():
        if path != places.lab:
            _remove(path)
    for path in places.lab.iterdir():
        if path not in (places.world, places.outside):
            _remove(path)
    shutil.rmtree(places.lab)
    places.state.rmdir()
    with suppress(OSError):  # other clusters'
        places.state.parent.rmdir()


def _remove_outside(places: Places) -> None:
    """Files and folders that `lab up` made elsewhere, where the spec wants them."""
    for path in map(Path, reversed(noted_outside(places))):
        if path.is_dir():
            with suppress(OSError):  # somebody else's files are in it
                path.rmdir()
        else:
            path.unlink(missing_ok=True)


def noted_outside(places: Places) -> list[str]:
    """Their paths, as bytes that are no UTF-8 have them too; a line that is no path was damaged."""
    try:
        lines = os.fsdecode(places.outside.read_bytes()).split("\n")
    except FileNotFoundError:
        return []
    return [line for line in lines if line.startswith("/") and "\0" not in line]


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def refuse_namesake(places: Places) -> None:
    """Raise EnvironmentUnfit where a lab of that name lives that has another state folder."""
    other = next(parts.namesakes(places), None)
    if other is not None:
        raise EnvironmentUnfit(
            "a lab of this name is up that has its state elsewhere",
            code="LAB018",
            where=places.cluster,
            got=str(other.state),
            expected=str(places.state),
            hint=f"set XDG_STATE_HOME to {other.state.parents[1]}, or name the cluster otherwise",
        )


def busy(places: Places) -> EnvironmentUnfit:
    """Another command has this lab in hand."""
    return EnvironmentUnfit(
        "another `lab up` or `lab down` is at work",
        code="LAB010",
        where=places.cluster,
        hint="wait until it has ended",
    )


def _needs_root(places: Places) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "only root can take a lab down",
        code="LAB011",
        where=places.cluster,
        got=f"user {os.geteuid()}",
        expected="root",
        hint="run the same command as root; nothing was touched",
    )


def _does_not_go(places: Places, left: Iterable[Part]) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "parts of the lab do not go",
        code="LAB012",
        where=places.cluster,
        got=", ".join(map(str, left)),
        hint="the same command again goes on from here",
    )


def main(arguments: Sequence[str]) -> NoReturn:
    """Take down the lab that is named, or was made from the spec that is named; or the only one."""
    if len(arguments) > 1:
        sys.exit("usage: python3 -m rackwright.lab.teardown [NAME|SPEC]")
    of = arguments[0] if arguments else naming.usual()
    places = naming.which(of)
    try:
        found = places is not None and take_down(places, lambda text: print(f"removed {text}"))  # noqa: T201 (a program)
    except RackwrightError as error:
        print(f"{error.code}: {error.message}: {error.where}: {error.got}; {error.hint}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    print("the lab is down" if found else f"no lab of {of} is here")  # noqa: T201
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
