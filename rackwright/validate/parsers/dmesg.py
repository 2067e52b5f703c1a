"""The kernel's log: what NVIDIA's drivers say of GPUs (Xid) and of NVSwitches (SXid).

Stamps as dmesg prints them: seconds since boot, ``--ctime``, or ``--time-format iso``; or as ``journalctl
--output=short-iso-precise`` does, which keeps the logs of earlier boots and marks where one begins. One form
in a log.
A line that speaks of an Xid in another form than is known makes the log corrupt. A GPU may fall off the
bus without any Xid (NVSentinel#155); that line is an event of its own. Further lines of one message have no
stamp; dmesg indents them by its width. Of events that are alike the first
and the last `KEPT` are told, and all are counted.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from rackwright.validate.model import Context, Event, Reading, Unit
from rackwright.validate.parsers.flow import log
from rackwright.validate.parsers.unread import corrupt, incomplete

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwright.validate.parsers.flow import Flow

Said: TypeAlias = dict[str, str | int | float]

_STAMPS = tuple(
    re.compile(f"^{form}", re.MULTILINE)
    for form in (
        r"\[ *(?P<stamp>\d{1,10}\.\d{6})\] ?",
        r"\[(?P<stamp>[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]\d \d\d:\d\d:\d\d \d{4})\] ?",
        r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}[+-]\d\d:\d\d) ?",
        r"(?P<stamp>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:?\d\d) \S+ [^:\n]{1,64}: ?",
    )
)
_OF_JOURNAL = 3
_BOOT = re.compile(r"^-- (?:Boot [0-9a-f]{32}|Reboot) --$", re.MULTILINE)
"""Between the logs of two boots; the form without an id is that of systemd before 249."""
_BEGINS = re.compile(r"-- (?:Journal begins|Logs begin) at .* --")
_FURTHER = re.compile(r" {13,}")
"""No stamp is shorter."""
_CLOCKS: tuple[Callable[[str], float], ...] = (
    float,
    lambda stamp: datetime.strptime(stamp, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp(),
    lambda stamp: datetime.fromisoformat(stamp.replace(",", ".")).timestamp(),
    lambda stamp: datetime.fromisoformat(stamp).timestamp(),
)
"""Of each form seconds, on one clock for all of a log; ``--ctime`` does not name its zone."""
_BUS = r"(?P<device>[0-9a-fA-F]{4}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-9])?)"
_XID = re.compile(rf"NVRM: Xid \((?:PCI:)?{_BUS}\): (?P<code>\d{{1,3}})(?:, (?P<text>.*))?")
_SXID = re.compile(
    rf"(?:nvidia-)?nvswitch(?P<switch>\d{{1,6}}): SXid \(PCI:{_BUS}\): (?P<code>\d{{4,6}}), "
    r"(?:(?P<severity>Fatal|Non-fatal), )?(?P<text>.*)"
)
_SXID_MORE = re.compile(r".*SXid \(PCI:[0-9a-fA-F:.]+\): \d{4,6}, (?:Severity|Data|Engine) .*")
_OFF = re.compile(r"NVRM: (?:GPU at PCI:|GPU )(?P<device>[0-9a-fA-F:.]+?):? (?P<text>.*fallen off the bus.*)")
_LINK = re.compile(r"\bLink (?:ID )?(\d{1,6})")
_NONFATAL = re.compile(r"\bNon-?fatal\b", re.IGNORECASE)
_FATAL = re.compile(r"\bFatal\b", re.IGNORECASE)
_UNIT = re.compile(r"\bGPC ?(\d{1,3})(?:,? ?TPC ?(\d{1,3}))?(?:,? ?SM ?(\d{1,3}))?")
_ASKS = re.compile(r"\([A-Za-z0-9 ]{1,40}\)$")
"""The last word of Xid 154: what the driver asks for."""
_LONGEST = 200
KEPT = 100
"""Of events that are alike, from the first on and up to the last; those between are only counted."""
_SIGNS = ("Xid", "fallen off the bus")
"""Without one of them a line tells of no event."""


@dataclass
class _Alike:
    """Events of one code on one device, as far as they are kept."""

    first: list[Reading] = field(default_factory=list)
    last: deque[Reading] = field(default_factory=lambda: deque(maxlen=KEPT))

    def add(self, event: Reading) -> None:
        (self.first if len(self.first) < KEPT else self.last).append(event)


@dataclass
class _Boots:
    """Boots of a log that tells of several.

    Args:
        are_told: whether it is of that form.
        before: how many ended within it so far.
    """

    are_told: bool = False
    before: int = 0


@log
def parse(flow: Flow) -> Iterator[Reading]:
    """Each event, and how many there were in a log that is whole."""
    kept: dict[tuple[object, ...], _Alike] = {}
    count = 0
    boots = _Boots()
    for event in _all_events(flow, boots):
        count += 1
        kept.setdefault(_kind(event), _Alike()).add(event)
    if not count and not flow.sealed:
        raise incomplete("no event in a log without its last line: it may have been cut off")
    events = [event for alike in kept.values() for event in (*alike.first, *alike.last)]
    yield from sorted(events, key=lambda event: float(event.context.parameters["at_s"]))
    yield flow.reading()
    if boots.are_told:
        yield Reading(name="boots", value=boots.before + 1, unit=Unit.COUNT)
    if flow.sealed:
        yield Reading(name="events", value=count, unit=Unit.COUNT)


def _kind(event: Reading) -> tuple[object, ...]:
    said = event.context.parameters
    asks = _ASKS.search(str(said.get("text", "")))
    return (
        event.name,
        event.value,
        asks and asks[0],
        *(said.get(name) for name in ("device", "severity", "unit", "link", "boot")),
    )


def _all_events(flow: Flow, boots: _Boots) -> Iterator[Reading]:
    form, before, stamp = -1, 0, ""
    for block in flow.blocks():
        lines = block.splitlines()
        if not before and _BEGINS.fullmatch(lines[0]):
            lines = lines[1:]
            before += 1
        if form < 0 and lines:
            form = _form(lines[0])
            boots.are_told = form == _OF_JOURNAL
        _check_stamps(form, block, lines, before)
        if any(sign in block for sign in _SIGNS):
            yield from _of_lines(form, lines, stamp, boots)
        elif boots.are_told:
            boots.before += len(_BOOT.findall(block))
        stamp = next(
            (found["stamp"] for line in reversed(lines) if (found := _STAMPS[form].match(line))), stamp
        )
        before += len(lines)
    if not before:
        raise incomplete("a log without a line")


def _form(first: str) -> int:
    """Of a log, by its first line."""
    return next((place for place, one in enumerate(_STAMPS) if one.match(first)), -1)


def _check_stamps(form: int, block: str, lines: list[str], before: int) -> None:
    """Every line has a stamp; looked for one by one only where their number is another."""
    if form >= 0 and len(_STAMPS[form].findall(block)) == len(lines):
        return
    for number, line in enumerate(lines, before + 1):
        known = form >= 0 and (_STAMPS[form].match(line) or (number > 1 and _FURTHER.match(line)))
        if not (known or (form == _OF_JOURNAL and number > 1 and _BOOT.fullmatch(line))):
            raise corrupt(f"line {number} has no stamp of the log's form: {line[:80]!r}")


def _of_lines(form: int, lines: list[str], stamp: str, boots: _Boots) -> Iterator[Reading]:
    """Events of lines; a further line of a message has the stamp of its first."""
    for line in lines:
        if boots.are_told and _BOOT.fullmatch(line):
            boots.before += 1
        found = _STAMPS[form].match(line)
        stamp = found["stamp"] if found else stamp
        if any(sign in line for sign in _SIGNS):
            message = line[found.end() :] if found else line.lstrip()
            for event in _events(stamp, _seconds(form, stamp), message):
                yield _of_boot(event, boots) if boots.are_told else event


def _of_boot(event: Reading, boots: _Boots) -> Reading:
    said = Context(parameters={**event.context.parameters, "boot": boots.before})
    return event.model_copy(update={"context": said})


def _seconds(form: int, stamp: str) -> float:
    try:
        return _CLOCKS[form](stamp)
    except ValueError:
        raise corrupt(f"{stamp!r} is no time") from None


def _events(stamp: str, at_s: float, message: str) -> Iterator[Reading]:
    if "Xid" not in message:
        if (off := _OFF.search(message)) is not None:
            said: Said = {"device": off["device"].lower(), "at": stamp, "at_s": at_s, **_told(off["text"])}
            yield _event(Event.FALLEN_OFF_BUS, off["device"].lower(), said)
        return
    if _SXID_MORE.fullmatch(message):
        return
    if (xid := _XID.fullmatch(message)) is not None:
        told = _told(xid["text"] or "")
        yield _event(
            Event.XID, xid["code"], {"device": xid["device"].lower(), "at": stamp, "at_s": at_s, **told}
        )
    elif (sxid := _SXID.fullmatch(message)) is not None:
        severity = f"{sxid['severity']}, " if sxid["severity"] else ""
        told = {"switch": int(sxid["switch"]), **_told(severity + sxid["text"])}
        yield _event(
            Event.SXID, sxid["code"], {"device": sxid["device"].lower(), "at": stamp, "at_s": at_s, **told}
        )
    else:
        raise corrupt(f"an Xid in no form that is known here: {message[:80]!r}")


def _event(name: Event, value: str, said: Said) -> Reading:
    return Reading(name=name.value, value=value, unit=Unit.WORD, context=Context(parameters=said))


def _told(text: str) -> Said:
    """What the text of an event says in words that have a meaning."""
    said: Said = {"text": text[:_LONGEST]} if text else {}
    if (link := _LINK.search(text)) is not None:
        said["link"] = int(link[1])
    if (unit := _UNIT.search(text)) is not None:
        parts = zip(("GPC", "TPC", "SM"), unit.groups(), strict=True)
        said["unit"] = " ".join(f"{name} {number}" for name, number in parts if number)
    if _NONFATAL.search(text):
        said["severity"] = "nonfatal"
    elif _FATAL.search(text):
        said["severity"] = "fatal"
    return said
