"""One emulated machine: its disks, its process, and the monitor by which it is saved and restored."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

QEMU = "qemu-system-x86_64"
MEMORY_MIB, PROCESSORS = 1024, 2
SPARE_DISKS, SPARE_MIB = 2, 256
"""Empty ones that a test may use: ``/dev/vdc`` and on."""
SAVED = "ready"
WITHIN_S = 600.0
"""Emulation on a busy machine is slow, and a wait that ends early proves nothing."""
_BANNER_WITHIN_S = 10.0
_POLL_S = 0.2
_AT_MOST_S = 2.0


@dataclass(frozen=True)
class Card:
    """A network card.

    Args:
        mac: its address.
        tap: the interface of this machine behind it.
    """

    mac: str
    tap: str


@dataclass
class Machine:
    """One guest.

    Args:
        name: of the slot.
        folder: its disks, monitor and console.
        console: file that its serial port is written to.
        cards: in the order of eth0, eth1 and on.
        accelerator: ``tcg,thread=multi`` or ``kvm``.
    """

    name: str
    folder: Path
    console: Path
    cards: Sequence[Card]
    accelerator: str
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def disks(self) -> list[Path]:
        """Those that are saved with it: its own, and the spare ones."""
        names = ["disk", *(f"spare{number}" for number in range(SPARE_DISKS))]
        return [self.folder / f"{name}.qcow2" for name in names]

    def make_disks(self, backing: Path) -> None:
        """An overlay on an image, and empty disks."""
        own, *spare = self.disks
        shared = ["qemu-img", "create", "-q", "-f", "qcow2"]
        subprocess.run([*shared, "-b", backing, "-F", "raw", own], check=True)
        for disk in spare:
            subprocess.run([*shared, disk, f"{SPARE_MIB}M"], check=True)

    def copy_disks(self, folder: Path) -> None:
        """Those of a machine that was saved; holes stay holes."""
        for disk in self.disks:
            subprocess.run(["cp", "--sparse=always", folder / disk.name, disk], check=True)

    def command(self) -> list[str]:
        """QEMU's, without what differs from one start to the next."""
        words = [QEMU, "-name", self.name, "-machine", "q35", "-accel", self.accelerator]
        words += ["-cpu", "qemu64,-svm", "-smp", str(PROCESSORS), "-m", str(MEMORY_MIB)]
        words += ["-nodefaults", "-no-user-config", "-display", "none"]
        words += ["-chardev", f"file,id=console,path={self.console},append=on", "-serial", "chardev:console"]
        words += ["-qmp", f"unix:{self.folder / 'monitor'},server=on,wait=off"]
        own, *spare = self.disks
        words += _disk("root", own, "qcow2")
        words += _disk("seed", self.folder / "seed.tar", "raw", ",readonly=on")
        for number, disk in enumerate(spare):
            words += _disk(f"spare{number}", disk, "qcow2")
        for number, card in enumerate(self.cards):
            words += ["-netdev", f"tap,id=net{number},ifname={card.tap},script=no,downscript=no"]
            device = f"virtio-net-pci,netdev=net{number},mac={card.mac},romfile=,addr={0x10 + number:#x}"
            words += ["-device", device]
        return [*words, "-device", "virtio-rng-pci"]

    def start(self, *more: str) -> None:
        """Switch it on; it ends with this process, whatever ends that one."""
        (self.folder / "monitor").unlink(missing_ok=True)
        log = self.folder / "qemu.log"
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self.command(), *more],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        wait_for((self.folder / "monitor").exists, log.read_text)

    @property
    def on(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def cut_power(self) -> None:
        """Like pulling the plug."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def save(self, name: str = SAVED) -> None:
        """Keep memory and disks as they are now."""
        self.monitor(f"savevm {name}")

    def restore(self, name: str = SAVED) -> None:
        """Bring memory and disks back; one that is off is switched on for it."""
        if self.on:
            self.monitor(f"loadvm {name}")
        else:
            self.start("-loadvm", name)

    def monitor(self, line: str) -> str:
        """Run one line of QEMU's monitor for people, whose answer is an error unless it is a report."""
        with Monitor(self.folder / "monitor") as monitor:
            answer = monitor.run("human-monitor-command", {"command-line": line})
        assert isinstance(answer, str)
        assert not answer.strip() or line.startswith("info"), f"{line}: {answer}"
        return answer


def _disk(name: str, path: Path, form: str, more: str = "") -> list[str]:
    drive = f"if=none,id={name},file={path},format={form},cache=unsafe{more}"
    return ["-drive", drive, "-device", f"virtio-blk-pci,drive={name}"]


class Monitor:
    """QEMU's monitor for programs (QMP): one JSON object a line."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(WITHIN_S)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("r")
        self._lines.readline()

    def __enter__(self) -> Self:
        self.run("qmp_capabilities")
        return self

    def __exit__(self, *_: object) -> None:
        self._lines.close()
        self._socket.close()

    def run(self, name: str, arguments: dict[str, str] | None = None) -> object:
        """One command; what happens meanwhile is passed over."""
        request = {"execute": name, **({"arguments": arguments} if arguments else {})}
        self._socket.sendall(json.dumps(request).encode() + b"\n")
        for line in self._lines:
            answer = json.loads(line)
            if "return" in answer or "error" in answer:
                assert "return" in answer, answer["error"]
                return answer["return"]
        raise AssertionError(f"{name}: QEMU ended")


def accelerator(kernel: Path, folder: Path) -> str:
    """KVM where a probe guest prints its kernel's banner in time, else emulation.

    A kernel that hangs is how some clouds' virtual machines answer KVM: that it is there proves nothing.
    """
    emulation = "tcg,thread=multi"
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return emulation
    console = folder / "probe.log"
    console.touch()
    words = [QEMU, "-accel", "kvm", "-m", "256", "-nodefaults", "-no-user-config", "-display", "none"]
    words += [
        "-serial",
        f"file:{console}",
        "-kernel",
        str(kernel),
        "-append",
        "console=ttyS0 earlyprintk=serial",
    ]
    none = subprocess.DEVNULL
    probe = subprocess.Popen(words, stdin=none, stdout=none, stderr=none)
    ends = time.monotonic() + _BANNER_WITHIN_S
    try:
        while time.monotonic() < ends and probe.poll() is None:
            if "Linux version" in console.read_text(errors="replace"):
                return "kvm"
            time.sleep(_POLL_S)
    finally:
        probe.kill()
        probe.wait()
    return emulation


def qemu_version() -> str:
    """As it says itself; a machine that one version saved is no other's."""
    return subprocess.run([QEMU, "--version"], check=True, capture_output=True, text=True).stdout


def missing_programs() -> list[str]:
    return [name for name in (QEMU, "qemu-img", "setpriv", "ip") if shutil.which(name) is None]


def wait_for(holds: Callable[[], bool], else_: Callable[[], str], within_s: float = WITHIN_S) -> None:
    """Wait until something holds, or fail with what `else_` tells.

    Asking has half of the time at most: an emulated guest that is asked without a pause does little else.
    """
    began = time.monotonic()
    ends = began + within_s
    while not holds():
        asked = time.monotonic()
        assert asked < ends, else_()
        time.sleep(min(max(_POLL_S, asked - began), _AT_MOST_S))
        began = time.monotonic()
