"""A real slurmctld in namespaces of its own, on files that were rendered: the image's, as its user runs it.

It sees the image through an overlay that lies in memory, has a network of its own with one address
that all names lead to, and a munge key that lives as long as it does. Nothing of it is left behind.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_ADDRESS = "192.0.2.1"
"""Of documentation (RFC 5737): slurmctld listens on no host that has loopback alone."""
_NAMESPACES = ("unshare", "--mount", "--uts", "--net", "--ipc", "--pid", "--fork", "--kill-child")
_WORLD = """
set -e
mount -t tmpfs tmpfs "$2" && mkdir "$2/up" "$2/work" "$2/root"
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/up,workdir=$2/work" "$2/root"
mount -t proc proc "$2/root/proc"
mount --rbind /dev "$2/root/dev"
mount -t tmpfs tmpfs "$2/root/run"
hostname "$3"
ip link set lo up
ip link add e0 type veth peer name e1
ip address add 192.0.2.1/24 dev e0
ip link set e0 up
ip link set e1 up
echo ready
exec chroot "$2/root" sleep infinity
"""
_MUNGE = """
set -e
install -d -o munge -g munge -m 0700 /etc/munge
install -d -o munge -g munge -m 0755 /run/munge
head -c 1024 /dev/urandom >/etc/munge/munge.key
chown munge /etc/munge/munge.key
chmod 0400 /etc/munge/munge.key
runuser -u munge -- munged
install -d -o slurm -g slurm /etc/slurm /run/slurmctld /var/log/slurm /var/lib/slurm/slurmctld
"""
_STARTS_SECONDS = 60


@dataclass
class Slurmctld:
    """One controller; a context, within which it runs.

    Args:
        image: root of the image that has Slurm.
        folder: an empty folder, to mount on.
        host: name of the host that it believes to be.
    """

    image: Path
    folder: Path
    host: str

    def __enter__(self) -> Self:
        self._world = subprocess.Popen(
            [*_NAMESPACES, "sh", "-c", _WORLD, "world", self.image, self.folder, self.host],
            stdout=subprocess.PIPE,
            text=True,
        )
        said = self._world.stdout
        assert said is not None
        assert said.readline() == "ready\n"
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._world.pid)], capture_output=True, text=True, check=True
        )
        self._init = children.stdout.strip()
        self.run("sh", "-c", _MUNGE)
        return self

    def __exit__(self, *_: object) -> None:
        self._world.kill()
        self._world.communicate()

    def run(self, *command: str, text: str = "") -> str:
        """What a command within it prints.

        Raises:
            subprocess.CalledProcessError: it failed; a note has what it said.
        """
        ran = subprocess.run(
            ["nsenter", "--target", self._init, "--all", "--root", "--wd", *command],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=_STARTS_SECONDS,
        )
        if ran.returncode:
            failed = subprocess.CalledProcessError(ran.returncode, command, ran.stdout, ran.stderr)
            failed.add_note(ran.stderr)
            raise failed
        return ran.stdout

    def lay_out(self, files: Mapping[str, str], names: Iterable[str]) -> None:
        """Slurm's files, and names of hosts, which all lead here."""
        for name, content in files.items():
            self.run("tee", f"/etc/slurm/{name}", text=content)
        lines = "".join(f"{_ADDRESS} {name}\n" for name in names)
        self.run("tee", "/etc/hosts", text=f"127.0.0.1 localhost\n{lines}")

    def start(self) -> str:
        """Its log, once it answers; or what it said when it did not start.

        Raises:
            subprocess.CalledProcessError: it did not start; ``stderr`` says why.
        """
        self.run("runuser", "-u", "slurm", "--", "slurmctld")
        deadline = time.monotonic() + _STARTS_SECONDS
        while "UP" not in self.run("sh", "-c", "scontrol ping || true"):
            # Nobody waits for its children there: one that has ended is a zombie.
            assert self.run("sh", "-c", "pgrep --exact --runstates D,R,S slurmctld || true"), self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.1)
        return self.log()

    def log(self) -> str:
        """What it has written so far."""
        return self.run("cat", "/var/log/slurm/slurmctld.log")

    def show(self, what: str) -> list[dict[str, str]]:
        """Records of ``scontrol show``, as its keys and values."""
        lines = self.run("scontrol", "--oneliner", "show", what).splitlines()
        return [dict(pair.split("=", 1) for pair in line.split() if "=" in pair) for line in lines if line]
