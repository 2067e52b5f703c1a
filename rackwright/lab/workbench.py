"""The disk of a host that is off, taken out and opened on a bench.

Run as a program in a mount namespace of its own, it mounts the host's root as power-on would, says
so, waits until its standard input is closed, and unmounts it. If labd dies, it ends by that.

Standard library only, as what it shares with `supervisor.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import processes, supervisor
from rackwright.lab.commands import run
from rackwright.lab.supervisor import Machine

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MODULE = "rackwright.lab.workbench"


@contextmanager
def root(machine: Machine) -> Iterator[Path]:
    """Root of a host that is off, for as long as the block runs; nobody may switch it on meanwhile.

    Raises:
        EnvironmentUnfit: its disk cannot be mounted.
    """
    command = ["unshare", "--mount", "--propagation", "private", sys.executable, "-I", "-m", MODULE]
    with subprocess.Popen(
        [*command, *machine.arguments()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as bench:
        said = bench.stdout.readline().strip() if bench.stdout else ""
        if said != supervisor.READY:
            raise _unreadable(machine, said or "no word")
        yield seen_by(bench.pid, machine)


def seen_by(pid: int, machine: Machine) -> Path:
    """Path of a machine's root through a process that has it mounted.

    Raises:
        EnvironmentUnfit: it has not, yet or any more.
    """
    path = processes.PROC / str(pid) / "root" / machine.root.relative_to("/")
    if not (path / "usr").is_dir():
        raise _unreadable(machine, "it is just being switched on or off")
    return path


def _unreadable(machine: Machine, got: str) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the files of a host cannot be reached", code="LAB019", where=machine.slot, got=got
    )


def main(arguments: Sequence[str]) -> NoReturn:
    """Hold the root of a host until nobody needs it."""
    os.chdir("/")
    machine = Machine.parse(arguments)
    try:
        supervisor.mount_root(machine)
    except (EnvironmentUnfit, OSError) as error:
        supervisor.print_reason(error)
        sys.exit(1)
    print(supervisor.READY, flush=True)  # noqa: T201 (labd reads it)
    sys.stdin.read()
    # By hand: the end of a namespace frees its mounts some time later, and power-on needs the disk now.
    run("umount", machine.root)
    run("umount", machine.disk_mount)
    sys.exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
