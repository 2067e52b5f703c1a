"""What labd is asked is understood as a whole or refused; what it is not asked, it does not do."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING

import pytest

from rackwright.errors import EnvironmentUnfit
from rackwright.lab.protocol import Answer, LabdSilent, NamedFault, Request, Verb, ask

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("verb", Verb)
def test_a_request_is_read_as_it_was_written(verb: Verb) -> None:
    slot = "" if verb in (Verb.LIST, Verb.BUILD, Verb.CLEAR) else "node-001/r1"
    request = Request(verb, slot, "slow-rail" if verb in (Verb.PLANT, Verb.CLEAR) else "")
    assert Request.parse(request.line()) == request


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


@pytest.mark.parametrize(
    "said", [b"", b"{", b"[]\n", b'{"states": 1}\n', b'{"faults": [{"name": "kill"}]}\n']
)
def test_a_labd_that_dies_while_it_answers_is_silent(tmp_path: Path, said: bytes) -> None:
    _serve(tmp_path / "s", said)
    with pytest.raises(LabdSilent):
        ask(tmp_path / "s", Request(Verb.LIST))


def test_nobody_there_is_silent_at_once(tmp_path: Path) -> None:
    with pytest.raises(LabdSilent):
        ask(tmp_path / "absent", Request(Verb.LIST))
