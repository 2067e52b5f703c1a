"""What tasks' results really look like, and the one line each becomes."""

from __future__ import annotations

import re

import pytest

from rackwright.converge import causes
from rackwright.converge.causes import cause
from rackwright.converge.model import Status

_TRACEBACK = "Traceback (most recent call last):\n  File \"<stdin>\", line 7, in <module>\nKeyError: 'mtu'\n"
_UNREACHABLE = {
    "unreachable": True,
    "changed": False,
    "msg": "Task failed: Failed to connect to the host via ssh: ssh: connect to host 10.0.0.7 port 22: {}",
}


def _ssh(text: str) -> dict[str, object]:
    return _UNREACHABLE | {"msg": str(_UNREACHABLE["msg"]).format(text)}


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ({"msg": "planted"}, "planted"),
        (
            {"msg": "non-zero return code", "rc": 3, "stderr": "mount: no such device"},
            "mount: no such device",
        ),
        ({"msg": "non-zero return code", "rc": 3, "stdout": "one\ntwo"}, "one two"),
        (
            {"msg": "MODULE FAILURE\nSee stdout/stderr for the exact error", "module_stderr": _TRACEBACK},
            "KeyError: 'mtu'",
        ),
        ({"msg": "[Errno 28] No space left on device: b'/etc/x'"}, "No space left on device"),
        (
            {"msg": "MODULE FAILURE", "module_stdout": "sh: write error: No space left on device"},
            "No space left on device",
        ),
        (
            {
                "msg": "One or more items failed",
                "results": [{"msg": "fine"}, {"failed": True, "msg": "the second item is wrong"}],
            },
            "the second item is wrong",
        ),
        (
            {"stderr": "E: Could not get lock /var/lib/dpkg/lock. It is held by process 4711 (apt-get)"},
            "another package manager holds /var/lib/dpkg/lock: apt-get, process 4711",
        ),
        ({"censored": "the output has been hidden"}, "hidden, for the task may hold a secret (no_log)"),
        (_ssh("Connection timed out"), "no answer to ssh: the connection timed out"),
        (_ssh("Connection refused"), "no ssh server: the connection was refused"),
        (_ssh("No route to host"), "no route to the host: it is off, or its network is"),
        ({"msg": "Host key verification failed."}, "another host key than the one it printed on its console"),
        ({"msg": "x: Permission denied (publickey)."}, "the login was refused (publickey)"),
        (
            {"msg": "Data could not be sent to remote host. Broken pipe"},
            "the connection was lost: it went off or rebooted",
        ),
        (
            {"msg": 'Data could not be sent to remote host "10.0.0.7". Make sure this host can be'},
            "the connection was lost: it went off or rebooted",
        ),
        (
            {"msg": "Control socket connect(cp/1): Connection refused\nTimeout, server h not responding."},
            "no answer to ssh: the connection timed out",
        ),
        ({}, "the task failed and gave no reason"),
        (None, "the task failed and gave no reason"),
        ("no mapping at all", "no mapping at all"),
        ({"msg": "bell \a and \x1b[31mred"}, "bell   and  [31mred"),
    ],
)
def test_a_result_becomes_one_line(result: object, message: str) -> None:
    assert cause(result, Status.FAILED).message == message


def test_a_long_message_is_cut_and_says_so() -> None:
    message = cause({"msg": "word " * 1000}, Status.FAILED).message
    assert len(message) <= 240
    assert message.endswith("…")


def test_a_full_disk_is_a_failure_though_ansible_calls_it_unreachable() -> None:
    result = {
        "unreachable": True,
        "msg": "Failed to create temporary directory: mkdir: No space left on device",
    }
    assert cause(result, Status.UNREACHABLE).status is Status.FAILED
    assert cause(_ssh("Connection timed out"), Status.UNREACHABLE).status is Status.UNREACHABLE


def test_every_entry_of_the_table_has_a_pattern_that_holds_what_its_cause_names() -> None:
    for pattern, known in causes.table():
        assert set(re.findall(r"{(\w+)}", known.cause)) <= set(pattern.groupindex), known
        assert known.hint, known
