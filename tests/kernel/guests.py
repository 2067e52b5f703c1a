"""The guests of a run: a cluster like any other, by the product's own plan, seeds, keys and inventory.

A guest is booted once for an image, and saved; every later run copies what was saved, and every test gets it
back as it was saved. Its client key and what it printed on its console are kept beside it.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import testinfra  # type: ignore[import-untyped]  # (it has no types)

from bootstrap import digest, fresh, guest
from rackwright.cli.cluster import open_cluster
from rackwright.cli.converging import TAGS
from rackwright.provision.keys import login_public_key
from rackwright.render.boot import seeds, site_folder
from tests.kernel.machine import SAVED, WITHIN_S, Card, Machine, qemu_version, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from testinfra.host import Host  # type: ignore[import-untyped]  # (it has no types)

    from rackwright.plan.model import Plan
    from tests.kernel.network import Network

SPEC = Path(__file__).parent / "guests.yaml"
OUTER = "10.66.0.1/24"
HEAD, NODE = "head-001", "node-001"
BRIDGES = ("mgmt", "rail0", "rail1")
_SSH_PORT = 22
_CONNECT_S = 10.0
_UPTIME = "cut --delimiter=' ' --fields=1 /proc/uptime"
_CLOCK_S, _CLOCK_OFF = 10.0, 0.3
"""How long a clock is looked at, and by what part it may be off: the way of a login counts too."""
_BOOTS = 3


def image() -> Path:
    """Folder of the disk that all guests are overlays of."""
    return guest.current().resolve()


@dataclass
class Guests:
    """Those of one run.

    Args:
        folder: all their files of this run; its ``state`` is XDG_STATE_HOME of all commands.
        network: they are on.
        accelerator: of QEMU.
    """

    folder: Path
    network: Network
    accelerator: str
    machines: dict[str, Machine] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict)
    _hosts: dict[str, Host] = field(default_factory=dict)

    @property
    def spec(self) -> Path:
        return self.folder / "clusters" / SPEC.name

    @property
    def pristine_spec(self) -> str:
        """As it is in the repository; a test may write another in its place."""
        return SPEC.read_text()

    @property
    def spec_without_slurm(self) -> str:
        """The same machines in no Slurm."""
        return (
            self.pristine_spec.partition("\nschedulers:")[0].replace("    roles: [slurm-controller]\n", "")
            + "\n"
        )

    @property
    def environment(self) -> dict[str, str]:
        """Emulated hosts answer late, and later on a busy machine."""
        return os.environ | {"XDG_STATE_HOME": str(self.folder / "state"), "ANSIBLE_TIMEOUT": "300"}

    @property
    def state(self) -> Path:
        return self.folder / "state" / "rackwright" / "guests"

    @property
    def plan(self) -> Plan:
        return open_cluster(self.spec).plan

    @property
    def ssh_config(self) -> Path:
        return self.state / "inventory" / "ssh_config"

    def prepare(self) -> None:
        """Spec, plan, and machines that are off."""
        shutil.copytree(SPEC.parent / "assets", self.folder / "clusters" / "assets")
        shutil.copy(SPEC, self.spec)
        self.rackwright("plan", str(self.spec))
        slots = {name: slot for pool in self.plan.pools.values() for name, slot in pool.slots.items()}
        for number, (name, slot) in enumerate(sorted(slots.items())):
            assert slot.asset is not None
            self._addresses[name] = slot.addresses["management"].partition("/")[0]
            macs = [slot.asset.boot_mac, *(f"02:66:{rail + 1:02x}:00:00:{number:02x}" for rail in range(2))]
            taps = self.network.add_taps(number)
            cards = [Card(mac, tap) for mac, tap in zip(macs, taps, strict=True)]
            folder = self.folder / name
            folder.mkdir()
            console = self.state / "console" / f"{name}.log"
            console.parent.mkdir(parents=True, exist_ok=True)
            self.machines[name] = Machine(name, folder, console, cards, self.accelerator)

    def kept(self) -> Path:
        """Where saved guests of this image, these seeds and this QEMU are."""
        words = [image().name, qemu_version()]
        words += (text for file in seeds(self.plan, []) for text in (file.path, file.content))
        for machine in self.machines.values():
            words += (word.replace(str(self.folder), "") for word in machine.command())
        return image() / "saved" / digest.of_words(words)

    def boot(self) -> None:
        """Bring all up as they were saved; boot and save them, where they were not."""
        kept = self.kept()
        with _alone():
            if not kept.is_dir():
                self._boot_and_keep(kept)
                return
        shutil.copytree(kept / "secrets", self.state / "secrets", dirs_exist_ok=True)
        for name, machine in self.machines.items():
            shutil.copy(kept / f"{name}.log", machine.console)
            shutil.copy(kept / name / "seed.tar", machine.folder)
            machine.copy_disks(kept / name)
        self._read_keys()
        self.restore()

    def _boot_and_keep(self, kept: Path) -> None:
        key = login_public_key(self.state / "secrets")
        for name, machine in self.machines.items():
            _write_seed(self.plan, name, key, machine.folder / "seed.tar")
            machine.make_disks(image() / guest.DISK)
            machine.start()
        self._read_keys()
        for name, machine in self.machines.items():
            self.await_login(name)
            self._set_going(name)
            self.run(name, "sync")
            self._hang_up(name)
            machine.save()
        with fresh.new_folder(kept) as work:
            shutil.copytree(self.state / "secrets", work / "secrets")
            for name, machine in self.machines.items():
                machine.monitor("stop")
                shutil.copy(machine.console, work / f"{name}.log")
                (work / name).mkdir()
                for file in (*machine.disks, machine.folder / "seed.tar"):
                    subprocess.run(["cp", "--sparse=always", file, work / name], check=True)
                machine.monitor("cont")

    def _read_keys(self) -> None:
        """The inventory, once all have printed their keys."""
        self.rackwright("inventory", str(self.spec), "--wait", str(int(WITHIN_S)))

    def save(self, name: str) -> None:
        """Keep all as they are now, for this run."""
        for guest_name, machine in self.machines.items():
            self._hang_up(guest_name)
            machine.save(name)

    def restore(self, saved: str = SAVED) -> None:
        """All as they were saved, and with today's time."""
        self.spec.write_text(self.pristine_spec)
        for machine in self.machines.values():  # in no thread: a machine ends with the one that started it
            machine.restore(saved)
        self.network.forget_neighbours()
        with ThreadPoolExecutor(len(self.machines)) as pool:
            list(pool.map(self._settle, self.machines))

    def _settle(self, name: str) -> None:
        self.await_login(name)
        self.run(name, f"date --set=@{time.time():.3f}")

    def _set_going(self, name: str) -> None:
        """Boot it anew until its clock keeps time.

        A kernel measures its processor's time stamps at boot, by a timer that a busy host holds up: one that
        found 607 MHz for 2,595 ran four times too fast, and after the next boot its files were of the future.
        """
        for _ in range(_BOOTS):
            if abs(self._rate(name) - 1) < _CLOCK_OFF:
                return
            self.reboot(name)
        raise AssertionError(f"the clock of {name} does not keep time, after {_BOOTS} boots too")

    def _rate(self, name: str) -> float:
        """How fast its clock runs: 1 is right, seconds of a login's way are within what is let pass."""
        began, ahead = time.monotonic(), float(self.run(name, _UPTIME))
        time.sleep(_CLOCK_S)
        return (float(self.run(name, _UPTIME)) - ahead) / (time.monotonic() - began)

    def reboot(self, *names: str) -> None:
        """Boot anew, those together, until each lets in and has another boot id."""
        before = {name: self.boot_id(name) for name in names}
        for name in names:
            self.run(name, "systemctl reboot --no-block")
        for name in names:
            self.await_down(name)
        for name in names:
            self.await_login(name)
            assert self.boot_id(name) != before[name]

    def answers(self, name: str) -> bool:
        """Whether its sshd does; who asks often must not keep it busy with logins."""
        try:
            with socket.create_connection((self._addresses[name], _SSH_PORT), _CONNECT_S) as connection:
                connection.settimeout(WITHIN_S)
                return connection.recv(4).startswith(b"SSH")
        except OSError:
            return False

    def await_down(self, name: str) -> None:
        wait_for(lambda: not self.answers(name), lambda: f"{name} does not go down")

    def await_login(self, name: str) -> None:
        """Until it lets the login user in, over a connection that all further commands share."""
        console = self.machines[name].console
        self._hang_up(name)
        wait_for(
            lambda: self.answers(name) and self._ssh(name, "true").returncode == 0,
            lambda: f"{name} lets nobody in\n{console.read_text(errors='replace')[-3000:]}",
        )

    def _hang_up(self, name: str) -> None:
        """End the connection to it, which a restored guest knows nothing of."""
        self._call_ssh("-O", "exit", name)

    def _ssh(self, name: str, command: str) -> subprocess.CompletedProcess[str]:
        return self._call_ssh("-o", "ConnectTimeout=60", name, command)

    def _call_ssh(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Over one connection a guest: a login costs an emulated machine more than most commands."""
        shared = ("ControlMaster=auto", "ControlPersist=10m", f"ControlPath={self.folder}/%n.ssh")
        options = [word for option in shared for word in ("-o", option)]
        return subprocess.run(
            ["ssh", "-F", str(self.ssh_config), *options, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            stdin=subprocess.DEVNULL,
        )

    def run(self, name: str, command: str, code: int = 0) -> str:
        """What a command of root prints on a guest."""
        done = self._ssh(name, f"sudo sh -c {_quoted(command)}")
        assert done.returncode == code, f"{name}: {command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def user(self, name: str, command: str, code: int = 0) -> str:
        """What a command of the login user prints on a guest."""
        done = self._ssh(name, command)
        assert done.returncode == code, f"{name}: {command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def rail(self, name: str, rail: int) -> str:
        """Its address on a rail, without the prefix length."""
        ports = next(pool.slots[name].ports for pool in self.plan.pools.values() if name in pool.slots)
        return (ports[rail].address or "").partition("/")[0]

    def boot_id(self, name: str) -> str:
        return self.run(name, "cat /proc/sys/kernel/random/boot_id")

    def host(self, name: str) -> Host:
        """A guest as testinfra has it, as root."""
        if name not in self._hosts:
            self._hosts[name] = testinfra.get_host(f"ssh://{name}?sudo=true", ssh_config=str(self.ssh_config))
        return self._hosts[name]

    def rackwright(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end, which must be that exit code."""
        program = str(Path(sys.executable).with_name("rackwright"))
        done = self._local([program, *words])
        assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def json(self, *words: str, code: int = 0) -> dict[str, object]:
        """The one JSON document that a command prints."""
        document = json.loads(self.rackwright(*words, "--format", "json", code=code).stdout)
        assert isinstance(document, dict)
        return document

    def play(self, playbook: Path, *options: str) -> subprocess.CompletedProcess[str]:
        """Plain ansible-playbook on the generated inventory, with the tags that `rackwright converge` has."""
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        places = {"state": self.state, "rendered": self.state / "rendered", "secrets": self.state / "secrets"}
        variables = [word for name, path in places.items() for word in ("-e", f"rackwright_{name}={path}")]
        return self._local(
            [
                *(program, "-i", str(self.state / "inventory" / "hosts.yml"), str(playbook)),
                *("--tags", TAGS, *variables, *options),
            ],
            {"ANSIBLE_CONFIG": str(self.state / "inventory" / "ansible.cfg")},
        )

    def _local(
        self, words: list[str], more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            env=self.environment | dict(more or {}),
            capture_output=True,
            text=True,
            check=False,
            timeout=3 * WITHIN_S,
            stdin=subprocess.DEVNULL,
        )

    def down(self) -> None:
        for name, machine in self.machines.items():
            self._hang_up(name)
            machine.cut_power()


@contextmanager
def _alone() -> Iterator[None]:
    """One run at a time boots and keeps guests; the next finds them kept."""
    with (image() / "saved.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _write_seed(plan: Plan, slot: str, key: str, file: Path) -> None:
    """The boot folder's files for one slot as a tar file: those of its site, then its own."""
    site = next(pool.site for pool in plan.pools.values() if slot in pool.slots)
    with tarfile.open(file, "w") as tar:
        for folder in (site_folder(site), slot):
            for one in seeds(plan, [key]):
                if one.path.startswith(f"{folder}/"):
                    content = one.content.encode()
                    member = tarfile.TarInfo(one.path.removeprefix(f"{folder}/"))
                    member.size, member.mode = len(content), 0o644
                    tar.addfile(member, io.BytesIO(content))
