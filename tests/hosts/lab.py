"""A real lab for tests: made from a spec of its own, driven as users and their clients drive it."""

from __future__ import annotations

import base64
import csv
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rackwright import paths
from rackwright.cli.cluster import open_cluster
from rackwright.lab import parts
from rackwright.lab.places import Places
from rackwright.lab.protocol import Request, Verb, ask
from rackwright.provision.keys import login_public_key
from rackwright.render.boot import seeds
from tests.doubles import prompt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwright.lab.model import Host
    from rackwright.plan.model import Plan

EXAMPLE = paths.repository() / "clusters" / "lab.yaml"
WITHIN_S = 300.0
"""The machine may be busy with other tests."""
_POLL_S = 0.1


@dataclass(frozen=True)
class Answer:
    """What a BMC said."""

    status: int
    body: Mapping[str, object]

    def text(self, key: str) -> str:
        value = self.body[key]
        assert isinstance(value, str)
        return value


def standing(places: Places) -> list[parts.Part]:
    """What a command of ours has made of a lab: processes that its hosts start come and go by themselves."""
    return [part for part in parts.find(places) if part.process is None or part.module]


def write_spec(folder: Path, name: str, prefix: str, nodes: int = 3) -> Path:
    """The example's spec and assets under another name, in another range.

    Args:
        folder: where to.
        name: of the cluster.
        prefix: first two numbers of all addresses: ``10.87``.
        nodes: compute nodes; the head comes on top.
    """
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    spec = EXAMPLE.read_text().replace("name: lab,", f"name: {name},").replace("10.77.", f"{prefix}.")
    (folder / f"{name}.yaml").write_text(spec.replace("static: 3", f"static: {nodes}"))
    rows = (EXAMPLE.parent / "assets" / "lab.csv").read_text().replace("10.77.", f"{prefix}.").splitlines()
    (folder / "assets" / "lab.csv").write_text("\n".join(rows[: nodes + 2]) + "\n")
    return folder / f"{name}.yaml"


@dataclass(frozen=True)
class Lab:
    """One lab, up or not.

    Args:
        name: of the cluster.
        spec: its spec.
        prefix: first two numbers of all its addresses: ``10.87``.
        state_home: XDG_STATE_HOME of all its commands.
        within: what they run in: ``nsenter …``.
    """

    name: str
    spec: Path
    prefix: str
    state_home: Path
    within: tuple[str, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"XDG_STATE_HOME": str(self.state_home)}

    @property
    def places(self) -> Places:
        return Places(self.name, self.state_home / "rackwright" / self.name, paths.run(self.name))

    @property
    def plan(self) -> Plan:
        return open_cluster(self.spec).plan

    def command(self, *words: str) -> list[str]:
        return [*self.within, str(Path(sys.executable).with_name("rackwright")), *words]

    def rackwright(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end, which must be that exit code."""
        done = self._run(words)
        assert done.returncode == code, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def _run(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if not self.within:
            return prompt.run(words, self.environment, WITHIN_S)
        return subprocess.run(
            self.command(*words),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            stdin=subprocess.DEVNULL,
        )

    def json(self, *words: str, code: int = 0) -> dict[str, object]:
        """The one JSON document that a command prints."""
        document = json.loads(self.rackwright(*words, "--format", "json", code=code).stdout)
        assert isinstance(document, dict)
        return document

    def up(self) -> dict[str, object]:
        return self.json("lab", "up", str(self.spec))

    def down(self) -> dict[str, object]:
        return self.json("lab", "down", self.name)

    def states(self) -> dict[str, str]:
        hosts = self.json("lab", "status", self.name)["hosts"]
        assert isinstance(hosts, list)
        return {host["name"]: host["state"] for host in hosts}

    def state(self, slot: str) -> str:
        """One host's state, from labd: `lab status` costs a second of CPU."""
        return (ask(self.places.socket, Request(Verb.STATE, slot)).states or {})[slot]

    def prepare(self) -> None:
        """What `rackwright up` does before it talks to a BMC: client key and boot seeds."""
        key = login_public_key(self.places.state / "secrets")
        for file in seeds(self.plan, [key]):
            path = self.places.seeds / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.content)

    def host(self, slot: str) -> Host:
        from rackwright.lab.status import read_world  # noqa: PLC0415 (a lab must be up for it)

        return read_world(self.places).host(slot)

    def password(self, slot: str) -> str:
        with (self.places.state / "secrets" / "bmc.csv").open() as file:
            return next(row["password"] for row in csv.DictReader(file) if row["slot"] == slot)

    def redfish(
        self, slot: str, path: str = "", body: Mapping[str, str] | None = None, password: str | None = None
    ) -> Answer:
        """Ask a host's BMC over verified TLS, below its system."""
        context = ssl.create_default_context(cafile=str(self.places.state / "bmc-ca.pem"))
        host = self.host(slot)
        connection = http.client.HTTPSConnection(host.bmc_address, host.bmc_port, timeout=30, context=context)
        login = f"admin:{self.password(slot) if password is None else password}"
        headers = {
            "Authorization": f"Basic {base64.b64encode(login.encode()).decode()}",
            "Content-Type": "application/json",
        }
        method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
        try:
            connection.request(method, f"/redfish/v1/Systems/{host.uuid}{path}", text, headers)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        return Answer(response.status, json.loads(raw) if raw else {})

    def reset(self, slot: str, kind: str) -> None:
        answer = self.redfish(slot, "/Actions/ComputerSystem.Reset", {"ResetType": kind})
        assert answer.status == http.HTTPStatus.NO_CONTENT, answer.body

    def power(self, slot: str) -> str:
        return self.redfish(slot).text("PowerState")

    def wait(self, slot: str, state: str) -> None:
        """Wait until a host is off, or on, which is when it listens for SSH."""
        end = time.monotonic() + WITHIN_S
        while self.state(slot) != state:
            assert time.monotonic() < end, f"{slot} is not {state}\n{self.console(slot)[-3000:]}"
            time.sleep(_POLL_S)

    def boot(self, *slots: str) -> None:
        """Switch hosts on over Redfish and wait for them."""
        for slot in slots:
            self.reset(slot, "On")
        for slot in slots:
            self.wait(slot, "on")

    def console(self, slot: str) -> str:
        try:
            return Path(self.host(slot).console).read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def events(self, slot: str) -> list[str]:
        """What its console server noted: power on, reboot …"""
        return re.findall(r"\[-- (.*?) -- \w{3} \w{3} ", self.console(slot))

    def host_key(self, slot: str) -> str:
        """The key that a host printed last."""
        keys: list[str] = re.findall(r"^(ssh-ed25519 \S+) root@", self.console(slot), re.MULTILINE)
        return keys[-1]

    def accept_key(self, slot: str) -> None:
        """Let this lab's own controller know a host again that a test has reinstalled."""
        words = (
            "inventory",
            str(self.spec),
            "--accept-changed-key",
            slot,
            "--reason",
            "a test reinstalled it",
        )
        done = self._run(words)
        assert done.returncode in (0, 3), done.stderr  # other hosts may be off
        assert f"{slot}: error" not in done.stderr

    def ssh(self, slot: str, command: str, code: int = 0) -> str:
        done = self.rackwright("lab", "ssh", "--spec", str(self.spec), slot, command, code=code)
        return done.stdout.strip()

    def boot_id(self, slot: str) -> str:
        return self.ssh(slot, "cat /proc/sys/kernel/random/boot_id")
