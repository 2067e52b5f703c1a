"""`rackwright reboot` of real hosts in a real Slurm, cut off at every point: the same command goes on.

Before each cut node-001 waits for a reboot, and node-003, on which a job runs throughout. Somebody has
drained node-002, which waits where a cut is about it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import pytest

from rackwright.converge.reboot_hosts import NOTES, Ssh
from rackwright.converge.reboot_model import PREFIX
from tests.roles.conftest import HEAD, NODES, WITHIN_S, wait
from tests.roles.cut_off import command_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.roles.conftest import Site

pytestmark = [pytest.mark.lab, pytest.mark.slow]

OTHERS = "memory errors"
_POLL_S = 0.01


class Way(StrEnum):
    """How it is cut off."""

    CTRL_C = "Ctrl-C"
    """Of the whole process group, as a terminal sends it."""
    IMPATIENT = "Ctrl-C, again and again until it has ended"
    TERM = "SIGTERM"
    KILL = "SIGKILL"


SIGNALS = {Way.CTRL_C: signal.SIGINT, Way.IMPATIENT: signal.SIGINT, Way.TERM: signal.SIGTERM}

Moment = tuple[str, ...]
"""What it says to hosts, in this order: the cut comes while it says the last of it. ``booting:`` is for
the host that follows to be so."""

TOLD, IS_UP = "node-001 *systemctl reboot", "node-001 *is-system-running"
GIVES_BACK = "head-001 *nodename=node-001 state=resume"
SECOND = "the next one is told to go down"
"""It is drained by somebody: while it is down, nothing tells that it is on its way but that it is silent."""
MOMENTS: dict[str, Moment] = {
    "asking who waits": ("node-001 *grep -rhs",),
    "draining": ("head-001 *nodename=node-001 state=drain",),
    "just drained": ("head-001 *--nodelist=node-001",),
    "looking at what runs": ("head-001 *--nodelist=node-001", "node-001 *list-units"),
    "telling to go down": (TOLD,),
    "down": (TOLD, "booting:node-001"),
    "up, its boot not at its end": (TOLD, IS_UP),
    "up, its registration not seen": (TOLD, IS_UP, "head-001 *--nodes=node-001"),
    "giving back": (GIVES_BACK,),
    "one with a job is drained": ("head-001 *--nodelist=node-003",),
    SECOND: (GIVES_BACK, "node-002 *systemctl reboot"),
}
CUTS = [
    *((moment, Way.KILL) for moment in MOMENTS),
    ("asking who waits", Way.CTRL_C),
    ("just drained", Way.CTRL_C),
    ("looking at what runs", Way.TERM),
    ("telling to go down", Way.CTRL_C),
    ("down", Way.TERM),
    ("down", Way.IMPATIENT),
    ("up, its registration not seen", Way.CTRL_C),
    ("one with a job is drained", Way.TERM),
]


@dataclass
class Cut:
    """One reboot, and what it has said to whom."""

    site: Site
    process: subprocess.Popen[str] = field(init=False)
    seen: set[int] = field(default_factory=set)

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.site.lab.command("reboot", str(self.site.lab.spec), "--apply", "--format", "json"),
            env=self.site.lab.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            process_group=0,
        )

    def reach(self, moment: Moment) -> None:
        """Wait until it has come so far."""
        ends = time.monotonic() + 2 * WITHIN_S
        for word in moment:
            while not self._says(word):
                assert self.process.poll() is None, f"never {word}: {self.process.communicate()}"
                assert time.monotonic() < ends, f"never {word}"
                time.sleep(_POLL_S)

    def _says(self, word: str) -> bool:
        state, colon, host = word.partition(":")
        if colon:
            return self.site.lab.state(host) == state
        to, _, text = word.partition(" *")
        return any(f" {to} sudo " in line and text in line for line in self._new())

    def _new(self) -> Iterator[str]:
        """Command lines of its ssh that were not there before."""
        for pid, line in command_lines():
            if pid not in self.seen and line.startswith("ssh ") and str(self.site.ssh_config) in line:
                self.seen.add(pid)
                yield line

    def cut(self, way: Way) -> tuple[int, str]:
        """Its exit code, and what it says."""
        if way is Way.KILL:
            self.process.kill()
        else:
            os.killpg(self.process.pid, SIGNALS[way])
        while way is Way.IMPATIENT and self.process.poll() is None:
            time.sleep(0.1)
            os.killpg(self.process.pid, signal.SIGINT)
        out, err = self.process.communicate(timeout=2 * WITHIN_S)
        return self.process.returncode, out + err


def reboot(site: Site, *, absent: bool = False) -> dict[str, str]:
    """What becomes of each host.

    Args:
        site: of the lab.
        absent: whether a host may be silent; then it is begun again until none is.
    """
    cut = Cut(site)
    cut.start()
    out, err = cut.process.communicate(timeout=2 * WITHIN_S)
    if absent and cut.process.returncode == 3:
        return reboot(site, absent=absent)
    assert cut.process.returncode == 0, out + err
    return {host: one["end"] for host, one in json.loads(out)["hosts"].items()}


def root(site: Site, host: str, command: str) -> None:
    """Do it there, over a connection of its own: one that is kept may be to a host before its reboot."""
    status, said = Ssh(site.ssh_config).run(host, command)
    assert status == 0, f"{host}: {command}: {said}"


def reasons(site: Site) -> dict[str, str]:
    """Node → why it is drained."""
    told = site.user("sinfo --noheader --Node --format='%N|%T|%E'").splitlines()
    rows = (line.split("|", 2) for line in told)
    return {node: reason for node, state, reason in rows if state.startswith(("drain", "down"))}


def boots(site: Site) -> Counter[str]:
    return Counter({node: site.lab.events(node).count("reboot") for node in NODES})


def waits(site: Site, *nodes: str) -> None:
    for node in nodes:
        root(site, node, f"mkdir -p {NOTES} && echo 'test: a cut' >{NOTES}/test")


@dataclass(frozen=True)
class Job:
    """One that runs on node-003 throughout."""

    site: Site
    number: str

    def assert_runs(self) -> None:
        told = self.site.user(f"squeue --noheader --jobs={self.number} --format='%T %N'")
        assert told == "RUNNING node-003"
        assert "Restarts=0" in self.site.user(f"scontrol show job {self.number}")


@contextmanager
def others_work(site: Site) -> Iterator[Job]:
    """A job on node-003, and somebody's drain of node-002."""
    site.await_idle()
    words = "sbatch --parsable --output=/dev/null --nodelist=node-003 --time=120 --wrap='sleep 7200'"
    job = Job(site, site.user(words).partition(";")[0])
    wait(lambda: "R" in site.user(f"squeue --noheader --jobs={job.number} --format=%t"), site.node_reasons)
    root(site, HEAD, f"scontrol update nodename=node-002 state=drain reason='{OTHERS}'")
    waits(site, "node-003")
    try:
        yield job
    finally:
        root(site, HEAD, f"scancel {job.number}; scontrol update nodename=node-002 state=resume")
        root(site, "node-003", f"rm -rf {NOTES}")
        site.await_idle()


def is_stopped(way: Way, code: int, said: str) -> None:
    assert "Traceback" not in said
    if way is Way.KILL:
        assert code == -signal.SIGKILL
        return
    assert code == 130, said
    assert "INT001" in said or way is Way.IMPATIENT


def test_a_host_that_came_back_after_a_killed_reboot_is_listed_and_given_back_days_later(site: Site) -> None:
    site.await_idle()
    root(site, HEAD, f"scontrol update nodename=node-001,node-002 state=drain reason='{PREFIX}a kernel'")
    root(site, HEAD, f"scontrol update nodename=node-002 state=drain reason='{OTHERS}'")
    done = site.lab.json("reboot", str(site.lab.spec))["hosts"]
    assert isinstance(done, dict)
    assert {host: one["end"] for host, one in done.items()} == {"node-001": "begun"}
    before = boots(site)
    assert reboot(site) == {"node-001": "given-back"}
    assert boots(site) == before
    assert reasons(site) == {"node-002": OTHERS}
    root(site, HEAD, "scontrol update nodename=node-002 state=resume")
    site.await_idle()


@pytest.fixture(scope="module")
def job(site: Site) -> Iterator[Job]:
    with others_work(site) as job:
        yield job


@pytest.mark.parametrize(("moment", "way"), CUTS)
def test_cut_off_anywhere_the_same_command_goes_on_and_nothing_of_others_is_touched(
    site: Site, job: Job, moment: str, way: Way
) -> None:
    before, waiting = boots(site), ["node-001", *(["node-002"] if moment == SECOND else [])]
    waits(site, *waiting)
    cut = Cut(site)
    cut.start()
    cut.reach(MOMENTS[moment])
    is_stopped(way, *cut.cut(way))
    if way in (Way.CTRL_C, Way.TERM):
        assert reasons(site) == {"node-002": OTHERS}
    print(f"left: {reasons(site)}, rebooted: {dict(boots(site) - before)}")  # noqa: T201 (shown where it fails)
    ends = reboot(site, absent=moment == SECOND)
    assert ends["node-003"] == "held"
    assert set(ends.values()) <= {"held", "rebooted", "given-back"}, ends
    assert reasons(site) == {"node-002": OTHERS}
    assert reboot(site) == {"node-003": "held"}
    assert boots(site) - before == Counter(waiting)
    assert reasons(site) == {"node-002": OTHERS}
    job.assert_runs()
