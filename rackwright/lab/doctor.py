"""What this machine lacks for a lab, each with its cause and its remedy, before anything is made.

What can be tried is tried, in namespaces that vanish with the trial: a kernel's own refusal says
more than a list of its features.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import disks, occupied, parts, processes, watches
from rackwright.lab.commands import run
from rackwright.lab.places import known
from rackwright.lack import Lack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.model import World
    from rackwright.lab.places import Places

_PACKAGES = {
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "tc": "iproute2",
    "ss": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "e2fsck": "e2fsprogs",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "mount": "mount",
    "umount": "mount",
    "losetup": "mount",
    "sysctl": "procps",
    "ssh": "openssh-client",
}
"""Program → its package in Debian and Ubuntu."""
_SYSTEMD = Path("usr/lib/systemd/systemd")
_HOST_MIB, _REST_MIB = 200, 500
"""A booted host with its BMC and supervisor, and all else (measured)."""
_KIB_PER_MIB = 1024
_NAMESPACES = ("unshare", "--net", "--mount", "--pid", "--time", "--fork", "true")
_OVERLAY = """
mount -t tmpfs tmpfs "$1" && mkdir "$1/upper" "$1/work" "$1/root" &&
mount -t overlay -o "lowerdir=$2,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
"""
_LINKS = """
ip link add bridge0 type bridge && ip link add veth0 type veth peer name veth1 &&
ip link set veth0 master bridge0 &&
tc qdisc add dev veth0 root tbf rate 100mbit burst 64kb latency 1s
"""


@dataclass(frozen=True, slots=True)
class Ground:
    """What is examined.

    Args:
        world: the lab that is wanted; None where no spec was given.
        image: root of the hosts' image.
    """

    world: World | None
    image: Path


def examine(ground: Ground) -> list[Lack]:
    """All that is wrong or worth knowing; what takes root or programs only once they are there."""
    unfit = list(root()) or list(tools())
    if unfit:
        return [*unfit, *image(ground.image)]
    return [
        *image(ground.image),
        *kernel(ground.image),
        *(wanted(ground.world) if ground.world else ()),
        *left_overs(),
    ]


def require(ground: Ground) -> None:
    """Raise EnvironmentUnfit unless a lab can be made here."""
    blocking = [lack for lack in examine(ground) if lack.blocks]
    if len(blocking) == 1:
        raise blocking[0].error()
    if blocking:
        raise EnvironmentUnfit(
            f"{len(blocking)} things keep the lab from being made here; nothing was made",
            code=blocking[0].code,
            got="; ".join(f"{lack.what}: {lack.got}" for lack in blocking),
            hint="`rackwright lab doctor` says more of each",
        )


def root() -> Iterator[Lack]:
    """Namespaces, mounts and links are root's to make."""
    if os.geteuid() != 0:
        yield Lack(
            code="LAB101",
            what="only root can make a lab",
            got=f"user {os.geteuid()}",
            expected="root",
            hint="run the same command as root; nothing was made",
        )


def tools() -> Iterator[Lack]:
    """Programs of the operating system."""
    absent = [name for name in _PACKAGES if shutil.which(name) is None]
    if absent:
        needed = sorted({_PACKAGES[name] for name in absent})
        yield Lack(
            code="LAB102",
            what="programs are missing",
            got=f"no {', '.join(absent)}",
            expected="all of them on PATH",
            hint=f"`make setup`, or: apt-get install {' '.join(needed)}; some are in /usr/sbin",
        )


def image(path: Path) -> Iterator[Lack]:
    """The hosts' image, complete and anonymous."""
    if not (path / _SYSTEMD).exists():
        yield Lack(
            code="LAB103",
            what="the hosts' image is missing",
            got=f"no {_SYSTEMD} in {path}",
            expected="a root file system that boots systemd",
            hint="`make setup` makes it",
        )
    elif keys := sorted(path.glob("etc/ssh/ssh_host_*")):
        yield Lack(
            code="LAB103",
            what="the hosts' image holds SSH host keys: all hosts would have the same ones",
            got=", ".join(key.name for key in keys),
            expected="an image without identity",
            hint="remove it from the cache; `make setup` makes it anew",
        )


def kernel(path: Path) -> Iterator[Lack]:
    """Namespaces, overlay, bridges, rates and loop devices, each by a trial."""
    yield from _trial("LAB104", "the kernel makes no namespaces", *_NAMESPACES)
    yield from _trial(
        "LAB106", "the kernel makes no bridges or rates", "unshare", "--net", "sh", "-c", _LINKS
    )
    yield from _trial("LAB107", "there is no free loop device", "losetup", "--find")
    if path.is_dir():
        with tempfile.TemporaryDirectory() as folder:
            within = ("unshare", "--mount", "sh", "-c", _OVERLAY, "sh", folder, str(path))
            yield from _trial("LAB105", "the kernel mounts no overlay over the image", *within)


def _trial(code: str, what: str, *command: str) -> Iterator[Lack]:
    try:
        run(*command)
    except EnvironmentUnfit as refused:
        hint = "a container without privileges cannot hold a lab: use a virtual or a real machine"
        yield Lack(code=code, what=what, got=refused.got, expected="it does", hint=hint)


def wanted(world: World) -> Iterator[Lack]:
    """What this lab needs: ranges, names and ports that are free, space and memory."""
    yield from occupied.ranges(world)
    yield from occupied.link(world)
    yield from occupied.sockets(world)
    yield from _space(world)
    yield from _memory(world)
    yield from _watches(world)


def _space(world: World) -> Iterator[Lack]:
    try:
        disks.require_space(world, disks.missing(world))
    except EnvironmentUnfit as full:
        yield Lack(full.code, full.message, f"{full.where}: {full.got}", full.expected, full.hint)


def _memory(world: World) -> Iterator[Lack]:
    if processes.read_pid_file(world.places.labd_pid) is not None:
        return  # it has its memory
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    free_mib = next(int(words[1]) // _KIB_PER_MIB for words in lines if words[0] == "MemAvailable:")
    hosts = _hosts(world)
    needed_mib = _HOST_MIB * hosts + _REST_MIB
    if free_mib < needed_mib:
        yield Lack(
            code="LAB114",
            what="memory is short",
            got=f"{free_mib} MiB available",
            expected=f"{needed_mib} MiB for {hosts} hosts",
            hint="end something, or take a spec with fewer nodes",
            blocks=False,
        )


def _watches(world: World) -> Iterator[Lack]:
    if processes.read_pid_file(world.places.labd_pid) is not None:
        return  # it has them
    most, used, needed = watches.limit(), watches.used(), watches.PER_HOST * _hosts(world)
    if used + needed > most:
        yield Lack(
            code="LAB115",
            what="inotify instances are short: a host that gets none dies at boot",
            got=f"fs.inotify.max_user_instances = {most}, {used} of them in use",
            expected=f"{needed} more for {_hosts(world)} hosts",
            hint=f"sysctl fs.inotify.max_user_instances={used + needed}, or take another lab down",
            blocks=False,
        )


def _hosts(world: World) -> int:
    """At most."""
    return len(world.hosts) + sum(site.most_instances for site in world.cloud)


def left_overs() -> Iterator[Lack]:
    """Labs that were cut off: no daemon, but something in the kernel or under /run."""
    for places in known():
        if processes.read_pid_file(places.labd_pid) is None and (found := _running_parts(places)):
            yield Lack(
                code="LAB113",
                what=f"lab {places.cluster} was cut off",
                got=", ".join(map(str, found)),
                expected="a lab that is up, or none",
                hint=f"`rackwright lab up` of its spec clears that and goes on; "
                f"`rackwright lab down {places.cluster}` takes it away",
                blocks=False,
            )


def _running_parts(places: Places) -> list[parts.Part]:
    return [part for part in parts.find(places) if part.kind is not parts.Kind.STATE]
