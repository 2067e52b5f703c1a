"""Slurm on the guests: head-001 runs slurmctld, node-001 is a node that lets in who has a job there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright.converge.prepare import munge_key
from rackwright.render.files import write_all
from tests.kernel.guests import HEAD, NODE
from tests.kernel.machine import wait_for

if TYPE_CHECKING:
    from tests.kernel.guests import Guests

PLAY = Path(__file__).parent / "plays" / "slurm.yml"
"""What Slurm needs of playbooks/site.yml; all other roles are other tests'."""
SLURM = "slurm"
"""What the guests are saved as."""
DEVICES = ("/dev/loop0", "/dev/loop1")
USER = "ada"
"""Has no sudo, and the same number on both guests."""


@dataclass
class Slurm:
    """The guests' Slurm."""

    guests: Guests

    def set_up(self) -> None:
        """Bring both guests to the spec, with a user of jobs, and two devices on the node."""
        self._add_user()
        self._add_devices()
        self.converge()
        self.await_idle()

    def plan(self) -> None:
        """Plan, inventory and files of the guests' spec, whatever another test had there."""
        guests = self.guests
        guests.rackwright("plan", str(guests.spec))
        guests.rackwright("inventory", str(guests.spec))
        munge_key(guests.state / "secrets")
        write_all(guests.plan, guests.state / "rendered")
        self._give_devices(guests.state / "rendered" / "slurm" / "main")

    def converge(self) -> None:
        """Bring both guests to the spec."""
        self.plan()
        done = self.guests.play(PLAY)
        assert done.returncode == 0, done.stdout + done.stderr

    def _add_devices(self) -> None:
        """What a driver of accelerators would make; anybody may open them, once udev has had its say."""
        made = "modprobe loop; udevadm settle; echo loop >/etc/modules-load.d/loop.conf"
        self.guests.run(NODE, f"{made}; chmod 666 {' '.join(DEVICES)}")

    @staticmethod
    def _give_devices(rendered: Path) -> None:
        """Lines as the plan writes them for accelerators, which no platform of guests has."""
        conf = rendered / "slurm.conf"
        lines = [
            f"{line} Gres=gpu:loop:2" if line.startswith(f"NodeName={NODE} ") else line
            for line in conf.read_text().splitlines()
        ]
        conf.write_text("\n".join(["GresTypes=gpu", *lines, ""]))
        (rendered / "gres.conf").write_text(f"NodeName={NODE} Name=gpu Type=loop File=/dev/loop[0-1]\n")

    def _add_user(self) -> None:
        """The user of jobs, who logs in with the same key as the operator."""
        keys = "/etc/ssh/authorized_keys.d"
        make = f"useradd --create-home --uid 3001 --shell /bin/sh {USER}; cp {keys}/rackwright {keys}/{USER}"
        for name in (HEAD, NODE):
            self.guests.run(name, make)

    def await_idle(self) -> None:
        """The node takes jobs; its answer comes late after a restore, which moves its clock."""
        wait_for(lambda: self.state() == "idle", lambda: self.guests.run(HEAD, "scontrol show nodes"))

    def state(self) -> str:
        """Of the node, as Slurm has it."""
        return self.guests.run(HEAD, f"sinfo --noheader --nodes={NODE} --format=%T")

    def job(self, command: str, options: str = "", code: int = 0) -> str:
        """What a job of the user prints on the node."""
        words = f"srun --nodelist={NODE} {options} sh -c '{command}'"
        return self.guests.run(HEAD, f'su {USER} -c "cd /; {words}" 2>&1', code)

    def submit(self, seconds: int, options: str = "") -> str:
        """Start a job of the user that sleeps; its number."""
        words = f"sbatch --parsable --chdir=/ --output=/dev/null --nodelist={NODE} {options}"
        job = self.guests.run(HEAD, f"su {USER} -c \"{words} --wrap 'sleep {seconds}'\"")
        wait_for(
            lambda: self.guests.run(HEAD, f"squeue --noheader --jobs={job} --format=%T") == "RUNNING",
            lambda: self.guests.run(HEAD, f"scontrol show job {job}"),
        )
        return job
