"""Step "Root image": a Debian that boots in `systemd-nspawn`, below every host of the lab.

Made by mmdebstrap from image/packages.txt, the package lists of all roles for its system, and the tree
image/overlay/, which is copied over it with root as owner and links as links. So the roles' install part
finds nothing to do on a host of this image. None of the roles' daemons starts before a role enables it: the
overlay's preset says so. It has no identity of its own: no host keys, no munge key, an empty machine id, no
host name, an empty resolv.conf.
"""

from __future__ import annotations

import os
import platform
import shutil
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bootstrap import child, digest, fresh, packages, places
from bootstrap.child import ChildFailed
from bootstrap.console import working
from bootstrap.outcome import Outcome
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SUITE = "trixie"
SYSTEM = "debian-13"
"""What specs and package lists of roles call the suite."""
PACKAGES = places.DATA / "image" / "packages.txt"
ROLES = places.REPOSITORY / "roles"
OVERLAY = places.DATA / "image" / "overlay"
_PRESET = "etc/systemd/system-preset/20-rackwright.preset"
OPTIONS = ("--mode=root", "--variant=minbase", "--format=directory", '--aptopt=Acquire::Retries "3"')
_HOST_KEYS = "etc/ssh/ssh_host_*"
_GONE = ("etc/hostname", "etc/munge/munge.key")
_EMPTY = ("etc/machine-id", "etc/resolv.conf")
_GIB = 3.0
"""The image, and packages on their way into it."""


def folder() -> Path:
    """Where the image goes, by the hash of all that decides what is in it."""
    words = [SUITE, *OPTIONS, _HOST_KEYS, *_GONE, *_EMPTY, platform.machine(), *wanted()]
    return places.cache() / "image" / digest.of_words([*words, digest.of_tree(OVERLAY)])


def wanted() -> list[str]:
    """Packages of the image itself and of every role, each once."""
    lists = [PACKAGES, *sorted(ROLES.glob(f"*/files/packages.{SYSTEM}.txt"))]
    return sorted({name for path in lists for name in packages.names(path)})


def current() -> Path:
    """The root that the last set-up made or found; not there before the first."""
    return places.cache() / "image" / "current"


def found() -> Outcome | None:
    """Where the cache has it, and `current` leads there."""
    target = folder()
    return Outcome("cached", SUITE) if target.is_dir() and fresh.leads(current(), target / "root") else None


def install(log: Path) -> Outcome:
    """Make the image, unless the cache has it.

    Raises:
        EnvironmentUnfit: no root, no space, or mmdebstrap failed.
    """
    target = folder()
    if target.is_dir():
        moved = fresh.point(current(), target / "root")
        return Outcome("done" if moved else "cached", SUITE)
    if not places.is_root():
        raise _needs_root(target)
    fresh.require_space(places.cache(), _GIB, "the root image")
    working(f"making the root image of {SUITE}, about a minute", log)
    try:
        with fresh.new_folder(target) as work:
            make_root(work / "root", wanted(), log)
    except ChildFailed as failed:
        raise no_image(failed) from None
    fresh.point(current(), target / "root")
    return Outcome("done", f"{SUITE}, {len(wanted())} packages asked for")


def make_root(root: Path, packages: Sequence[str], log: Path, *options: str) -> None:
    """Make the root file system of a host that has no identity yet.

    Args:
        root: to be made.
        packages: all that it gets.
        log: of what is done.
        options: of mmdebstrap, on top.

    Raises:
        ChildFailed: mmdebstrap failed.
    """
    _bootstrap(root, packages, log, *options)
    _make_anonymous(root)
    lay_over(OVERLAY, root)
    _disable_daemons(root, log)


def _bootstrap(root: Path, packages: Sequence[str], log: Path, *options: str) -> None:
    """Run mmdebstrap in namespaces of its own, so that a kill leaves neither process nor mount."""
    alone = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
    include = f"--include={','.join(packages)}"
    mirror = [places.mirror()] if places.mirror() else []
    child.run([*alone, "mmdebstrap", *OPTIONS, *options, include, SUITE, root, *mirror], log)


def _make_anonymous(root: Path) -> None:
    """Take away what would make two hosts of this image the same one."""
    for key in root.glob(_HOST_KEYS):
        key.unlink()
    for name in (*_GONE, *_EMPTY):
        (root / name).unlink(missing_ok=True)
    for name in _EMPTY:
        (root / name).touch()
        (root / name).chmod(0o644)  # whatever the umask is: every program of a host reads them


def lay_over(tree: Path, root: Path) -> None:
    """Copy a tree over the image; modes are 0755 and 0644, whatever the checkout's umask was."""
    for source in sorted(tree.rglob("*")):
        target = root / source.relative_to(tree)
        if source.is_symlink():
            target.unlink(missing_ok=True)
            target.symlink_to(source.readlink())
        elif source.is_dir():
            if not target.is_dir():
                target.mkdir()
                target.chmod(0o755)
        elif source.name != ".gitkeep":
            shutil.copyfile(source, target)
            target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def _disable_daemons(root: Path, log: Path) -> None:
    """Undo what packages enabled; the preset itself keeps a first boot from enabling it again."""
    units = [line.split()[1] for line in packages.names(root / _PRESET)]
    child.run(["chroot", root, "systemctl", "preset", *units], log)


def _needs_root(target: Path) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the root image of the lab's hosts is missing, and only root can make it",
        code="SET008",
        where=str(target),
        got=f"user {os.geteuid()}",
        expected="root",
        hint="run `make setup` as root for a lab and its tests; all else is ready: `make check`, and"
        " .venv/bin/rackwright, which needs no root for real halls and zones",
    )


def no_image(failed: ChildFailed, what: str = "the root image") -> EnvironmentUnfit:
    """What a failed mmdebstrap means to the user.

    The mirror is named by its variable alone: its address may hold a password, and errors are sent around.
    """
    mirror = "the mirror that RACKWRIGHT_MIRROR names"
    source = mirror if places.mirror() else "Debian's usual place"
    return EnvironmentUnfit(
        f"{what} could not be made of {SUITE}",
        code="SET009",
        where=str(failed.log),
        got=_without_mirror(failed.tail),
        expected=f"packages of {SUITE} from {source}",
        hint="make room on that file system"
        if failed.no_space
        else "check the network and RACKWRIGHT_MIRROR, then run the same command again",
    )


def _without_mirror(text: str) -> str:
    """Text with the variable's name for the mirror's address, and for its host, which apt names alone."""
    for address in (places.mirror(), urlsplit(places.mirror()).hostname):
        text = text.replace(address, "RACKWRIGHT_MIRROR") if address else text
    return text
