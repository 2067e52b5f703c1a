"""Commands over ssh: bytes as they are, exit status as it is, a lost connection told as one."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from rackwright.validate.ssh import SESSIONS, Answer, ControllerLost, SshController, connected

if TYPE_CHECKING:
    from pathlib import Path

    Patch = pytest.MonkeyPatch

STAND_IN = """#!/bin/sh
# An ssh that runs the command here; it notes its options, and who makes a connection, which takes time.
echo "$*" >> "$NOTES"
[ -z "$LOST" ] || { echo no route >&2; exit 255; }
[ -z "$KILLED" ] || kill -9 $$
while [ "$1" != -- ]; do
    case "$1" in ControlPath=*) socket="${1#*=}" ;; esac
    shift; [ $# -gt 0 ] || exit 0
done
shift
[ -e "$socket" ] || { echo "makes $socket" >> "$NOTES"; sleep 0.1; : > "$socket"; }
echo "begins $socket" >> "$NOTES"
sh -c "$1"
status=$?
echo "ends $socket" >> "$NOTES"
exit $status
"""


@pytest.fixture
def controller(tmp_path: Path, monkeypatch: Patch) -> SshController:
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(STAND_IN)
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("NOTES", str(tmp_path / "notes"))
    (tmp_path / "sockets").mkdir()
    return SshController("head-001", tmp_path / "ssh_config", tmp_path / "sockets")


def test_words_arrive_as_they_are(controller: SshController) -> None:
    words = ["printf", "%s|", "a b", "$HOME", "'", '"x"']
    assert controller.ask(words) == Answer(0, 'a b|$HOME|\'|"x"|', "")


def test_output_goes_into_files_byte_for_byte(controller: SshController, tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        status = controller.run(["sh", "-c", r"printf 'a\000\377\r\n'; echo no >&2; exit 3"], stdout, stderr)
    assert (status, out.read_bytes(), err.read_bytes()) == (3, b"a\x00\xff\r\n", b"no\n")


def _at_once(controller: SshController, tmp_path: Path, commands: int) -> None:
    """Half of them questions and half steps, all at the same time."""

    def one(number: int) -> int:
        if number % 2:
            return controller.ask(["sleep", "0.3"]).status
        with (tmp_path / f"out-{number}").open("wb") as sink:
            return controller.run(["sleep", "0.3"], sink, sink)

    with ThreadPoolExecutor(commands) as pool:
        assert set(pool.map(one, range(commands))) == {0}


def test_no_connection_carries_more_than_sshd_allows(controller: SshController, tmp_path: Path) -> None:
    _at_once(controller, tmp_path, 3 * SESSIONS)
    now, most = Counter[str](), Counter[str]()
    for line in (tmp_path / "notes").read_text().splitlines():
        what, _, socket = line.partition(" ")
        now[socket] += {"begins": 1, "ends": -1}.get(what, 0)
        most[socket] = max(most[socket], now[socket])
    assert {path.name for path in controller.sockets.iterdir()} == {"0", "1", "2"}
    assert max(most.values()) <= SESSIONS


def test_a_connection_is_made_once_before_many_share_it(controller: SshController, tmp_path: Path) -> None:
    """Each that ssh makes beside it is one more that sshd may turn away (MaxStartups, 10:30:100)."""
    _at_once(controller, tmp_path, 3 * SESSIONS)
    made = [line for line in (tmp_path / "notes").read_text().splitlines() if line.startswith("makes ")]
    assert len(made) == len(set(made)) == 3


def test_one_after_the_other_they_need_one_connection(controller: SshController) -> None:
    for _ in range(SESSIONS + 1):
        controller.ask(["true"])
    assert [path.name for path in controller.sockets.iterdir()] == ["0"]


def test_many_that_cannot_connect_are_told_at_once(controller: SshController, monkeypatch: Patch) -> None:
    monkeypatch.setenv("LOST", "yes")
    with ThreadPoolExecutor(SESSIONS) as pool:
        futures = [pool.submit(controller.ask, ["true"]) for _ in range(SESSIONS)]
    assert {type(future.exception()) for future in futures} == {ControllerLost}
    monkeypatch.setenv("LOST", "")
    assert controller.ask(["true"]).status == 0, "and it may be there again"


def test_a_connection_that_is_lost_is_no_exit_status(
    controller: SshController, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("LOST", "yes")
    with pytest.raises(ControllerLost) as caught:
        controller.ask(["true"])
    assert (caught.value.got, caught.value.exit_code) == ("no route", 2)
    with (tmp_path / "out").open("wb") as sink, pytest.raises(ControllerLost):
        controller.run(["true"], sink, sink)


def test_a_command_whose_ssh_is_killed_has_no_exit_status(
    controller: SshController, tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("KILLED", "yes")
    with (tmp_path / "out").open("wb") as sink, pytest.raises(ControllerLost) as caught:
        controller.run(["true"], sink, sink)
    assert caught.value.got == "ssh was ended by a signal (Killed)"
    with pytest.raises(ControllerLost):
        controller.ask(["true"])


@pytest.mark.parametrize(("status", "told"), [(0, 0), (1, 1), (124, 124), (255, 254)])
def test_a_command_that_ends_as_a_lost_connection_does_has_lost_none(
    controller: SshController, tmp_path: Path, status: int, told: int
) -> None:
    words = ["sh", "-c", f"exit {status}"]
    assert controller.ask(words).status == told
    with (tmp_path / "out").open("wb") as sink:
        assert controller.run(words, sink, sink) == told


def test_a_controller_that_is_silent_is_not_waited_for_for_ever(controller: SshController) -> None:
    with pytest.raises(ControllerLost) as caught:
        controller.ask(["sleep", "20"], within_s=0.2)
    assert "no answer to `sleep` within 0.2 s" in caught.value.got


def test_steps_that_were_given_up_end_at_once_and_questions_may_still_be_asked(
    controller: SshController, tmp_path: Path
) -> None:
    began = time.monotonic()
    with (tmp_path / "out").open("wb") as sink, ThreadPoolExecutor(1) as pool:
        step = pool.submit(controller.run, ["sh", "-c", f"touch {tmp_path}/runs; sleep 60"], sink, sink)
        while not (tmp_path / "runs").exists():
            time.sleep(0.01)
        controller.give_up()
        assert isinstance(step.exception(), ControllerLost)
        with pytest.raises(ControllerLost) as caught:
            controller.run(["true"], sink, sink)
    assert time.monotonic() - began < 30
    assert caught.value.got == "it was given up"
    assert controller.ask(["true"]).status == 0


def test_its_sockets_are_gone_afterwards(controller: SshController) -> None:
    with connected("head-001", controller.ssh_config) as other:
        folder = other.sockets
        assert folder.is_dir()
    assert not folder.exists()
