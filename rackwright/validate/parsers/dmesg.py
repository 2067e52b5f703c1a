"""The kernel's log: what NVIDIA's drivers say of GPUs (Xid) and of NVSwitches (SXid).

Stamps as dmesg prints them: seconds since boot, ``--ctime``, or ``--time-format iso``; one form in a log.
A line that speaks of an Xid in another form than is known makes the log corrupt. A GPU may fall off the
bus without any Xid (NVSentinel#155); that line is an event of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from rackwright.validate.model import Context, Reading, Unit
from rackwright.validate.parsers.sealing import body_of
from rackwright.validate.parsers.unread import corrupt, incomplete, strict

if TYPE_CHECKING:
    from collections.abc import Iterator

Said: TypeAlias = dict[str, str | int | float]

_STAMPS = tuple(
    map(
        re.compile,
        (
            r"\[ *(?P<stamp>\d+\.\d{6})\] ?",
            r"\[(?P<stamp>[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{4})\] ?",
            r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d) ?",
        ),
    )
)
_BUS = r"(?P<device>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9])?)"
_XID = re.compile(rf"NVRM: Xid \((?:PCI:)?{_BUS}\): (?P<code>\d{{1,3}})(?:, (?P<text>.*))?")
_SXID = re.compile(
    rf"(?:nvidia-)?nvswitch(?P<switch>\d+): SXid \(PCI:{_BUS}\): (?P<code>\d{{4,6}}), "
    r"(?:(?P<severity>Fatal|Non-fatal), )?(?P<text>.*)"
)
_SXID_MORE = re.compile(r".*SXid \(PCI:[0-9a-fA-F:.]+\): \d{4,6}, (?:Severity|Data|Engine) .*")
_OFF = re.compile(r"NVRM: (?:GPU at PCI:|GPU )(?P<device>[0-9a-fA-F:.]+?):? (?P<text>.*fallen off the bus.*)")
_LINK = re.compile(r"\bLink (?:ID )?(\d+)")
_NONFATAL = re.compile(r"\bNon-?fatal\b", re.IGNORECASE)
_FATAL = re.compile(r"\bFatal\b", re.IGNORECASE)
_LONGEST = 200


@strict
def parse(text: str) -> Iterator[Reading]:
    """Each event, and how many there were in a log that is whole."""
    body = body_of(text)
    if not body.lines:
        raise incomplete("a log without a line")
    messages = list(_messages(body.lines))
    events = [event for stamp, message in messages for event in _events(stamp, message)]
    if not events and not body.sealed:
        raise incomplete("no event in a log without its last line: it may have been cut off")
    yield from events
    yield body.reading()
    if body.sealed:
        yield Reading(name="events", value=len(events), unit=Unit.COUNT)


def _messages(lines: list[str]) -> Iterator[tuple[str, str]]:
    form = next((form for form in _STAMPS if lines and form.match(lines[0])), None)
    for number, line in enumerate(lines, 1):
        found = form.match(line) if form else None
        if found is None:
            raise corrupt(f"line {number} has no stamp of the log's form: {line[:80]!r}")
        yield found["stamp"], line[found.end() :]


def _events(stamp: str, message: str) -> Iterator[Reading]:
    if "Xid" not in message:
        if (off := _OFF.search(message)) is not None:
            said: Said = {"device": off["device"].lower(), "at": stamp, **_told(off["text"])}
            yield _event("fallen_off_bus", off["device"].lower(), said)
        return
    if _SXID_MORE.fullmatch(message):
        return
    if (xid := _XID.fullmatch(message)) is not None:
        told = _told(xid["text"] or "")
        yield _event("xid", xid["code"], {"device": xid["device"].lower(), "at": stamp, **told})
    elif (sxid := _SXID.fullmatch(message)) is not None:
        severity = f"{sxid['severity']}, " if sxid["severity"] else ""
        told = {"switch": int(sxid["switch"]), **_told(severity + sxid["text"])}
        yield _event("sxid", sxid["code"], {"device": sxid["device"].lower(), "at": stamp, **told})
    else:
        raise corrupt(f"an Xid in no form that is known here: {message[:80]!r}")


def _event(name: str, value: str, said: Said) -> Reading:
    return Reading(name=name, value=value, unit=Unit.WORD, context=Context(parameters=said))


def _told(text: str) -> Said:
    """What the text of an event says in words that have a meaning."""
    said: Said = {"text": text[:_LONGEST]} if text else {}
    if (link := _LINK.search(text)) is not None:
        said["link"] = int(link[1])
    if _NONFATAL.search(text):
        said["severity"] = "nonfatal"
    elif _FATAL.search(text):
        said["severity"] = "fatal"
    return said
