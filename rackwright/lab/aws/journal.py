"""Calls that changed something, in their order: what a new process does again, it has the same ids.

A call is written before it is answered. One that was cut off before its answer is done again as a new
one: its client has heard nothing. Standard library only.
"""

from __future__ import annotations

import base64
import errno
import json
import os
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

GOOD_BELOW = 400
"""HTTP status of a call that was not refused."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it came.

    Args:
        number: from 1; seeds its ids.
        at: when.
        headers: as far as they tell service and region.
        body: of the request.
        status: of the answer; 0 where there was none.
        refused: instance id → code and reason, of machines that did not start.
    """

    number: int
    at: datetime
    headers: Mapping[str, str]
    body: bytes
    status: int = 0
    refused: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class Journal:
    """The file of one emulator; only one process writes it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._count = 0

    def read(self) -> Iterator[Call]:
        """All calls that were not refused, and the last one if it was cut off."""
        begun: dict[int, Call] = {}
        for line in self._lines():
            number = line["number"]
            if "body" in line:
                begun[number] = _call(line)
                self._count = number
            else:
                status, refused = line["status"], {key: tuple(why) for key, why in line["refused"].items()}
                begun[number] = Call(
                    number, begun[number].at, begun[number].headers, begun[number].body, status, refused
                )
        for call in begun.values():
            if call.status < GOOD_BELOW:
                yield call

    def begin(self, at: datetime, headers: Mapping[str, str], body: bytes) -> int:
        """Write down a call that is about to be answered; its number is returned."""
        self._count += 1
        text = base64.b64encode(body).decode()
        self._append({"number": self._count, "at": at.isoformat(), "headers": dict(headers), "body": text})
        return self._count

    def end(self, number: int, status: int, refused: Mapping[str, tuple[str, str]]) -> None:
        """Write down how it was answered."""
        self._append({"number": number, "status": status, "refused": refused})

    def _append(self, plain: Mapping[str, object]) -> None:
        """One whole line or none: a full disk takes the part of it that still has room."""
        line = json.dumps(plain, sort_keys=True).encode() + b"\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(handle).st_size
            if os.write(handle, line) < len(line):
                os.ftruncate(handle, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        finally:
            os.close(handle)

    def _lines(self) -> Iterator[dict[str, Any]]:
        """Whole lines; a crash may have cut the last one."""
        try:
            text = self._path.read_bytes()
        except FileNotFoundError:
            return
        whole, _, cut = text.rpartition(b"\n")
        if cut:
            os.truncate(self._path, len(whole) + 1 if whole else 0)
        for line in whole.splitlines():
            yield json.loads(line)


def _call(line: dict[str, Any]) -> Call:
    return Call(
        number=line["number"],
        at=datetime.fromisoformat(line["at"]),
        headers=line["headers"],
        body=base64.b64decode(line["body"]),
    )
