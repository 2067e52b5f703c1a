"""Real hosts converged: one connection each, each fault named and stopping nobody else, then mended."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.converge.model import ConvergeReport, Reason
from tests.hosts.lab import WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.hosts.lab import Lab

pytestmark = pytest.mark.lab

HOSTS = ("head-001", "node-001", "node-002", "node-003")
NODES = HOSTS[1:]
MARK = "/etc/rackwright-test"
SECRET = "canary-8f1c2e"  # noqa: S105 (a canary: it must be found nowhere)
TASKS = """
- name: The inventory is one
  hosts: all
  gather_facts: false
  tags: [always]
  tasks:
    - name: It has hosts
      ansible.builtin.command: test -s {{ inventory_dir }}/hosts.yml
      delegate_to: localhost
      connection: local
      run_once: true
      changed_when: false

- name: Everybody
  hosts: all
  gather_facts: false
  become: true
  tags: [configure]
  tasks:
    - name: Greet
      ansible.builtin.command: "true"
      changed_when: false
    - name: Take time
      ansible.builtin.command: sleep SECONDS
      changed_when: false
    - name: Only elsewhere
      ansible.builtin.command: "false"
      when: false
    - name: Remember
      ansible.builtin.set_fact: {remembered: true}
    - name: Do
      DO
    - name: Mark
      ansible.builtin.copy: {content: "MARKED\\n", dest: /etc/rackwright-test, mode: "0644"}
"""


@dataclass(frozen=True)
class Site:
    """The lab's hosts and a playbook that a test writes."""

    lab: Lab
    playbook: Path

    @property
    def folder(self) -> Path:
        return self.lab.places.state / "converge"

    @property
    def ssh_config(self) -> Path:
        return self.lab.places.state / "inventory" / "ssh_config"

    def write(self, do: str = "ansible.builtin.meta: noop", seconds: float = 0, mark: str = "one") -> None:
        text = TASKS.replace("DO", do).replace("SECONDS", str(seconds)).replace("MARKED", mark)
        self.playbook.write_text(text)

    def words(self, *options: str) -> tuple[str, ...]:
        return ("converge", str(self.lab.spec), "--playbook", str(self.playbook), *options)

    def report(self, *options: str, code: int = 0) -> ConvergeReport:
        return ConvergeReport.model_validate_json(self.run(*options, "--format", "json", code=code).stdout)

    def run(self, *options: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        return self.lab.rackwright(*self.words(*options), code=code)

    def start(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.lab.command(*self.words(*options)),
            env=self.lab.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if "json" in options else subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def await_task(self, host: str, task: str) -> None:
        """Wait until a task has ended on a host."""
        partial = self.folder / "events.jsonl.partial"
        end = time.monotonic() + WITHIN_S
        while not (partial.exists() and _has(partial.read_text(), host, task)):
            assert time.monotonic() < end, f"{task} never ended on {host}"
            time.sleep(0.1)

    def await_sleep(self, host: str, seconds: int) -> None:
        """Wait until the task that takes that time is at work on a host; an older run's may be there too."""
        end = time.monotonic() + WITHIN_S
        while not self.ssh(host, f"pgrep -fx 'sleep {seconds}' || true"):
            assert time.monotonic() < end, f"nothing sleeps on {host}"
            time.sleep(0.1)

    def forget_connections(self) -> None:
        """End the connections that earlier runs keep open."""
        cfg = (self.ssh_config.parent / "ansible.cfg").read_text()
        folder = re.search(r"control_path_dir = (\S+)", cfg)
        assert folder
        for socket in Path(folder[1]).expanduser().glob("*"):
            options = ["-O", "exit", "-o", f"ControlPath={socket}", "-F", str(self.ssh_config), HOSTS[0]]
            subprocess.run(["ssh", *options], check=False, capture_output=True)

    def ssh(self, host: str, command: str) -> str:
        """Run a command on a host, as the converge would reach it, by a connection of its own."""
        words = ["ssh", "-F", str(self.ssh_config), "-o", "ControlPath=none", host, command]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    def logins(self, host: str) -> int:
        """Logins that a host's sshd has accepted since it booted, this question's included."""
        all_is_in = "sudo journalctl --sync"  # on a busy machine the journal is behind what sshd has said
        count = "sudo journalctl -b -u ssh -u 'ssh@*' | grep -c 'Accepted publickey'"
        return int(self.ssh(host, f"{all_is_in} && {count}"))

    def runners(self) -> list[int]:
        """Processes of this lab's runners."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.folder).encode() in words and b"ansible-playbook" in words:
                found.append(int(entry.name))
        return found


def _has(lines: str, host: str, task: str) -> bool:
    events = (json.loads(line) for line in lines.splitlines() if line.endswith("}"))
    return any(event["host"] == host and event["task"] == task for event in events)


@pytest.fixture
def site(lab: Lab, tmp_path: Path) -> Iterator[Site]:
    lab.boot(*HOSTS)
    site = Site(lab, tmp_path / "site.yml")
    site.write()
    lab.rackwright("inventory", str(lab.spec), "--wait", "60")
    yield site
    assert site.runners() == [], "no runner outlives its converge"


def _statuses(report: ConvergeReport) -> dict[str, str]:
    return {name: host.status.value for name, host in report.hosts.items()}


def _reason(report: ConvergeReport, host: str) -> Reason:
    reason = report.hosts[host].reason
    assert reason is not None
    return reason


DONE = dict.fromkeys(HOSTS, "done")


def test_a_run_needs_one_connection_a_host_and_the_second_run_changes_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    site.write("ansible.builtin.command: {cmd: 'echo KEY', removes: /etc/hosts}".replace("KEY", SECRET))
    site.forget_connections()
    before = {host: site.logins(host) for host in HOSTS}
    first = site.report()
    after = {host: site.logins(host) for host in HOSTS}
    assert {host: after[host] - before[host] - 1 for host in HOSTS} == dict.fromkeys(HOSTS, 1)
    assert _statuses(first) == DONE
    tasks = first.hosts["node-002"].tasks.model_dump()
    assert tasks == {"ok": 5, "changed": 2, "failed": 0, "unreachable": 0, "skipped": 1, "remote": 4}
    assert _found(site.folder, SECRET) == [], "neither the caller's environment nor results are kept"
    site.write()
    second = site.report()
    assert second.totals.tasks.changed == 0
    events = [json.loads(line) for line in (site.folder / "events.jsonl").read_text().splitlines()]
    ended = [event["outcome"] for event in events if event["host"] == "node-002"]
    assert ended == ["ok", "ok", "skipped", "ok", "ok"]
    assert {path.stat().st_mode & 0o077 for path in (site.folder, site.folder / "events.jsonl")} == {0}


def _found(folder: Path, text: str) -> list[str]:
    there = [path for path in folder.rglob("*") if path.is_file()]
    assert len(there) > len(HOSTS), "there is something to look into"
    return [str(path) for path in there if text.encode() in path.read_bytes()]


def test_a_host_gone_in_the_middle_is_named_in_words_and_the_others_finish(site: Site) -> None:
    site.write(seconds=6, mark="gone")
    with site.start("--format", "json") as command:
        site.await_task("node-002", "Greet")
        site.lab.reset("node-002", "ForceOff")
        said, _ = command.communicate(timeout=WITHIN_S)
    assert command.returncode == 3, said
    report = ConvergeReport.model_validate_json(said)
    assert _statuses(report) == DONE | {"node-002": "unreachable"}
    reason = _reason(report, "node-002")
    assert reason.task == "Take time"
    assert re.match(
        r"the connection was lost|no ssh server|no answer to ssh|no route to the host", reason.message
    )
    assert "rackwright up" in reason.hint
    assert "{" not in reason.message
    site.lab.boot("node-002")
    assert _statuses(site.report()) == DONE


def test_a_full_disk_is_that_hosts_failure_and_mended_by_the_next_run(site: Site) -> None:
    site.write(mark="full " + "x" * 40000)
    site.ssh("node-003", "sudo sh -c 'cat /dev/zero > /var/fill; dd if=/dev/zero of=/var/f2 bs=1k' || true")
    try:
        done = site.run(code=1)
    finally:
        site.ssh("node-003", "sudo rm -f /var/fill /var/f2")
    assert "node-003: failed: No space left on device" in done.stdout
    assert "head-001,node-[001-002]: done" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert _statuses(site.report()) == DONE


def test_a_held_apt_lock_is_named_with_its_holder(site: Site) -> None:
    site.write("ansible.builtin.apt: {update_cache: true, lock_timeout: 1}")
    lock = "import fcntl, time; f = open('/var/lib/apt/lists/lock', 'w'); fcntl.lockf(f, fcntl.LOCK_EX)"
    site.ssh("node-001", f'sudo systemd-run -q --unit=holder python3 -c "{lock}; time.sleep(600)"')
    report = site.report("--limit", "node-001", code=1)
    reason = _reason(report, "node-001")
    assert "another package manager holds" in reason.message
    site.ssh("node-001", "sudo systemctl stop holder")
    site.write()
    assert _statuses(site.report("--limit", "node-001")) == {"node-001": "done"}


def test_a_host_with_another_key_than_it_printed_is_never_configured(site: Site, tmp_path: Path) -> None:
    """Ansible-runner would switch the checking off; nothing of ours may let it."""
    site.forget_connections()
    site.write(mark="other key")
    known, other = site.ssh_config.with_name("known_hosts"), tmp_path / "known_hosts"
    keys = {host: site.lab.host_key(host) for host in NODES}
    other.write_text(known.read_text().replace(keys["node-001"], keys["node-002"]))
    own = tmp_path / "playbook.yml"
    own.write_text(site.playbook.read_text())
    text = own.read_text().replace(
        "  become: true\n",
        f"  become: true\n  vars: {{ansible_ssh_extra_args: '-o UserKnownHostsFile={other}'}}\n",
    )
    site.playbook.write_text(text)
    report = site.report("--limit", "node-001,node-003", code=3)
    assert _statuses(report) == {"node-001": "unreachable", "node-003": "done"}
    assert "another host key" in _reason(report, "node-001").message
    assert "other key" not in site.ssh("node-001", f"cat {MARK} || true")


def test_two_converges_of_a_cluster_cannot_run_at_once_and_a_killed_one_leaves_nothing(site: Site) -> None:
    site.write(seconds=60)
    with site.start("--limit", "node") as first:
        site.await_task("node-001", "Greet")
        refused = site.run(code=2)
        assert "CONV001" in refused.stderr
        assert f"process {first.pid} of {os.environ.get('USER', 'root')}" in refused.stderr
        assert len(site.runners()) > len(NODES)
        first.kill()
        first.communicate(timeout=WITHIN_S)
        end = time.monotonic() + WITHIN_S
        while site.runners():
            assert time.monotonic() < end, "the runners live on"
            time.sleep(0.05)
    site.write()
    assert _statuses(site.report("--limit", "node")) == dict.fromkeys(NODES, "done")


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_stopped_run_lets_tasks_end_begins_no_other_and_goes_on_by_the_same_command(
    site: Site, number: signal.Signals
) -> None:
    mark = f"stopped by {number}"
    site.write(seconds=8, mark=mark)
    with site.start("--limit", "node") as command:
        for name in NODES:
            site.await_sleep(name, 8)
        command.send_signal(number)
        said, _ = command.communicate(timeout=WITHIN_S)
    assert command.returncode == 130, said
    assert "stopped: 0 of 3 hosts are done" in said
    assert "the same command goes on from here" in said
    events = [json.loads(line) for line in (site.folder / "events.jsonl").read_text().splitlines()]
    ended = {event["task"]: event["outcome"] for event in events if event["host"] == "node-002"}
    assert ended == {"Greet": "ok", "Take time": "ok"}, "what had begun was let end, nothing else begun"
    assert mark not in site.ssh("node-001", f"cat {MARK} || true")
    site.write(mark=mark)
    site.run("--limit", "node")
    assert site.ssh("node-001", f"cat {MARK}") == mark


def test_check_changes_nothing_and_shows_what_would(site: Site) -> None:
    site.run("--limit", "node-001")
    site.write(mark="another one")
    done = site.run("--limit", "node-001", "--check")
    assert "would change=1" in done.stdout
    assert "+another one" in done.stderr
    assert site.ssh("node-001", f"cat {MARK}") == "one"


def test_a_shard_stops_when_more_of_it_failed_than_its_budget_and_the_others_go_on(site: Site) -> None:
    site.write("ansible.builtin.fail: {msg: planted}\n      when: inventory_hostname == 'node-001'", mark="b")
    report = site.report("--limit", "node", "--failure-budget", "40", code=1)
    assert _statuses(report) == {"node-001": "failed", "node-002": "not-reached", "node-003": "done"}
    assert _reason(report, "node-001").message == "planted"
    assert "1 of 2 hosts of the shard failed" in _reason(report, "node-002").message
    spared = site.report("--limit", "node", code=1)
    assert _statuses(spared) == {"node-001": "failed", "node-002": "done", "node-003": "done"}


def test_an_inventory_that_the_first_play_refuses_stops_the_run_before_any_host(site: Site) -> None:
    site.playbook.write_text(site.playbook.read_text().replace("test -s", "test ! -s"))
    report = site.report(code=1)
    assert report.problem is not None
    assert report.problem.task == "It has hosts"
    assert set(_statuses(report).values()) == {"not-reached"}
    assert {host.tasks.remote for host in report.hosts.values()} == {0}


def test_a_playbook_that_cannot_be_read_is_the_runs_own_failure(site: Site) -> None:
    site.playbook.write_text("- hosts: all\n  tasks:\n    - no_such_module_at_all: {}\n")
    done = site.run("--limit", "node-001", code=1)
    assert "no_such_module_at_all" in done.stdout


def test_a_name_that_is_not_in_the_plan_is_refused_with_the_nearest(site: Site) -> None:
    done = site.run("--limit", "nod-001", code=2)
    assert "did you mean `node-001`?" in done.stderr


def test_a_host_in_maintenance_is_listed_and_is_no_failure(site: Site, tmp_path: Path) -> None:
    """A controller of its own, whose asset row of a host says so."""
    shutil.copytree(site.lab.spec.parent, tmp_path / "clusters")
    spec = tmp_path / "clusters" / site.lab.spec.name
    assets = spec.parent / "assets" / "lab.csv"
    header, *rows = assets.read_text().splitlines()
    changed = [_in_maintenance(header, row) if row.startswith("node-002") else row for row in rows]
    assets.write_text("\n".join([header, *changed]) + "\n")
    own = Site(dataclasses.replace(site.lab, spec=spec), site.playbook)
    report = own.report("--limit", "node-[002-003]")
    assert _statuses(report) == {"node-002": "held", "node-003": "done"}
    assert "maintenance" in _reason(report, "node-002").message


def _in_maintenance(header: str, row: str) -> str:
    values = dict(zip(header.split(","), row.split(","), strict=True))
    return ",".join((values | {"state": "maintenance"}).values())


@pytest.fixture
def squeue(site: Site) -> Iterator[str]:
    """What Slurm's controller says runs on `node-002`; the hosts of this lab have no Slurm set up."""
    program = "/usr/local/bin/squeue"
    site.ssh("head-001", f"printf '#!/bin/sh\\necho \"7|alice|node-002\"\\n' | sudo tee {program}")
    site.ssh("head-001", f"sudo chmod 755 {program}")
    yield program
    site.ssh("head-001", f"sudo rm -f {program}")
    settings = paths.repository() / "stacks" / "onprem" / f"Pulumi.{site.lab.name}-hall.yaml"
    settings.unlink(missing_ok=True)


def test_up_leaves_a_host_with_a_slurm_job_alone_until_the_job_is_over(site: Site, squeue: str) -> None:
    site.lab.reset("node-002", "ForceOff")
    done = site.lab.rackwright("up", str(site.lab.spec), "--yes")
    assert "node-002: held: runs Slurm job 7 of alice" in done.stdout
    assert site.lab.power("node-002") == "Off"
    site.ssh("head-001", f"printf '#!/bin/sh\\n' | sudo tee {squeue}")
    done = site.lab.rackwright("up", str(site.lab.spec), "--yes")
    assert "node-002: held:" not in done.stdout
    assert "node-002: power held -> on" in done.stdout
    assert site.lab.power("node-002") == "On"
