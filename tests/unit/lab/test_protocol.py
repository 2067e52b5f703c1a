"""What labd is asked is understood as a whole or refused; what it is not asked, it does not do."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.cloud.wire import Instance, Interface, Launch, Refusal
from rackwright.lab.protocol import (
    ABOUT_ALL,
    Answer,
    LabdSilent,
    LaunchRefused,
    NamedFault,
    Request,
    Verb,
    ask,
)

if TYPE_CHECKING:
    from pathlib import Path


LAUNCH = Launch(
    instance="i-0123456789abcdef0",
    type="lab1.2rail",
    interfaces=(Interface("06:00:00:00:00:01", "10.78.0.16"), Interface("06:00:00:00:00:02", "", 1, 0)),
    user_data="I2Nsb3VkLWNvbmZpZwo=",
    pool="burst",
    slot="burst-001",
)


@pytest.mark.parametrize("verb", Verb)
def test_a_request_is_read_as_it_was_written(verb: Verb) -> None:
    request = Request(
        verb,
        "" if verb in ABOUT_ALL else "node-001/r1",
        "slow-rail" if verb in (Verb.PLANT, Verb.CLEAR) else "",
        LAUNCH if verb is Verb.LAUNCH else None,
    )
    assert Request.parse(request.line()) == request


def _changed(**fields: object) -> bytes:
    """The line of a launch with other fields; None takes one out."""
    plain = LAUNCH.plain() | fields
    kept = {name: value for name, value in plain.items() if value is not None}
    return json.dumps({"verb": "launch", "launch": kept}).encode() + b"\n"


@pytest.mark.parametrize(
    "line",
    [
        _changed(instance="node-001"),
        _changed(instance="i-0123"),
        _changed(instance="i-0123456789abcdef0/../.."),
        _changed(type=None),
        _changed(image="ami-1"),
        _changed(user_data=7),
        _changed(interfaces=None),
        _changed(interfaces=[]),
        _changed(interfaces="06:00:00:00:00:01"),
        _changed(interfaces=["06:00:00:00:00:01"]),
        _changed(interfaces=[{"mac": "06-00", "address": "", "card": 0, "device": 0}]),
        _changed(interfaces=[{"mac": "06:00:00:00:00:01", "address": "", "card": "0", "device": 0}]),
        _changed(interfaces=[{"mac": "06:00:00:00:00:01", "address": ""}]),
        b'{"verb": "launch"}\n',
        b'{"verb": "launch", "launch": null}\n',
        b'{"verb": "launch", "launch": "i-0123456789abcdef0"}\n',
        _changed().replace(b'"verb": "launch"', b'"verb": "list"'),
        _changed().replace(b'"verb": "launch"', b'"verb": "terminate", "slot": "i-0123456789abcdef0"'),
    ],
)
def test_what_is_no_launch_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Request.parse(line)
    assert Request.parse(_changed()).launch == LAUNCH


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"{}\n",
        b"[]\n",
        b'"on"\n',
        b'{"verb": "on"}\n',
        b'{"verb": "list", "slot": "node-001"}\n',
        b'{"verb": "format", "slot": "node-001"}\n',
        b'{"verb": "on", "slot": "node-001", "fault": "kill"}\n',
        b'{"verb": "clear", "slot": "node-001", "fault": "kill"}\n',
        b'{"verb": "on", "slot": 1}\n',
        b'{"verb": "on", "slot": "node-001", "force": "yes"}\n',
        b'{"verb": "on", "slot": "node-001"}',
        b"\xff\xfe\n",
    ],
)
def test_what_is_no_request_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Request.parse(line)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(),
        Answer(error="no"),
        Answer(states={"a": "off"}),
        Answer(text="line\nother ü"),
        Answer(faults=(NamedFault("kill", "a"), NamedFault("slow-rail", "a/r1"))),
        Answer(instances=(Instance("i-01234567", "lab1.2rail", "cloud", "burst", "", "10.78.0.16", "on"),)),
        Answer(error="full", refusal=Refusal.NO_CAPACITY),
    ],
)
def test_an_answer_is_read_as_it_was_written(answer: Answer) -> None:
    assert Answer.parse(answer.line()) == answer
    assert answer.line().count(b"\n") == 1


def _serve(path: Path, said: bytes) -> None:
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(str(path))
    server.listen()

    def answer() -> None:
        with server, server.accept()[0] as client:
            client.makefile("rb").readline()
            client.sendall(said)

    threading.Thread(target=answer, daemon=True).start()


def test_an_order_that_failed_is_an_error_with_its_reason(tmp_path: Path) -> None:
    _serve(tmp_path / "s", Answer(error="the disk is broken").line())
    with pytest.raises(EnvironmentUnfit) as failed:
        ask(tmp_path / "s", Request(Verb.ON, "node-001"))
    assert (failed.value.where, failed.value.got) == ("node-001", "the disk is broken")


def test_a_launch_that_was_refused_says_why(tmp_path: Path) -> None:
    _serve(tmp_path / "s", Answer(error="8 of 8 instances run", refusal=Refusal.NO_CAPACITY).line())
    with pytest.raises(LaunchRefused) as refused:
        ask(tmp_path / "s", Request(Verb.LAUNCH, launch=LAUNCH))
    assert refused.value.refusal is Refusal.NO_CAPACITY
    assert (refused.value.where, refused.value.got) == (LAUNCH.instance, "8 of 8 instances run")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{",
        b"[]\n",
        b'{"states": 1}\n',
        b'{"faults": [{"name": "kill"}]}\n',
        b'{"instances": [{"instance": "i-0"}]}\n',
        b'{"refusal": "no"}\n',
    ],
)
def test_a_labd_that_dies_while_it_answers_is_silent(tmp_path: Path, said: bytes) -> None:
    _serve(tmp_path / "s", said)
    with pytest.raises(LabdSilent):
        ask(tmp_path / "s", Request(Verb.LIST))


def test_nobody_there_is_silent_at_once(tmp_path: Path) -> None:
    with pytest.raises(LabdSilent):
        ask(tmp_path / "absent", Request(Verb.LIST))
