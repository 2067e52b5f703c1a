"""Step "Guest image": the root image with a kernel of its own, as a disk that boots in QEMU.

Made for `make test-kernel` alone, which shows in emulated machines what containers cannot. It is the lab's
root image, the packages of guest/packages.txt and the tree guest/overlay/ on one partition with GRUB, so a
role changes the kernel's command line here as on any machine. It is made without a mount or a loop device.
A guest gets its identity at its first boot, from a seed on its second disk.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from typing import TYPE_CHECKING

from bootstrap import child, digest, fresh, image, packages, places
from bootstrap.child import ChildFailed
from bootstrap.console import working
from bootstrap.outcome import Outcome
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PACKAGES = places.DATA / "guest" / "packages.txt"
OVERLAY = places.DATA / "guest" / "overlay"
DISK, KERNEL = "disk.raw", "vmlinuz"
"""The disk, and beside it its kernel, which a probe of KVM boots."""
_SIZE_KIB = 6 << 20
_FIRST_SECTOR, _SECTOR = 2048, 512
"""Of the one partition; GRUB's core lies before it."""
_BOOT_CODE = 440
"""Bytes of the master boot record before its table."""
_CORE_MODULES = ("biosdisk", "part_msdos", "ext2", "normal", "linux", "configfile", "search", "echo", "test")
_GIB = 5.0
"""Root and disk side by side."""
_GRUB = "boot/grub/i386-pc"
_EXECUTABLE = "x86_64"
_PRESEED = "grub-pc grub-pc/install_devices_empty boolean true"
_IDLE_HOOKS = ("dmsetup", "fsck", "keymap", "lvm2", "resume", "thermal", "udev", "xfs")
"""Of initramfs-tools: what they bring no guest uses before its root is there, and an emulated machine that
renews its initramfs spends four fifths of the time on it."""
_FEWER_HOOKS = (
    f"cd /usr/share/initramfs-tools/hooks && chmod a-x {' '.join(_IDLE_HOOKS)} && update-initramfs -u"
)
OPTIONS = (
    "--essential-hook=copy-in {overlay}/etc/initramfs-tools /etc",
    f'--essential-hook=echo "{_PRESEED}" | chroot "$1" debconf-set-selections',
    f"""--customize-hook=chroot "$1" sh -c '{_FEWER_HOOKS}'""",
)
"""Of mmdebstrap; they say what is in the image, and so are in its hash, whatever folder the overlay is in."""
_CONFIG = """\
linux /boot/{kernel} {command_line}
initrd /boot/{initrd}
boot
"""


def folder() -> Path:
    """Where the disk goes, by the hash of all that decides what is in it."""
    words = [image.folder().name, str(_SIZE_KIB), *_CORE_MODULES, _CONFIG, *OPTIONS]
    words += packages.names(PACKAGES)
    return places.cache() / "guest" / digest.of_words([*words, digest.of_tree(OVERLAY)])


def current() -> Path:
    """The folder that the last set-up made or found; not there before the first."""
    return places.cache() / "guest" / "current"


def found() -> Outcome | None:
    """Where the cache has it, and `current` leads there."""
    target = folder()
    return Outcome("cached", image.SUITE) if target.is_dir() and fresh.leads(current(), target) else None


def install(log: Path) -> Outcome:
    """Make the disk, unless the cache has it.

    Raises:
        EnvironmentUnfit: no root, no space, another processor, or a program failed.
    """
    target = folder()
    if target.is_dir():
        moved = fresh.point(current(), target)
        return Outcome("done" if moved else "cached", image.SUITE)
    _require(target)
    working("making the image of the guests, about two minutes", log)
    try:
        with fresh.new_folder(target) as work:
            _make(work, log)
    except ChildFailed as failed:
        raise image.no_image(failed, "the image of the guests") from None
    fresh.point(current(), target)
    return Outcome("done", image.SUITE)


def _require(target: Path) -> None:
    if not places.is_root() or platform.machine() != _EXECUTABLE:
        raise EnvironmentUnfit(
            "the image of the guests cannot be made here",
            code="SET011",
            where=str(target),
            got=f"user {os.geteuid()} on {platform.machine()}",
            expected=f"root on {_EXECUTABLE}",
            hint="run `make test-kernel` as root, on such a machine",
        )
    fresh.require_space(places.cache(), _GIB, "the image of the guests")


def _make(work: Path, log: Path) -> None:
    root = work / "root"
    overlay = shlex.quote(str(OVERLAY))  # mmdebstrap splits a hook of its own as a shell does
    options = [option.replace("{overlay}", overlay) for option in OPTIONS]
    image.make_root(root, [*image.wanted(), *packages.names(PACKAGES)], log, *options)
    image.lay_over(OVERLAY, root)
    _install_grub(root, log)
    make_disk(root, work / DISK, log)
    shutil.copy(next((root / "boot").glob("vmlinuz-*")), work / KERNEL)
    shutil.rmtree(root)


def _install_grub(root: Path, log: Path) -> None:
    """Its modules, its core and a first configuration; `update-grub` in the guest writes the next one."""
    grub = root / _GRUB
    grub.mkdir(parents=True)
    for module in (root / "usr/lib/grub/i386-pc").glob("*.[ml][os][dt]"):
        shutil.copy(module, grub)
    command = ["grub-mkimage", "-O", "i386-pc", "-o", f"/{_GRUB}/core.img", "-p", "(hd0,msdos1)/boot/grub"]
    child.run(["chroot", root, *command, *_CORE_MODULES], log)
    kernel = next((root / "boot").glob("vmlinuz-*")).name
    text = _CONFIG.format(
        kernel=kernel,
        initrd=kernel.replace("vmlinuz", "initrd.img"),
        command_line=_command_line(packages.names(root / "etc/default/grub.d/10-guest.cfg")),
    )
    (root / "boot/grub/grub.cfg").write_text(text)


def _command_line(lines: Sequence[str]) -> str:
    wanted = "GRUB_CMDLINE_LINUX="
    return next(line.removeprefix(wanted).strip('"') for line in lines if line.startswith(wanted))


def make_disk(root: Path, disk: Path, log: Path) -> None:
    """One partition with a file system and GRUB before it, made without a mount or a loop device."""
    offset = _FIRST_SECTOR * _SECTOR
    with disk.open("wb") as file:
        file.truncate(_SIZE_KIB << 10)
    table = f"{_FIRST_SECTOR},,L,*"
    child.run(["sh", "-c", 'echo "$1" | sfdisk -q "$2"', "sh", table, disk], log)
    options = f"offset={offset},lazy_itable_init=1"
    size = f"{_SIZE_KIB - (offset >> 10)}k"
    child.run(["mkfs.ext4", "-q", "-F", "-E", options, "-d", root, disk, size], log)
    boot = (root / "usr/lib/grub/i386-pc/boot.img").read_bytes()
    core = (root / _GRUB / "core.img").read_bytes()
    with disk.open("r+b") as file:
        file.write(boot[:_BOOT_CODE])
        file.seek(_SECTOR)
        file.write(core)
