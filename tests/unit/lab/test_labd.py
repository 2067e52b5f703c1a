"""The real daemon, without root: it answers, refuses what it does not understand, and runs once."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rackwright.canonical import dumps
from rackwright.errors import EnvironmentUnfit
from rackwright.lab import labd, processes
from rackwright.lab.protocol import Request, Verb, ask
from rackwright.lab.status import status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwright.lab.model import World
    from rackwright.lab.places import Places


@pytest.fixture
def daemon(world: World, places: Places) -> Iterator[subprocess.Popen[bytes]]:
    places.lab.mkdir(parents=True)
    places.run.mkdir(parents=True)
    places.world.write_text(dumps(world))
    command = [sys.executable, "-I", "-m", labd.MODULE, *places.arguments()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.read() == b"ready\n"
        yield process
        process.kill()


def test_its_socket_is_closed_to_others(daemon: subprocess.Popen[bytes], places: Places) -> None:
    assert daemon.poll() is None
    assert places.socket.stat().st_mode & 0o777 == 0o600


def test_hosts_that_were_never_started_are_off(daemon: subprocess.Popen[bytes], places: Places) -> None:
    assert daemon.poll() is None
    states = ask(places.socket, Request(Verb.LIST)).states
    assert states == dict.fromkeys(["head-001", "node-001", "node-002", "node-003"], "off")
    assert ask(places.socket, Request(Verb.STATE, "node-001")).states == {"node-001": "off"}


def test_a_host_it_does_not_have_is_named(daemon: subprocess.Popen[bytes], places: Places) -> None:
    assert daemon.poll() is None
    for verb in (Verb.STATE, Verb.ON, Verb.OFF, Verb.RESET, Verb.SHUTDOWN, Verb.RESTART, Verb.CONSOLE):
        with pytest.raises(EnvironmentUnfit) as refused:
            ask(places.socket, Request(verb, "node-009"))
        assert refused.value.got == "no such host: node-009"


def test_the_end_of_a_console_is_told(daemon: subprocess.Popen[bytes], places: Places, world: World) -> None:
    assert daemon.poll() is None
    assert ask(places.socket, Request(Verb.CONSOLE, "node-001")).text == ""
    console = Path(world.host("node-001").console)
    console.parent.mkdir(parents=True)
    console.write_text("old" * 30000 + "login: ")
    text = ask(places.socket, Request(Verb.CONSOLE, "node-001")).text
    assert text.endswith("login: ")
    assert len(text) == 65536


def test_nonsense_gets_an_answer_and_the_next_question_too(
    daemon: subprocess.Popen[bytes], places: Places
) -> None:
    assert daemon.poll() is None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.connect(str(places.socket))
        with client.makefile("rwb", buffering=0) as line:
            line.write(b"format c:\n")
            assert b'"error": "' in line.readline()
            line.write(Request(Verb.LIST).line())
            assert b'"node-001": "off"' in line.readline()


def test_a_client_that_says_nothing_holds_up_nobody(daemon: subprocess.Popen[bytes], places: Places) -> None:
    assert daemon.poll() is None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.connect(str(places.socket))
        assert ask(places.socket, Request(Verb.LIST), timeout_s=10).states is not None


def test_a_second_one_ends_at_once(daemon: subprocess.Popen[bytes], places: Places) -> None:
    command = [sys.executable, "-I", "-m", labd.MODULE, *places.arguments()]
    second = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert (second.returncode, second.stdout) == (labd.ALREADY_RUNS, b"")
    assert processes.read_pid_file(places.labd_pid) == processes.Process.of(daemon.pid)


def test_a_killed_one_leaves_hosts_to_be_seen_and_its_place_to_the_next(
    daemon: subprocess.Popen[bytes], places: Places
) -> None:
    daemon.kill()
    daemon.wait()
    now = status(places)
    assert now is not None
    assert (now.labd, {host.state for host in now.hosts}) == (False, {"off"})
    command = [sys.executable, "-I", "-m", labd.MODULE, *places.arguments()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as next_one:
        assert next_one.stdout is not None
        assert next_one.stdout.read() == b"ready\n"
        assert ask(places.socket, Request(Verb.LIST)).states is not None
        next_one.kill()
