"""A real lab with a cloud, whose instances a test launches as the EC2 emulator does: by asking labd."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

from rackwright.lab import cgroups, parts, processes
from rackwright.lab.protocol import Request, Verb, ask
from rackwright.render.boot import login_files
from tests.doubles import cloud
from tests.hosts.lab import WITHIN_S, Lab

if TYPE_CHECKING:
    from rackwright.lab.cloud.wire import Instance, Launch

_NETWORK = "[Match]\nName={}\n[Network]\nAddress={}\n{}\n[Link]\nMTUBytes={}\n"


class CloudLab(Lab):
    """A lab whose cloud a test asks as the EC2 emulator does."""

    def ask(self, request: Request) -> tuple[Instance, ...]:
        return ask(self.places.socket, request, WITHIN_S).instances

    def user_data(self, number: int) -> str:
        site = self.plan.sites["cloud"]
        key = (self.places.state / "secrets" / "ssh_ed25519.pub").read_text().strip()
        folder, net = "/etc/systemd/network", f"{self.prefix}.32"
        networks = {
            f"{folder}/10-mgmt0.network": _NETWORK.format(
                "mgmt0", f"{net}.{15 + number}/24", f"Gateway={net}.1", 9001
            ),
            f"{folder}/20-r0.network": _NETWORK.format("r0", f"{self.prefix}.48.{15 + number}/24", "", 1500),
        }
        logins = {f"/{path}": text for path, text in login_files(site.access, [key]).items()}
        return cloud.cloud_config(f"cnode-{number:03}", networks | logins)

    def launch(self, number: int) -> Launch:
        """Launch the instance of a number, from 1, and wait until it listens for SSH."""
        launch = cloud.launch(number, self.prefix, self.user_data(number), f"cnode-{number:03}")
        self.ask(Request(Verb.LAUNCH, launch=launch))
        self.wait_on(launch.instance)
        return launch

    def wait_on(self, instance: str) -> None:
        end = time.monotonic() + WITHIN_S
        while self.state(instance) != "on":
            assert time.monotonic() < end, self.printed(instance)[-3000:]
            time.sleep(0.1)

    def printed(self, instance: str) -> str:
        return ask(self.places.socket, Request(Verb.CONSOLE, instance)).text

    def login(self, number: int, command: str, code: int = 0) -> str:
        """Run a command on an instance from this machine, by the key it has printed."""
        address = f"{self.prefix}.32.{15 + number}"
        key = next(
            line
            for line in reversed(self.printed(cloud.instance(number)).splitlines())
            if line.startswith("ssh-ed25519 ")
        )
        known = self.places.state / "known_instances"
        known.write_text(f"{address} {' '.join(key.split()[:2])}\n")
        options = {"UserKnownHostsFile": str(known), "StrictHostKeyChecking": "yes", "ConnectTimeout": "20"}
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        identity = self.places.state / "secrets" / "ssh_ed25519"
        done = subprocess.run(
            ["ssh", "-F", "none", *words, "-i", identity, f"rackwright@{address}", command],
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stderr
        return done.stdout.strip()

    def terminate(self, instance: str) -> None:
        self.ask(Request(Verb.TERMINATE, instance))

    def instances(self) -> list[str]:
        return [one.instance for one in self.ask(Request(Verb.INSTANCES))]

    def kill_labd(self) -> None:
        running = processes.read_pid_file(self.places.labd_pid)
        assert running is not None
        running.kill()
        assert processes.wait_gone([running], WITHIN_S) == []

    def traces(self, instance: str) -> list[str]:
        """What this machine has of an instance, by its name."""
        files = [self.places.lab, self.places.run]
        found = [str(path) for folder in files for path in folder.rglob(f"*{instance}*")]
        found += [part.name for part in parts.namespaces(self.places) if part.name.endswith(instance)]
        found += [str(folder) for folder in cgroups.folders(f"{self.places.cgroup}/{instance}")]
        found += [file for file in parts.backing_files().values() if instance in file]
        running = (processes.arguments(pid) for pid in processes.all_pids())
        return found + [" ".join(words) for words in running if f"--slot={instance}" in words]
