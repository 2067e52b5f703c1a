"""A last line that says how long an output is, for formats that do not tell when something is missing.

Who collects such an output on a host adds it, as `seal` does::

    # rackwright: end of output, 120 lines, crc32 2774532101

An output without it may be read, and says of itself that it is not sealed: what it does not show may
have been cut off, so its silence is no evidence.
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

from rackwright.validate.model import Reading, Unit
from rackwright.validate.parsers.unread import corrupt

SEAL = re.compile(r"# rackwright: end of output, (\d{1,15}) lines, crc32 (\d{1,10})\n")
MARK = "# rackwright:"


class Body(NamedTuple):
    """An output without its seal."""

    lines: list[str]
    sealed: bool

    def reading(self) -> Reading:
        """Whether it was sealed."""
        return Reading(name="sealed", value=self.sealed, unit=Unit.YES_NO)


def seal(text: str) -> str:
    """The output with its last line."""
    body = text if text.endswith("\n") or not text else text + "\n"
    return (
        body
        + f"# rackwright: end of output, {body.count(chr(10))} lines, crc32 {zlib.crc32(body.encode())}\n"
    )


def body_of(text: str) -> Body:
    """The lines of an output.

    Raises:
        Unread: it has a seal, or a part of one, that does not fit it.
    """
    if MARK[:3] not in text[-len(MARK) * 8 :] or MARK not in text:
        return Body(text.splitlines(), sealed=False)
    end = text.rfind("\n", 0, -1) + 1
    body, last = text[:end], text[end:]
    found = SEAL.fullmatch(last)
    if found is None or int(found[1]) != body.count("\n") or int(found[2]) != zlib.crc32(body.encode()):
        raise corrupt("its last line does not fit it: something was cut off or changed")
    return Body(body.splitlines(), sealed=True)
