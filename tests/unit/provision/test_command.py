"""The engine's process: told of Ctrl-C once, awaited, and started without another stack's passphrase."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pulumi.automation import CommandError

from rackwright.errors import Interrupted
from rackwright.provision.command import Command

if TYPE_CHECKING:
    from collections.abc import Callable

    Engine = Callable[[str], Command]


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    """A `pulumi` that is a shell script."""

    def make(body: str) -> Command:
        script = tmp_path / "pulumi"
        script.write_text(f'#!/bin/bash\n[ "$1" = version ] && echo v3.274.1 && exit\n{body}\n')
        script.chmod(0o755)
        return Command(tmp_path)

    return make


def test_lines_are_handed_on_as_they_come_and_kept(engine: Engine, tmp_path: Path) -> None:
    told: list[str] = []
    result = engine('echo "$@"; echo oops >&2; echo two').run(
        ["up"], str(tmp_path), {}, told.append, told.append
    )
    assert result.stdout == "--non-interactive up\ntwo"
    assert result.stderr == "oops"
    assert sorted(told) == ["--non-interactive up", "oops", "two"]


def test_a_failure_says_what_the_engine_said(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such thing"):
        engine("echo error: no such thing >&2; exit 3").run(["up"], str(tmp_path), {})


def test_a_passphrase_of_the_environment_does_not_reach_the_engine(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "another stack's")
    said = engine('echo "[$PULUMI_CONFIG_PASSPHRASE$MINE]"').run(["up"], str(tmp_path), {"MINE": "given"})
    assert said.stdout == "[given]"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_reaches_the_engine_once_and_its_end_is_awaited(
    engine: Engine, tmp_path: Path, number: signal.Signals
) -> None:
    command = engine(
        "trap 'echo INT >> seen' INT; touch ready; for _ in 1 2 3 4 5 6; do sleep 0.1; done; touch done"
    )

    def interrupt() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    threading.Thread(target=interrupt).start()
    with pytest.raises(Interrupted, match="what was begun is finished"):
        command.run(["up"], str(tmp_path), {})
    assert (tmp_path / "seen").read_text() == "INT\n"
    assert (tmp_path / "done").exists()
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_reaches_the_engine_too_and_the_next_command_begins_anew(
    engine: Engine, tmp_path: Path
) -> None:
    command = engine(
        "[ -e seen ] && exit\n"
        "trap 'echo INT >> seen; [ $(wc -l < seen) = 2 ] && exit 1' INT\n"
        "touch ready; while sleep 0.1; do [ -e seen ] && touch again; done"
    )

    def interrupt() -> None:
        for seen in (tmp_path / "ready", tmp_path / "again"):
            while not seen.exists():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(Interrupted, match="may be done without being noted"):
        command.run(["up"], str(tmp_path), {})
    assert command.run(["stack", "export"], str(tmp_path), {}).code == 0


def test_ctrl_c_works_where_it_was_ignored_when_we_began(engine: Engine, tmp_path: Path) -> None:
    """As in a shell's background job."""
    command = engine("trap 'touch seen' INT; kill -INT $$")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        command.run(["up"], str(tmp_path), {})
    finally:
        signal.signal(signal.SIGINT, before)
    assert (tmp_path / "seen").exists()


def test_what_a_killed_engine_leaves_in_its_session_ends_too(engine: Engine, tmp_path: Path) -> None:
    command = engine("setsid -w true; sleep 600 >/dev/null 2>&1 & echo $! > left; kill -9 $$")
    with pytest.raises(CommandError):
        command.run(["up"], str(tmp_path), {})
    left = int((tmp_path / "left").read_text())
    _await_death(left)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _await_death(pid: int) -> None:
    until = time.monotonic() + 120
    while _lives(pid):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_plugin_ends_with_its_engine(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin.py"
    plugin.write_text(
        "import sys, time\n"
        "from rackwright.provision.lifeline import end_with_engine\n"
        "end_with_engine(sys.argv[1])\n"
        "print('serving', flush=True)\n"
        "time.sleep(600)\n"
    )
    starter = (
        "import socket, subprocess, sys, time\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "address = '127.0.0.1:' + str(listening.getsockname()[1])\n"
        f"plugin = subprocess.Popen([sys.executable, {str(plugin)!r}, address], stdout=subprocess.PIPE)\n"
        "plugin.stdout.readline()\n"
        "print(plugin.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert _lives(pid)
        parent.kill()
    _await_death(pid)


def test_a_plugin_whose_engine_is_gone_already_does_not_begin() -> None:
    program = "from rackwright.provision.lifeline import end_with_engine; end_with_engine('127.0.0.1:1')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode != 0
