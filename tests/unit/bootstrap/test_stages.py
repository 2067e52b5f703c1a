"""Stages run in order, told with their times; a failure or Ctrl-C ends as a shell would."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from bootstrap import places, stages
from bootstrap.stages import Stage

if TYPE_CHECKING:
    from pathlib import Path


def shell(name: str, body: str) -> Stage:
    return Stage(name, ("sh", "-c", body))


def test_all_stages_run_in_order_with_their_times(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    order = tmp_path / "order"
    wanted = [shell("one", f"echo 1 >> {order}"), shell("two", f"echo 2 >> {order}")]
    assert stages.run("lab", wanted) == 0
    assert order.read_text() == "1\n2\n"
    told = capfd.readouterr().err
    for line in (r"lab: one +done +\d+\.\d s", r"lab: two +done +\d+\.\d s", r"lab: total +\d+\.\d s"):
        assert re.search(line, told)


def test_the_first_failure_stops_with_its_status(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    after = tmp_path / "after"
    assert stages.run("lab", [shell("bad", "exit 3"), shell("next", f"touch {after}")]) == 3
    assert not after.exists()
    assert "lab: stage 'bad' failed with exit status 3" in capfd.readouterr().err


def test_a_stage_that_dies_of_a_signal_has_a_status_as_in_a_shell() -> None:
    assert stages.run("lab", [shell("killed", "kill -9 $$")]) == 137


def test_checks_go_on_after_a_failure_and_stay_failed(tmp_path: Path) -> None:
    after = tmp_path / "after"
    checks = [shell("bad", "exit 3"), shell("next", f"touch {after}")]
    assert stages.run("check", checks, keep_going=True) == 1
    assert after.exists()


def test_a_skipped_stage_says_why_and_is_not_called_done(capfd: pytest.CaptureFixture[str]) -> None:
    assert stages.run("check", [Stage("lint", ("false",), skip="nothing to lint")]) == 0
    told = capfd.readouterr().err
    assert "lint: not run: nothing to lint" in told
    assert "done" not in told


def test_a_stage_sees_the_virtual_environment_first(capfd: pytest.CaptureFixture[str]) -> None:
    stages.run("lab", [shell("path", "echo $PATH")])
    assert capfd.readouterr().out.startswith(str(places.environment() / "bin"))


def test_a_stage_cannot_wait_for_the_terminal() -> None:
    assert stages.run("lab", [shell("ask", "! read answer && ! ( : < /dev/tty )")]) == 0


RUNNER = """
import sys
from bootstrap import stages
sys.exit(stages.run("lab", [stages.Stage("one", ("sh", "-c", sys.argv[1])),
                            stages.Stage("two", ("touch", sys.argv[2]))]))
"""
STAGE = (
    "trap 'echo got {name} >> {seen}; exit {code}' {name}; touch {ready}; "
    "for turn in $(seq 300); do sleep 0.1; done"
)


def interrupted(tmp_path: Path, sent: signal.Signals, code: int) -> tuple[int, str]:
    """Send a signal to the runner alone while its first stage runs; its status and what it told."""
    name = sent.name.removeprefix("SIG")
    body = STAGE.format(name=name, seen=tmp_path / "seen", ready=tmp_path / "ready", code=code)
    command = [sys.executable, "-c", RUNNER, body, str(tmp_path / "two")]
    with subprocess.Popen(command, cwd=places.REPOSITORY, stderr=subprocess.PIPE, text=True) as runner:
        while not (tmp_path / "ready").exists():
            time.sleep(0.02)
        runner.send_signal(sent)
        told = runner.communicate(timeout=120)[1]
    return runner.returncode, told


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("code", [130, 0])
def test_an_interrupt_reaches_the_stage_once_and_nothing_follows(
    tmp_path: Path, sent: signal.Signals, status: int, code: int
) -> None:
    returned, told = interrupted(tmp_path, sent, code)
    assert returned == status
    assert (tmp_path / "seen").read_text() == f"got {sent.name.removeprefix('SIG')}\n"
    assert not (tmp_path / "two").exists()
    assert "interrupted in stage 'one'; the same command goes on from there" in told


def test_an_interrupt_that_comes_while_a_stage_is_being_started_reaches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = tmp_path / "ready"

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, words: list[str], **options: Any) -> None:  # noqa: ANN401 (Popen's own)
            super().__init__(words, **options)
            while not ready.exists():
                time.sleep(0.02)
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    body = STAGE.format(name="INT", seen=tmp_path / "seen", ready=ready, code=0)
    assert stages.run("lab", [shell("one", body)]) == 130
    assert (tmp_path / "seen").read_text() == "got INT\n"


def test_a_killed_runner_interrupts_its_stage(tmp_path: Path) -> None:
    body = STAGE.format(name="INT", seen=tmp_path / "seen", ready=tmp_path / "ready", code=0)
    command = [sys.executable, "-c", RUNNER, body, str(tmp_path / "two")]
    with subprocess.Popen(command, cwd=places.REPOSITORY, stderr=subprocess.DEVNULL) as runner:
        while not (tmp_path / "ready").exists():
            time.sleep(0.02)
        runner.kill()
    deadline = time.monotonic() + 120
    while not (tmp_path / "seen").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert (tmp_path / "seen").read_text() == "got INT\n"
