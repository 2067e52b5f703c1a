"""A lab whose zone has a slot on demand: Slurm fills it and gives it back, and says why where it cannot."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from rackwright import paths
from rackwright.burst import model
from rackwright.burst.pools import pools
from rackwright.cli import emulated
from rackwright.lab import parts
from rackwright.lab.aws.run import environment
from tests.hosts.cloud_lab import CloudLab
from tests.roles.conftest import HEAD, wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.lab, pytest.mark.engine, pytest.mark.slow]

STATIC, SLOT = "cnode-001", "cnode-002"
EXAMPLE = "lab-hybrid"
WITHIN_S = 900.0
"""The machine may be busy with other tests."""
JOB = "/tmp/job.sh"  # noqa: S108 (on a host of the lab)
_JOB_TEXT = "#!/bin/sh\nsrun hostname || exit\nuntil [ -e /tmp/go ]; do sleep 1; done\n"


class BurstLab(CloudLab):
    """A head in a hall, and a zone with one node that is always there and one on demand."""

    def on(self, host: str, command: str) -> str:
        """What a command of the login user prints."""
        words = ["ssh", "-F", str(self.places.state / "inventory" / "ssh_config"), host, command]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=WITHIN_S, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def run(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words),
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WITHIN_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def submit(self) -> str:
        """A job of two nodes that runs until the file /tmp/go is on its first one; its number."""
        self.on(STATIC, "rm -f /tmp/go")
        return self.on(HEAD, f"sbatch --parsable --nodes=2 --output=/tmp/out-%j {JOB}")

    def finish(self, job: str) -> list[str]:
        """Let a job end; returned is what it printed."""
        self.until(lambda: self.job(job) == "RUNNING")
        self.until(lambda: len(self.printed_by(job)) == len((STATIC, SLOT)))
        self.on(STATIC, "touch /tmp/go")
        self.until(lambda: self.job(job) in ("", "COMPLETED"))
        return self.printed_by(job)

    def printed_by(self, job: str) -> list[str]:
        return sorted(self.on(STATIC, f"cat /tmp/out-{job} 2>/dev/null || true").split())

    def job(self, number: str) -> str:
        return self.on(HEAD, f"squeue --noheader --job={number} --format=%T 2>/dev/null || true")

    def node(self, name: str = SLOT) -> str:
        """State and reason."""
        return self.on(HEAD, f"sinfo --noheader --nodes={name} --format='%T %E'")

    def journal(self) -> str:
        return self.on(HEAD, "sudo journalctl --no-pager --output=cat --unit=rackwright-burst | tail -n 40")

    def until(self, holds: Callable[[], bool]) -> float:
        """Seconds until something holds."""
        begun = time.monotonic()
        wait(holds, lambda: f"{self.node(STATIC)}\n{self.node()}\n{self.journal()}", WITHIN_S)
        return time.monotonic() - begun

    def is_empty(self) -> bool:
        """Whether the slot on demand has no instance, and Slurm may ask for it; a reason may be left."""
        return len(self.instances()) == 1 and self.node().startswith("idle~ ")


def _write_spec(folder: Path, name: str, prefix: str) -> Path:
    """The example, without nodes in its hall."""
    example = paths.repository() / "clusters"
    text = (example / f"{EXAMPLE}.yaml").read_text()
    node = text[text.index("  node:\n") : text.index("  cnode:\n")]
    compute = text[text.index("  compute: {kind") : text.index("  rails: {kind")]
    hall = "      hall: {pools: [node], default: true}\n"
    for part in (node, compute, hall):
        assert part in text
        text = text.replace(part, "")
    changed = {
        f"name: {EXAMPLE}": f"name: {name}",
        "10.78.": f"{prefix}.",
        "cloud: {pools: [cnode]}": "cloud: {pools: [cnode], default: true}",
        "resume_within_s: 300": "resume_within_s: 600",
    }
    for old, new in changed.items():
        assert old in text
        text = text.replace(old, new)
    spec = folder / f"{name}.yaml"
    (folder / "assets").mkdir(parents=True)
    spec.write_text(text)
    rows = (example / "assets" / f"{EXAMPLE}.csv").read_text().replace("10.78.", f"{prefix}.").splitlines()
    (folder / "assets" / f"{EXAMPLE}.csv").write_text("\n".join(rows[:2]) + "\n")
    return spec


@pytest.fixture(scope="module")
def burst(
    tmp_path_factory: pytest.TempPathFactory, ranges: Iterator[str], can_hold_a_lab: None
) -> Iterator[BurstLab]:
    del can_hold_a_lab
    prefix, folder = next(ranges), tmp_path_factory.mktemp("burst")
    name = f"lab-test-{prefix.rpartition('.')[2]}"
    spec = _write_spec(folder / "clusters", name, prefix)
    lab = BurstLab(name, spec, prefix, folder / "state")
    try:
        for words in (
            ("lab", "up"),
            ("plan",),
            ("up", "--yes"),
            ("inventory", "--wait", "180"),
            ("converge",),
        ):
            lab.run(*words, str(spec))
        lab.on(HEAD, f"printf '%s' '{_JOB_TEXT}' >{JOB}")
        lab.until(lambda: lab.node(STATIC).startswith("idle"))
        yield lab
    finally:
        lab.down()
    assert parts.find(lab.places) == []


def test_a_job_resumes_the_slot_runs_on_both_nodes_and_its_instance_goes_afterwards(
    burst: BurstLab, capsys: pytest.CaptureFixture[str]
) -> None:
    burst.until(burst.is_empty)
    begun, job = time.monotonic(), burst.submit()
    burst.until(lambda: burst.job(job) == "RUNNING")
    running = time.monotonic() - begun
    preview = json.loads(burst.run("preview", str(burst.spec), "--format", "json"))
    changes = {name: stack["changes"] for name, stack in preview["stacks"].items()}
    assert any(name.startswith("aws-compute/") for name in changes)
    assert not any(changes.values()), changes
    assert burst.finish(job) == [STATIC, SLOT]
    gone = burst.until(burst.is_empty)
    with capsys.disabled():
        sys.stdout.write(f"sbatch to running: {running:.0f} s; its end to no instance: {gone:.0f} s\n")


def test_without_capacity_the_node_is_down_with_the_reason_and_the_job_waits_and_runs_later(
    burst: BurstLab,
) -> None:
    burst.until(burst.is_empty)
    burst.run("lab", "fault", "no-capacity", "cnode", "--lab", burst.name)
    job = burst.submit()
    burst.until(lambda: "down" in burst.node() and "InsufficientInstanceCapacity" in burst.node())
    assert "EC2001" in burst.node()
    burst.until(lambda: burst.job(job) == "PENDING")
    assert len(burst.instances()) == 1
    burst.run("lab", "fault", "clear", "no-capacity", "--lab", burst.name)
    assert burst.finish(job) == [STATIC, SLOT]
    burst.until(burst.is_empty)


def test_an_instance_that_never_registers_is_terminated_and_told(burst: BurstLab) -> None:
    burst.until(burst.is_empty)
    sooner = (
        "sudo sed -i s/^ResumeTimeout=.*/ResumeTimeout=20/ /etc/slurm/slurm.conf && sudo scontrol reconfigure"
    )
    burst.on(HEAD, sooner)
    burst.run("lab", "fault", "link-down", "wan", "--lab", burst.name)
    try:
        job = burst.on(HEAD, f"sbatch --parsable --nodelist={SLOT} --output=/dev/null {JOB}")
        burst.until(lambda: "did not register within" in burst.node())
        assert " i-" in burst.node()
        burst.until(lambda: len(burst.instances()) == 1)
        burst.on(HEAD, f"scancel {job}")
    finally:
        burst.run("lab", "fault", "clear", "link-down", "--lab", burst.name)
        burst.on(HEAD, sooner.replace("=20/", "=600/"))
    burst.until(burst.is_empty)


def test_an_instance_that_slurm_does_not_want_is_terminated(
    burst: BurstLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    burst.until(burst.is_empty)
    for name in emulated.UNSET:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment(burst.places).items():
        monkeypatch.setenv(name, value)
    text = (burst.places.state / "burst" / "main" / model.SETTING).read_text()
    setting = model.Setting.model_validate_json(text)
    [pool] = pools(burst.plan, setting)
    assert pool.launch([SLOT]) == {}
    burst.until(burst.is_empty)
    assert f"{SLOT}: terminated i-" in burst.journal()
