"""Output of ``lspci -D -vv``: width and speed of each PCIe link, and which bridges have ACS on.

ACS on a bridge sends what one device means for another through the root (NVIDIA/nccl#489). Without the
rights of root lspci shows no capabilities, and says so.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:]+): .+")
_WORD = r"(?: \((?:ok|downgraded|overdriven|strange)\))?"
_CAPABLE = re.compile(r"\s+LnkCap:\s+Port #\d+, Speed ([\d.]+)GT/s, Width x(\d+),.*")
_STATE = re.compile(rf"\s+LnkSta:\s+Speed ([\d.]+)GT/s({_WORD}), Width x(\d+)({_WORD}).*")
_ACS = re.compile(r"\s+ACSCtl:\s+((?:[A-Za-z]+[+-] ?)+)")
_REDIRECTING = frozenset({"SrcValid+", "ReqRedir+", "CmpltRedir+", "UpstreamFwd+"})
_DENIED = "<access denied>"
_LINES = ("LnkCap:", "LnkSta:", "ACSCtl:")


@strict
def parse(text: str) -> Iterator[Reading]:
    """Width, speed (GT/s) and what they could be, of each device with a link; ACS of each bridge with it."""
    body = body_of(text)
    if _DENIED in text:
        raise incomplete("capabilities are only shown to root")
    devices: dict[str, tuple[str, list[str]]] = {}
    lines: list[str] | None = None
    for number, line in enumerate(body.lines, 1):
        head = _HEAD.fullmatch(line)
        if head is not None:
            if head[1] in devices:
                raise corrupt(f"{head[1]} stands twice")
            lines = []
            devices[head[1]] = (head[2], lines)
        elif lines is None or (line.strip() and not line[0].isspace()):
            raise corrupt(f"line {number} is not understood: {line[:80]!r}")
        else:
            lines.append(line)
    for address, (kind, found) in devices.items():
        yield from _readings(address, kind, found)
    yield body.reading()


def _one(form: re.Pattern[str], word: str, lines: list[str], address: str) -> re.Match[str] | None:
    """The one line of a kind; a line of that kind in another form is not understood."""
    having = [line for line in lines if line.strip().startswith(word)]
    found = [match for line in having if (match := form.fullmatch(line))]
    if len(having) > 1 or len(found) != len(having):
        raise corrupt(f"{address}: {word} in no form that is known here")
    return found[0] if found else None


def _readings(address: str, kind: str, lines: list[str]) -> Iterator[Reading]:
    context = Context(parameters={"device": address, "kind": kind})
    capable, state, acs = (
        _one(form, word, lines, address) for form, word in zip((_CAPABLE, _STATE, _ACS), _LINES, strict=True)
    )
    if (capable is None) != (state is None):
        raise incomplete(f"{address}: a link of which one line is missing")
    if capable is not None and state is not None:
        width, speed = int(state[3]), float(state[1])
        most_width, most_speed = int(capable[2]), float(capable[1])
        _agree(address, (width < most_width, state[4]), (speed < most_speed, state[2]))
        for name, value in (
            ("width", width),
            ("width_most", most_width),
            ("speed", speed),
            ("speed_most", most_speed),
        ):
            yield Reading(name=f"pcie_{name}", value=value, unit=Unit.COUNT, context=context)
    if acs is not None:
        on = not _REDIRECTING.isdisjoint(acs[1].split())
        yield Reading(name="acs", value=on, unit=Unit.YES_NO, context=context)


def _agree(address: str, *found: tuple[bool, str]) -> None:
    """What lspci says of a link in words is what its figures say, where it says anything."""
    for lower, word in found:
        if word and lower != ("downgraded" in word):
            raise corrupt(f"{address}: a link that is{word} by its word and not by its figures")
