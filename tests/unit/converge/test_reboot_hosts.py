"""What hosts and Slurm are asked over ssh for a reboot, and what is said where they do not answer."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rackwright.catalogue.model import Reboot
from rackwright.converge.reboot_hosts import Ssh, SshFleet, SshSlurm
from rackwright.converge.reboot_model import End, Result
from rackwright.converge.reboots import Rolling, asked, exit_code
from rackwright.errors import Incomplete, SubjectFailed


@dataclass(frozen=True)
class Said(Ssh):
    """Answers by a word of the command; what is not in them is not answered."""

    answers: dict[str, tuple[int, str]] = field(default_factory=dict)

    def run(self, host: str, command: str) -> tuple[int, str]:
        del host
        return next((answer for word, answer in self.answers.items() if word in command), (255, ""))


def answering(**answers: tuple[int, str]) -> Said:
    return Said(Path("ssh_config"), dict(answers))


def test_reasons_are_the_lines_of_its_notes() -> None:
    fleet = SshFleet(answering(grep=(0, "kernel_tuning: cmdline iommu=pt\nbase: a new kernel\n")))
    assert fleet.reasons("node-001") == ("kernel_tuning: cmdline iommu=pt", "base: a new kernel")


def test_host_that_does_not_answer_is_not_one_that_does_not_wait() -> None:
    with pytest.raises(Incomplete) as raised:
        SshFleet(answering()).reasons("node-001")
    assert (raised.value.where, raised.value.got) == ("node-001", "no answer over ssh")


def test_slurm_that_refuses_is_named_with_its_controller() -> None:
    slurm = SshSlurm(answering(scontrol=(1, "")), {"node-001": "head-001"})
    with pytest.raises(SubjectFailed) as raised:
        slurm.drain("node-001", "rackwright reboot: a new kernel")
    [failure] = raised.value.failures
    assert (failure.subject, failure.cause) == ("node-001", "scontrol on head-001: exit status 1")


@dataclass(frozen=True)
class Lossy(Ssh):
    """Answers, but not at first."""

    lost: int
    asked: list[str] = field(default_factory=list)

    def run(self, host: str, command: str) -> tuple[int, str]:
        del host
        self.asked.append(command)
        return (255, "") if len(self.asked) <= self.lost else (0, "7\n")


def test_a_lost_connection_to_the_controller_is_tried_again_and_not_for_ever() -> None:
    lossy = Lossy(Path("ssh_config"), lost=2)
    assert SshSlurm(lossy, {"node-001": "head-001"}).jobs("node-001") == ("7",)
    assert len(set(lossy.asked)) == 1
    dead = Lossy(Path("ssh_config"), lost=100)
    with pytest.raises(SubjectFailed):
        SshSlurm(dead, {"node-001": "head-001"}).release("node-001")
    assert len(dead.asked) == 3


def test_a_reboot_is_said_once() -> None:
    lossy = Lossy(Path("ssh_config"), lost=100)
    SshFleet(lossy).reboot("node-001", "old")
    assert len(lossy.asked) == 1


@dataclass(frozen=True)
class Here(Ssh):
    """This machine as a host: it has another `systemctl`."""

    programs: str = ""

    def run(self, host: str, command: str) -> tuple[int, str]:
        del host
        path = f"{self.programs}:{os.environ['PATH']}"
        done = subprocess.run(
            ["/bin/sh", "-c", command], env={"PATH": path}, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout


def this_machine(folder: Path, systemctl: str) -> SshFleet:
    program = folder / "systemctl"
    program.write_text(f"#!/bin/sh\n{systemctl}\n")
    program.chmod(0o755)
    return SshFleet(Here(folder, str(folder)))


def test_a_host_that_has_booted_since_is_not_told_to_go_down_by_the_word_of_its_last_boot(
    tmp_path: Path,
) -> None:
    here = this_machine(tmp_path, f'echo "$@" >>{tmp_path}/told')
    here.reboot("node-001", "of another boot")
    assert not (tmp_path / "told").exists()
    here.reboot("node-001", here.boot_id("node-001"))
    assert (tmp_path / "told").read_text() == "reboot --no-block\n"


def test_services_that_failed_are_those_that_start_at_boot(tmp_path: Path) -> None:
    here = this_machine(tmp_path, 'case "$*" in *unit-files*) echo slurmd.service enabled enabled;; esac')
    assert here.failed("node-001") == frozenset()
    slurmd = (
        "case \"$*\" in *failed*) echo 'a.service x'; echo 'slurmd.service x';; *) echo slurmd.service;; esac"
    )
    assert this_machine(tmp_path, slurmd).failed("node-001") == {"slurmd.service"}


def test_drains_of_a_reboot_are_told_from_others_with_their_age() -> None:
    told = """1000
node-001|drained*|900|rackwright reboot: kernel_tuning: a|b
node-001|drained*|900|rackwright reboot: kernel_tuning: a|b
node-002|drained|900|rackwright: r1 (compute): no carrier
node-003|idle|Unknown|none
node-004|draining|990|rackwright reboot: base
"""
    slurm = SshSlurm(answering(sinfo=(0, told)), {"node-001": "head-001", "node-002": "head-001"})
    assert slurm.left() == {"node-001": 100.0, "node-004": 10.0}
    assert SshSlurm(answering(), {}).left() == {}


def test_a_reason_in_another_encoding_is_read_as_far_as_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ssh = tmp_path / "ssh"
    ssh.write_text("#!/bin/sh\nprintf 'drained|L\\374fter\\n'\n")
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    slurm = SshSlurm(Ssh(tmp_path / "ssh_config"), {"node-001": "head-001"})
    assert slurm.drained_for("node-001") == "L\N{REPLACEMENT CHARACTER}fter"


def test_host_in_no_slurm_is_drained_by_nobody() -> None:
    slurm = SshSlurm(answering(), {})
    slurm.drain("store-001", "rackwright reboot: a new kernel")
    assert (slurm.drained_for("store-001"), slurm.jobs("store-001")) == (None, ())
    assert slurm.registered("store-001")


def test_host_whose_slurm_is_silent_is_failed_and_not_rebooted() -> None:
    """And is an end like another: the answer about the other hosts is not lost."""
    silent = answering()
    rolling = Rolling(
        fleet=SshFleet(answering(boot_id=(0, "old"))),
        scheduler=SshSlurm(silent, {"node-001": "head-001"}),
        patience={"node-001": Reboot(within_s=60, least_s=1)},
        last=frozenset(),
        tell=lambda _: None,
    )
    ended = rolling.run({"node-001": ("a new kernel",)})
    assert ended["node-001"].end is End.FAILED
    assert ended["node-001"].message == "sinfo on head-001: no answer"


@dataclass(frozen=True)
class OneIsSilent(Ssh):
    """All wait but node-003; node-002 is dead."""

    def run(self, host: str, command: str) -> tuple[int, str]:
        del command
        return {"node-002": (255, ""), "node-003": (0, "")}.get(host, (0, "a new kernel\n"))


def test_dead_host_hides_no_other_one() -> None:
    waiting, silent = asked(SshFleet(OneIsSilent(Path("ssh_config"))), ["node-001", "node-002", "node-003"])
    assert waiting == {"node-001": ("a new kernel",)}
    assert silent.keys() == {"node-002"}
    assert silent["node-002"].end is End.UNREACHED


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ((), 0),
        ((End.WAITING, End.HELD), 0),
        ((End.REBOOTED, End.UNREACHED), 3),
        ((End.UNREACHED, End.FAILED), 1),
        ((End.REBOOTED, End.UNTOUCHED), 1),
    ],
)
def test_exit_code_is_that_of_the_gravest_end(ends: tuple[End, ...], code: int) -> None:
    assert exit_code({f"node-{index}": Result(end, ()) for index, end in enumerate(ends)}) == code
