"""Keys out of console logs: the right ones or none, wherever a log is cut or spoiled."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rackwright.inventory.console import Reading, parse
from rackwright.plan.observed import HostKey

CASES = Path(__file__).parents[2] / "cases" / "console"
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIP9j6vXFJ23Sq1SNnmmVfgMCsE16GrWEFbbLDSNMuaox"
BOOT = (
    b"[    1.204718] systemd[1]: Detected architecture x86-64.\r\n"
    b"-----BEGIN SSH HOST KEY KEYS-----\r\n"
    b"ssh-ed25519 " + KEY.encode() + b" root@node-001\r\n"
    b"-----END SSH HOST KEY KEYS-----\r\n"
)
KNOWN = Reading(keys=(HostKey(type="ssh-ed25519", key=KEY),))


def _shown(reading: Reading, host: str) -> dict[str, object]:
    return {
        "host": host,
        "keys": {key.type: key.fingerprint for key in reading.keys},
        "fault": reading.fault.code if reading.fault else None,
        "got": reading.got,
        "printing": reading.printing,
    }


@pytest.mark.parametrize("case", sorted(CASES.iterdir()), ids=lambda case: str(case.name))
def test_log_is_read_as_its_case_says(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    reading = parse((case / "input.log").read_bytes(), expected["host"])
    assert _shown(reading, expected["host"]) == expected


def test_fingerprint_is_that_of_ssh_keygen(tmp_path: Path) -> None:
    public = tmp_path / "key.pub"
    public.write_text(f"ssh-ed25519 {KEY} root@node-001\n")
    listed = subprocess.run(["ssh-keygen", "-lf", public], capture_output=True, text=True, check=True)
    assert listed.stdout.split()[1] == KNOWN.keys[0].fingerprint


def test_log_cut_anywhere_gives_the_whole_key_or_none() -> None:
    readings = [parse(BOOT[:length], "node-001") for length in range(len(BOOT) + 1)]
    assert {reading.keys for reading in readings} == {(), KNOWN.keys}
    assert all(reading.keys == () for reading in readings[: -len("-\r\n")])


def _with(insertion: bytes) -> Iterator[bytes]:
    return (BOOT[:position] + insertion + BOOT[position:] for position in range(len(BOOT) + 1))


@pytest.mark.parametrize(
    "insertion",
    [b"[-- MARK -- Sat Nov 28 02:18:00 2026]\r\n", b"\x1b[0m", b"\x00"],
    ids=["conserver mark", "colour", "NUL"],
)
def test_insertion_anywhere_is_taken_out_again(insertion: bytes) -> None:
    assert all(parse(log, "node-001") == KNOWN for log in _with(insertion))


@pytest.mark.parametrize(
    "insertion",
    [b"[   12.345678] nvme nvme0: 8/0/0 queues\r\n", b"A", b"\r\n", b" ", b"[  OK  ] Started x.\r\n"],
    ids=["kernel line", "letter", "line break", "space", "systemd line"],
)
def test_insertion_anywhere_never_makes_another_key(insertion: bytes) -> None:
    assert all(parse(log, "node-001").keys in ((), KNOWN.keys) for log in _with(insertion))


def test_losing_any_byte_never_makes_another_key() -> None:
    logs = (BOOT[:position] + BOOT[position + 1 :] for position in range(len(BOOT)))
    assert all(parse(log, "node-001").keys in ((), KNOWN.keys) for log in logs)


def test_message_holds_nothing_that_a_terminal_obeys() -> None:
    block = b"-----BEGIN SSH HOST KEY KEYS-----\nssh-rsa \xc2\x9b31mAAAA\n-----END SSH HOST KEY KEYS-----\n"
    reading = parse(block, "node-001")
    assert reading.got.isascii()
    assert reading.got.isprintable()
