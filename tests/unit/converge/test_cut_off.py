"""`converge` and `drift` killed or stopped after any task: nothing of them lives on, their lock is free.

The hosts are local connections: the command, Ansible, its runners and our modules are the real ones.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from benchmarks.converge import TASKS, cluster, playbook
from rackwright.converge.lock import RUNNERS
from rackwright.converge.model import ConvergeReport
from tests.doubles.small_disk import small_disk
from tests.doubles.terminal import OnTerminal

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

SCRIPT = Path(sys.executable).with_name("rackwright")
HOSTS = 2
WITHIN_S = 300


class Site(NamedTuple):
    """A planned cluster of local hosts, its state and its command."""

    state: Path
    words: list[str]
    environment: dict[str, str]

    @property
    def folder(self) -> Path:
        return self.state / "rackwright" / "atlas" / "converge"

    def events(self) -> int:
        """Tasks that have ended in the run that goes on."""
        file = self.folder / "events.jsonl.partial"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def runners(self) -> list[str]:
        """Processes that name the folder of this converge."""
        found = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.folder).encode() in entry.read_bytes():
                    found.append(entry.parent.name)
            except OSError:
                continue
        return found


def _locked(file: Path) -> bool:
    """Whether a runner holds its lock."""
    with file.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _wait(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < until, what
        time.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return _site(tmp_path)


def _site(tmp_path: Path) -> Site:
    spec, play = cluster(HOSTS, tmp_path), playbook(tmp_path)
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")}
    subprocess.run([SCRIPT, "plan", spec], env=environment, check=True, capture_output=True)
    words = [str(SCRIPT), "converge", str(spec), "--playbook", str(play), "--format", "json"]
    return Site(tmp_path / "state", words, environment)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("after", [0, 1, HOSTS * TASKS // 2])
def test_it_goes_on_wherever_it_was_cut_off(site: Site, after: int, number: signal.Signals) -> None:
    with subprocess.Popen(
        site.words, env=site.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as first:
        _wait(lambda: site.runners() and site.events() >= after, "it did not come that far")
        first.send_signal(number)
        _, said = first.communicate(timeout=WITHIN_S)
    assert first.returncode == (-number if number is signal.SIGKILL else 130), said
    assert "Traceback" not in said
    _wait(lambda: not site.runners(), "a runner outlives its converge")
    done = subprocess.run(
        site.words, env=site.environment, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    assert done.returncode == 0, done.stderr
    report = ConvergeReport.model_validate_json(done.stdout)
    assert {host.tasks.ok for host in report.hosts.values()} == {TASKS}
    lines = (site.folder / "events.jsonl").read_text().splitlines()
    assert len(lines) == HOSTS * TASKS


TAKES_S = 10
_LONG = """
    - name: Take time
      ansible.builtin.shell: touch {folder}/begun; sleep {seconds}; touch {folder}/ended
    - name: Never begun
      ansible.builtin.command: "false"
"""


def _taking_time(site: Site, folder: Path) -> None:
    """Let it do one task that takes long, and then another."""
    play = Path(site.words[site.words.index("--playbook") + 1])
    head, tasks, _ = play.read_text().partition("  tasks:\n")
    play.write_text(head + tasks + _LONG.format(folder=folder, seconds=TAKES_S))


def test_who_loses_the_terminal_lets_tasks_end_and_keeps_the_report(site: Site, tmp_path: Path) -> None:
    """As when an operator's ssh is lost: what runs may end, though nobody reads what is told."""
    _taking_time(site, tmp_path)
    terminal = OnTerminal(site.words, site.environment)
    _wait(lambda: (terminal.look(), (tmp_path / "begun").exists())[1], "it did not come that far")
    terminal.lose()
    assert terminal.process.wait(WITHIN_S) == 130
    assert (tmp_path / "ended").exists()
    assert not site.runners()
    report = ConvergeReport.model_validate_json((site.folder / "report.json").read_text())
    assert (report.interrupted, report.problem) == (True, None)
    assert {host.tasks.ok for host in report.hosts.values()} == {1}


def test_the_second_ctrl_c_interrupts_tasks_and_is_no_fault_of_the_playbook(
    site: Site, tmp_path: Path
) -> None:
    _taking_time(site, tmp_path)
    with subprocess.Popen(site.words, env=site.environment, stdout=subprocess.PIPE, text=True) as first:
        _wait((tmp_path / "begun").exists, "it did not come that far")
        for _ in range(2):
            first.send_signal(signal.SIGINT)
            time.sleep(0.1)
        said, _ = first.communicate(timeout=WITHIN_S)
    assert first.returncode == 130
    assert not (tmp_path / "ended").exists()
    assert not site.runners()
    report = ConvergeReport.model_validate_json(said)
    assert (report.interrupted, report.problem) == (True, None)


def test_ctrl_c_stops_it_in_its_order_though_the_disk_of_its_state_is_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "state", kib=16384) as disk:
        site = _site(tmp_path)
        _taking_time(site, tmp_path)
        with subprocess.Popen(
            site.words, env=site.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as first:
            _wait((tmp_path / "begun").exists, "it did not come that far")
            disk.fill()
            first.send_signal(signal.SIGINT)
            said = first.communicate(timeout=WITHIN_S)
        assert (tmp_path / "ended").exists(), "what had begun came to its end"
        assert first.returncode == 2, said
        assert json.loads(said[0])["got"] == "No space left on device"
        assert not site.runners()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_drift_that_was_cut_off_holds_nothing(site: Site, number: signal.Signals) -> None:
    converged = subprocess.run(
        site.words, env=site.environment, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    assert converged.returncode == 0, converged.stderr
    words = [site.words[0], "drift", *site.words[2:]]
    with subprocess.Popen(
        words, env=site.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as first:
        _wait(lambda: site.runners() and _locked(site.folder / RUNNERS), "no converge waits for its runners")
        first.send_signal(number)
        _, said = first.communicate(timeout=WITHIN_S)
    assert first.returncode == (-number if number is signal.SIGKILL else 130), said
    assert "Traceback" not in said
    _wait(lambda: not site.runners(), "a runner outlives its drift")
    again = subprocess.run(
        words, env=site.environment, capture_output=True, text=True, timeout=WITHIN_S, check=False
    )
    assert again.returncode in (0, 1), again.stderr
    assert json.loads(again.stdout)["schema"].startswith("rackwright/drift/")
