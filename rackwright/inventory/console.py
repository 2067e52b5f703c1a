"""A host's console log in, the SSH host keys that it printed out: strict, and nothing guessed.

A host prints its public keys at every boot, between two marker lines that are cloud-init's::

    -----BEGIN SSH HOST KEY KEYS-----
    ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI… root@node-001
    -----END SSH HOST KEY KEYS-----

The last block with both markers counts. A log holds more than the host wrote: conserver and
ipmitool add lines, marks and carriage returns, the kernel writes whole lines into the middle of
others, programs colour theirs. Such insertions are taken out again, byte for byte. Inside the
block, whatever could be a part of a key must then be one whole key; other lines are not ours.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from rackwright.plan.observed import HostKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BEGIN = "-----BEGIN SSH HOST KEY KEYS-----"
END = "-----END SSH HOST KEY KEYS-----"

KEY_TYPES = (
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "ssh-rsa",
)
"""Types that sshd makes by default; DSA is gone from OpenSSH 10, the others are not host keys."""

_DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [A-Z]{3,5})? \d{4}"
_INSERTED = re.compile(
    rf"\[-- [^\r\n]*? -- {_DATE}\]\r*\n"  # conserver's marks and events, even within a line
    rf"|\[{_DATE}\]"  # conserver's line stamps (`timestamp 1l`)
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # ECMA-48 control sequences: colours, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # and operating system commands: titles
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_KERNEL_LINE = re.compile(r"(?:<\d+>)?\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])?[ :][^\r\n]*[\r\n]+")
"""printk writes whole lines, wherever the cursor is; `[T123]` is CONFIG_PRINTK_CALLER."""
_KEY_LINE = re.compile(r"(?P<type>\S+) (?P<key>[A-Za-z0-9+/]+={0,2}) [^\s@]+@(?P<host>\S+)")
_PART_OF_A_KEY = re.compile(rf"^(?:{'|'.join(KEY_TYPES)})\b|AAAA|[A-Za-z0-9+/]{{40}}")
"""Every key's wire form begins with three zero bytes, which are ``AAAA`` in base64."""


@dataclass(frozen=True, slots=True)
class KeyFault:
    """Why a host has no known key; hosts of one fault are reported together."""

    code: str
    message: str
    hint: str
    waiting_helps: bool = False
    """Whether the host may still print its keys."""


NO_BLOCK = KeyFault(
    "KEY002",
    "the host has printed no keys on its console",
    "power it on, or boot it again (an instance: `aws ec2 reboot-instances`); it prints them at every boot",
    waiting_helps=True,
)
CUT_OFF = KeyFault(
    "KEY003",
    "the host's keys are cut off in its console log",
    "wait until it has booted, or boot it again",
    waiting_helps=True,
)
UNREADABLE = KeyFault(
    "KEY004",
    "the host's keys on its console cannot be read in full",
    "boot it again, so that it prints them once more",
)
OTHER_HOST = KeyFault(
    "KEY005",
    "another host's keys are in this console log",
    "see that this host's console is wired to its own port of the console server",
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a log says of one host: its keys, or why there are none.

    Args:
        keys: in the order of `KEY_TYPES`; empty when there is a fault.
        fault: none when there are keys.
        got: what stood in the log instead.
        printing: a block has begun that is newer than these keys.
    """

    keys: tuple[HostKey, ...] = ()
    fault: KeyFault | None = None
    got: str = ""
    printing: bool = False


class _NotAKey(Exception):
    """A line that should be one whole key of this host and is not."""

    def __init__(self, fault: KeyFault, got: str) -> None:
        super().__init__(got)
        self.fault = fault
        self.got = got


def parse(log: bytes, host: str) -> Reading:
    """Read the keys that ``host`` printed last.

    Args:
        log: the log, or any tail of it: a block whose beginning is missing is passed over.
        host: the slot's name, which the host bears as its host name.
    """
    blocks, begun = _blocks(_lines(log, host))
    if not blocks:
        return Reading(fault=CUT_OFF if begun else NO_BLOCK, printing=begun)
    try:
        keys = _keys(blocks[-1], host)
    except _NotAKey as error:
        return Reading(fault=error.fault, got=error.got, printing=begun)
    return Reading(keys=keys, printing=begun)


def _lines(log: bytes, host: str) -> Iterator[str]:
    """Lines as the host's programs wrote them. Latin-1 keeps every byte.

    agetty's prompt stays open: whatever is printed next stands behind it.
    """
    text = _KERNEL_LINE.sub("", _INSERTED.sub("", log.decode("latin-1")))
    for line in re.split(r"[\r\n]+", text):
        yield line.removeprefix(f"{host} login: ").strip()


def _blocks(lines: Iterable[str]) -> tuple[list[list[str]], bool]:
    """The blocks with both markers, and whether one more has begun behind them."""
    blocks: list[list[str]] = []
    block: list[str] | None = None
    for line in lines:
        if line == BEGIN:
            block = []
        elif block is None:
            continue
        elif line == END:
            blocks.append(block)
            block = None
        else:
            block.append(line)
    return blocks, block is not None


def _keys(block: Iterable[str], host: str) -> tuple[HostKey, ...]:
    """The keys of a block.

    Raises:
        _NotAKey: a part of a key that is no whole key, a key of another host, two of a type, none.
    """
    found: dict[str, HostKey] = {}
    for line in block:
        if not _PART_OF_A_KEY.search(line):
            continue
        key = _key(line, host)
        if found.setdefault(key.type, key) != key:
            raise _NotAKey(UNREADABLE, f"two different keys of type {key.type}")
    if not found:
        raise _NotAKey(UNREADABLE, "a block without a key")
    return tuple(found[type_] for type_ in KEY_TYPES if type_ in found)


def _key(line: str, host: str) -> HostKey:
    match = _KEY_LINE.fullmatch(line)
    if match is None:
        raise _NotAKey(UNREADABLE, f"a line that is not `type key user@host`: {_short(line)}")
    if match["type"] not in KEY_TYPES:
        raise _NotAKey(UNREADABLE, f"a key of the unknown type {_short(match['type'])}")
    if not _is_key(match["type"], match["key"]):
        raise _NotAKey(UNREADABLE, f"no valid {match['type']} key: {_short(match['key'])}")
    if match["host"].split(".")[0] != host:
        raise _NotAKey(OTHER_HOST, f"a key of {_short(match['host'])}")
    return HostKey(type=match["type"], key=match["key"])


def _is_key(type_: str, key: str) -> bool:
    """Whether the base64 is canonical and its content one whole key of the type it claims."""
    try:
        if base64.b64encode(base64.b64decode(key, validate=True)).decode() != key:
            return False
        load_ssh_public_key(f"{type_} {key}".encode())
    except (ValueError, UnsupportedAlgorithm):
        return False
    return True


def _short(text: str) -> str:
    """As much of foreign text as a message can bear, nothing of it for a terminal to obey."""
    limit = 60
    return ascii(text if len(text) <= limit else f"{text[:limit]}...")[1:-1]
