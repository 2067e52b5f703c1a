"""A labd that is gone, or is only coming, is an answer of `lab up` and no fault of it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab import up
from rackwright.lab.protocol import Verb

if TYPE_CHECKING:
    from rackwright.lab.places import Places

COMING = """
import socket, sys, time
from pathlib import Path
from rackwright.lab import processes
from rackwright.lab.protocol import Answer
processes.claim_pid_file(Path(sys.argv[1]))
print("claimed", flush=True)
time.sleep(1)
with socket.socket(socket.AF_UNIX) as listening:
    listening.bind(sys.argv[2])
    listening.listen()
    connection, _ = listening.accept()
    connection.recv(1000)
    connection.sendall(Answer(text="here").line())
"""


def test_a_labd_that_dies_while_it_builds_is_told_with_its_log(places: Places) -> None:
    places.run.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(places.socket))
        listening.listen()
        hung_up = threading.Thread(target=_hang_up, args=(listening,))
        hung_up.start()
        with pytest.raises(EnvironmentUnfit) as refused:
            up._asked(places, Verb.BUILD, 60)  # noqa: SLF001 (`up` itself wants root)
        hung_up.join()
    assert (refused.value.code, refused.value.where) == ("LAB015", str(places.socket))
    assert refused.value.got.startswith("no answer to `build`")
    assert str(places.logs / "labd.log") in refused.value.hint


def _hang_up(listening: socket.socket) -> None:
    connection, _ = listening.accept()
    connection.close()


def test_a_labd_that_takes_too_long_is_told(places: Places) -> None:
    places.run.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(places.socket))
        listening.listen()
        with pytest.raises(EnvironmentUnfit) as refused:
            up._asked(places, Verb.BUILD, 0.2)  # noqa: SLF001
    assert refused.value.code == "LAB015"
    assert "timed out" in refused.value.got


def test_a_labd_that_another_up_has_just_started_is_waited_for(places: Places) -> None:
    places.run.mkdir(parents=True)
    command = [sys.executable, "-c", COMING, str(places.labd_pid), str(places.socket)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        try:
            answer = up._asked(places, Verb.LIST, 60, tried_for_s=60)  # noqa: SLF001
        finally:
            process.kill()
    assert answer.text == "here"
