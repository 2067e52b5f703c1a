"""The run's one lab, converged once: hosts are looked at over ssh, by the generated configuration."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import testinfra  # type: ignore[import-untyped]  # (it has no types)

from rackwright import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from testinfra.host import Host  # type: ignore[import-untyped]  # (it has no types)

    from tests.hosts.lab import Lab

HEAD, NODES = "head-001", ("node-001", "node-002", "node-003")
HOSTS = (HEAD, *NODES)
WITHIN_S = 300.0
"""The machine may be busy with other tests."""
_POLL_S = 0.5


@dataclass(frozen=True)
class Run:
    """One converge: its exit code, its report and its events."""

    code: int
    report: Mapping[str, object]
    said: str
    events: tuple[Mapping[str, object], ...]

    def changed(self) -> dict[str, list[str]]:
        """Host → its tasks that changed something."""
        found: dict[str, list[str]] = {}
        for event in self.events:
            if event["outcome"] == "changed":
                found.setdefault(str(event["host"]), []).append(f"{event['role']}: {event['task']}")
        return found

    def remote_tasks(self) -> Counter[str]:
        """Tasks that ran on each host, handlers and fact gathering included."""
        return Counter(str(event["host"]) for event in self.events if event["remote"])


@dataclass
class Site:
    """The lab and what is known of it."""

    lab: Lab
    fresh_check: Run | None = None
    first: Run | None = None
    _hosts: dict[str, Host] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.lab.places.state

    @property
    def ssh_config(self) -> Path:
        return self.state / "inventory" / "ssh_config"

    def host(self, name: str) -> Host:
        """A host as root, through sudo."""
        if name not in self._hosts:
            self._hosts[name] = testinfra.get_host(f"ssh://{name}?sudo=true", ssh_config=str(self.ssh_config))
        return self._hosts[name]

    def user(self, command: str, host: str = HEAD) -> str:
        """What a command of the login user prints."""
        words = ["ssh", "-F", str(self.ssh_config), host, command]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=WITHIN_S, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def start_converge(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.lab.command("converge", str(self.lab.spec), "--format", "json", *options),
            env=self.lab.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str]) -> Run:
        out, err = process.communicate(timeout=2 * WITHIN_S)
        lines = (self.state / "converge" / "events.jsonl").read_text().splitlines()
        events = tuple(json.loads(line) for line in lines)
        return Run(process.returncode, json.loads(out) if out else {}, out + err, events)

    def converge(self, *options: str) -> Run:
        return self.finish(self.start_converge(*options))

    def play(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Plain ansible-playbook on the generated inventory."""
        program = Path(sys.executable).with_name("ansible-playbook")
        places = {"state": self.state, "rendered": self.state / "rendered", "secrets": self.state / "secrets"}
        variables = [word for name, path in places.items() for word in ("-e", f"rackwright_{name}={path}")]
        hosts = self.state / "inventory" / "hosts.yml"
        return subprocess.run(
            [program, "-i", hosts, paths.repository() / "playbooks" / "site.yml", *variables, *options],
            env=os.environ | {"ANSIBLE_CONFIG": str(self.state / "inventory" / "ansible.cfg")},
            capture_output=True,
            text=True,
            check=False,
            timeout=2 * WITHIN_S,
            stdin=subprocess.DEVNULL,
        )

    def node_states(self) -> dict[str, str]:
        lines = self.user("sinfo --noheader --Node --format='%N %T'").splitlines()
        return dict(line.split() for line in lines)

    def await_idle(self, *nodes: str) -> None:
        wait(lambda: {self.node_states()[node] for node in nodes or NODES} == {"idle"}, self.node_reasons)

    def node_reasons(self) -> str:
        return self.user("sinfo --noheader --Node --format='%N %T %E'")


def wait(holds: Callable[[], bool], else_: Callable[[], str], within_s: float = WITHIN_S) -> None:
    """Wait until something holds."""
    ends = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < ends, else_()
        time.sleep(_POLL_S)


@pytest.fixture(scope="session")
def fresh(lab: Lab) -> Site:
    """All hosts on, none converged before this run; what check mode says of them."""
    off = [slot for slot in HOSTS if lab.state(slot) == "off"]
    lab.boot(*off)
    site = Site(lab)
    words = ("inventory", str(lab.spec))
    subprocess.run(
        lab.command(*words), env=lab.environment, check=True, capture_output=True, timeout=WITHIN_S
    )
    site.fresh_check = site.converge("--check")
    return site


@pytest.fixture(scope="session")
def site(fresh: Site) -> Site:
    """Converged: Slurm is up."""
    fresh.first = fresh.converge("--tags", "configure")
    assert fresh.first.code == 0, fresh.first.said
    fresh.await_idle()
    return fresh


@pytest.fixture
def idle(site: Site) -> Site:
    site.await_idle()
    return site
