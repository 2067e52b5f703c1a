"""Mounts as units of systemd: what is to be mounted where in, what differs out; none in use is taken away.

It lies beside the programs of the storage roles in /usr/local/lib/rackwright.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from on_host import Difference, Refused, must, run, text_of, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

UNITS = Path("/etc/systemd/system")
PROCESSES = Path("/proc")
AS_PLANNED = "active, as planned"
_TOLD = 5
"""Processes of a mount that are named."""


class Mount(NamedTuple):
    """One that is to be."""

    where: str
    device: str
    """By a name that stays over boots."""
    text: str
    """Of its unit."""


def named(mounts: Iterable[Mount]) -> dict[str, Mount]:
    """By name of their units."""
    return {unit_of(mount.where, "mount"): mount for mount in mounts}


def where(name: str) -> str:
    """Mount point of a unit of ours, as its file has it; empty for none."""
    words = (line.partition("=") for line in text_of(UNITS / name).splitlines())
    return next((value for key, _, value in words if key == "Where"), "")


def source(point: str) -> str:
    """Device that is mounted at a place, by the kernel's name; empty for none."""
    said = run("findmnt", "--noheadings", "--output", "SOURCE", "--mountpoint", point).stdout.split()
    return said[-1] if said else ""


def elsewhere(mount: Mount) -> bool:
    """Whether another device is mounted at its place."""
    found = source(mount.where)
    return bool(found) and Path(found).resolve() != Path(mount.device).resolve()


def _word(name: str, command: str) -> str:
    return run("systemctl", command, name).stdout.strip()


def state(name: str, mount: Mount) -> str:
    """What is otherwise of one; `AS_PLANNED` where nothing is."""
    if (active := _word(name, "is-active")) != "active":
        return active or "absent"
    if elsewhere(mount):
        return f"on {source(mount.where)}, not {mount.device}"
    if text_of(UNITS / name) != mount.text:
        return "another text"
    enabled = _word(name, "is-enabled")
    return AS_PLANNED if enabled == "enabled" else enabled or "not enabled"


def differences(mounts: Mapping[str, Mount]) -> Iterator[Difference]:
    """All that are not as planned."""
    for name, mount in mounts.items():
        if (found := state(name, mount)) != AS_PLANNED:
            yield Difference("unit", name, AS_PLANNED, found)


def left_over(mounts: Mapping[str, Mount], ours: Iterable[str]) -> list[str]:
    """Units of ours that are planned no more and still there."""
    return sorted(name for name in set(ours) - set(mounts) if (UNITS / name).exists())


def moved(mounts: Mapping[str, Mount]) -> list[str]:
    """Units of ours whose place has another device now: that one goes before theirs can come."""
    return sorted(name for name, mount in mounts.items() if (UNITS / name).exists() and elsewhere(mount))


def refuse_strange(mounts: Mapping[str, Mount]) -> None:
    """Before anything is changed: nobody else has mounted something where ours are to be."""
    for name, mount in mounts.items():
        if not (UNITS / name).exists() and (found := source(mount.where)):
            raise Refused(
                f"{mount.where}: {found} is mounted there, not by rackwright; nothing was changed; hint: "
                "unmount it, and see /etc/fstab"
            )


def in_use(point: str) -> str:
    """Who uses what is mounted at a place, the first few of them; empty for nobody."""
    who = users(point)
    more = f" and {len(who) - _TOLD} more" if len(who) > _TOLD else ""
    return ", ".join(who[:_TOLD]) + more


def users(point: str) -> list[str]:
    """Processes that have something open below a place: ``812 (fio)``."""
    return [
        f"{process.name} ({text_of(process / 'comm').strip()})"
        for process in sorted(PROCESSES.glob("[0-9]*"), key=lambda one: int(one.name))
        if any(_leads_below(link, point) for link in _open(process))
    ]


def _open(process: Path) -> Iterator[Path]:
    yield from (process / name for name in ("cwd", "root", "exe"))
    try:
        yield from (process / "fd").iterdir()
    except OSError:
        return  # it has ended meanwhile


def _leads_below(link: Path, point: str) -> bool:
    """By its name alone: who asks for a file whose server is gone, wherever that is, waits without end."""
    try:
        return link.readlink().is_relative_to(point)
    except OSError:
        return False


def refuse_in_use(names: Iterable[str]) -> None:
    """Before anything is changed: what is to be unmounted is in nobody's hands.

    Raises:
        Refused: with the mount and who uses it.
    """
    for name in names:
        point = where(name)
        if point and source(point) and (who := in_use(point)):
            raise Refused(
                f"{point}: in use by {who}; nothing was changed; hint: end what uses it, or drain "
                "the node, and converge again"
            )


def stop(name: str) -> None:
    """Unmount one, and no longer mount it.

    Raises:
        Refused: systemd could not unmount it.
    """
    point = where(name)
    done = run("systemctl", "disable", "--now", "--quiet", name)
    if done.returncode != 0:
        who = in_use(point) if source(point) else ""
        said = " ".join((done.stderr or done.stdout).split())
        raise Refused(f"{point}: not unmounted, {f'in use by {who}' if who else said}; it stays as it was")


def remove(names: Iterable[str]) -> None:
    """Unmount them, and take their units away."""
    for name in names:
        stop(name)
        (UNITS / name).unlink(missing_ok=True)


def bring(mounts: Mapping[str, Mount]) -> None:
    """Mount all; what another device was mounted at has been stopped before."""
    for name, mount in mounts.items():
        if text_of(UNITS / name) != mount.text:
            (UNITS / name).write_text(mount.text)
    must("systemctl", "daemon-reload")
    for name in mounts:
        must("systemctl", "enable", "--now", "--quiet", name)
