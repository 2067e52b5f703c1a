"""Codes of GPUs, switches and DCGM in, what they ask for out; the table is data (``data/codes.yaml``).

A code that the table lacks is a fault until somebody has looked. What a driver says itself of the recovery
that it needs counts beside the table, and so does repetition: of all these the most is asked for, so that a
driver's ``None`` takes nothing back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rackwright import strict_yaml
from rackwright.spec.base import Model

_DATA = Path(__file__).with_name("data") / "codes.yaml"
_RECOVERY = "154"


class Action(StrEnum):
    """What is asked for, from least to most."""

    NONE = "none"
    RESTART_APP = "restart-app"
    LOOK = "look"
    UPDATE = "update"
    DRAIN_P2P = "drain-p2p"
    RESET_GPU = "reset-gpu"
    REBOOT = "reboot"
    INSPECT = "inspect"
    ISOLATE = "isolate"


_ORDER = tuple(Action)


class Source(Model):
    """Where an entry was read."""

    text: str
    date: Annotated[str, Field(pattern=r"^\d{4}-\d\d(-\d\d)?$")]
    """Of the text, as far as it is known: year and month, or the day."""
    approximate: bool = False
    """Whether the date is only that of the reading: the text itself may be older."""


class Other(Model):
    """What another source says."""

    source: str
    action: Action
    when: str = ""


class Entry(Model):
    """Codes that ask for the same."""

    codes: tuple[int, ...] = ()
    action: Action
    fatal: bool
    when_fatal: Action | None = None
    """What is asked for where the event says itself that it is fatal."""
    source: str = ""
    disagreements: tuple[Other, ...] = ()

    @model_validator(mode="after")
    def _fatal_asks_for_something(self) -> Self:
        if self.fatal and self.action is Action.NONE:
            msg = f"codes {self.codes} are fatal, and nobody is to do anything"
            raise ValueError(msg)
        return self


class Recovery(Model):
    """Words of Xid 154."""

    source: str
    words: Mapping[str, Action]


class Severities(Model):
    """DCGM's severities, for errors that the table lacks."""

    source: str
    actions: Mapping[int, Action]


class Dcgm(Model):
    """DCGM's error ids."""

    severities: Severities
    errors: tuple[Entry, ...]


class Escalation(Model):
    """More is asked for where a fault comes back."""

    rule: Literal["same-fault-after-reboots", "fatal-in-a-day", "app-error-repeats"]
    action: Action
    source: str
    codes: tuple[int, ...] = ()
    reboots: Annotated[int, Field(ge=1)] | None = None
    events: Annotated[int, Field(ge=1)] | None = None
    window_s: Annotated[int, Field(ge=1)] | None = None


class Codes(Model):
    """The whole table."""

    actions: Mapping[Action, str]
    sources: Mapping[str, Source]
    xid: tuple[Entry, ...]
    sxid: tuple[Entry, ...]
    recovery: Recovery
    fallen_off_bus: Annotated[Entry, Field(alias="fallen-off-bus")]
    unknown: Entry
    dcgm: Dcgm
    escalation: tuple[Escalation, ...]

    def entry(self, kind: str, code: int) -> Entry:
        """What the table says of a code; of one that it lacks, that somebody must look.

        Args:
            kind: ``xid``, ``sxid`` or ``dcgm``.
            code: of the event or error.
        """
        tables = {"xid": self.xid, "sxid": self.sxid, "dcgm": self.dcgm.errors}
        return next((entry for entry in tables[kind] if code in entry.codes), self.unknown)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a log tells of a device."""

    kind: Literal["xid", "sxid", "fallen_off_bus"]
    code: str
    device: str
    at_s: float = 0.0
    """On one clock for all events."""
    text: str = ""
    severity: str = ""
    """``fatal`` or ``nonfatal`` where the event says so."""
    unit: str = ""
    """Part of the device (GPC, TPC, SM) where the event names one."""
    boot: int = 0
    """Which boot of its log it is of, from 0; the last one runs."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a device's events ask for."""

    device: str
    action: Action
    fatal: bool
    because: str
    event: Event
    """The one that decides; of a repetition the last of it."""
    source: str = ""
    """Of the table's sources, the one that says so; empty for what the table lacks."""


@cache
def codes() -> Codes:
    """The table that comes with the package."""
    return Codes.model_validate(strict_yaml.load(_DATA.read_text(encoding="utf-8")))


def asked(
    events: Iterable[Event], table: Codes | None = None, *, boot: int | None = None
) -> tuple[Asked, ...]:
    """What is asked for, of each device the most that any of its events asks for.

    Args:
        events: of a log; those of earlier boots tell what came back, and ask for nothing by themselves.
        table: of codes.
        boot: the one that runs; None for that of the last event.
    """
    known, told = table or codes(), tuple(events)
    running = max((one.boot for one in told), default=0) if boot is None else boot
    devices: dict[str, list[Event]] = {}
    for event in told:
        devices.setdefault(event.device, []).append(event)
    return tuple(
        _of_device(device, found, running, known)
        for device, found in sorted(devices.items())
        if any(one.boot == running for one in found)
    )


def of_dcgm(error_id: int, severity: int | None, table: Codes | None = None) -> tuple[Action, bool]:
    """What an error of DCGM asks for, and whether it is fatal; its id tells more than its severity."""
    known = table or codes()
    entry = known.entry("dcgm", error_id)
    if entry is not known.unknown:
        return entry.action, entry.fatal
    action = known.dcgm.severities.actions.get(severity or 0, known.unknown.action)
    return action, action is not Action.NONE


def rank(action: Action) -> int:
    """Where an action stands between least and most."""
    return _ORDER.index(action)


def _of_device(device: str, events: list[Event], running: int, table: Codes) -> Asked:
    said = [_of_event(event, table) for event in events if event.boot == running]
    repeated = (_escalated(rule, events, running, table) for rule in table.escalation)
    said.extend(filter(None, repeated))
    most = max(said, key=lambda one: (rank(one.action), one.fatal))
    return replace(most, device=device, fatal=any(one.fatal for one in said))


def _of_event(event: Event, table: Codes) -> Asked:
    """One event by itself."""
    if event.kind == "fallen_off_bus":
        return _by(table.fallen_off_bus, event, "it fell off the bus")
    what = f"{event.kind.upper().replace('XID', 'Xid')} {event.code}"
    if event.kind == "xid" and event.code == _RECOVERY:
        return _recovery(event, table)
    entry = table.entry(event.kind, int(event.code))
    if entry.when_fatal is not None and event.severity == "fatal":
        said = replace(_by(entry, event, f"{what}, fatal by its own word"), fatal=True)
        return replace(said, action=entry.when_fatal)
    return _by(entry, event, what + (" (not in the table)" if entry is table.unknown else ""))


def _by(entry: Entry, event: Event, because: str) -> Asked:
    return Asked(event.device, entry.action, entry.fatal, because, event, entry.source)


def _recovery(event: Event, table: Codes) -> Asked:
    """The last word in parentheses is the one that holds now."""
    words = [word for word in table.recovery.words if event.text.rstrip().endswith(f"({word})")]
    if len(words) != 1:
        return replace(_by(table.unknown, event, "Xid 154 in words not known here"), fatal=True)
    action = table.recovery.words[words[0]]
    because = f"the driver asks for it: {words[0]}"
    return Asked(event.device, action, action is not Action.NONE, because, event, table.recovery.source)


def _escalated(rule: Escalation, events: list[Event], running: int, table: Codes) -> Asked | None:
    """What repetition asks for, where what repeats itself has done so in the boot that runs."""
    last, said = _REPEATED[rule.rule](rule, events, running, table)
    return None if last is None else Asked(last.device, rule.action, True, said, last, rule.source)  # noqa: FBT003 (fatal)


_Repeated = tuple[Event | None, str]
"""The last event of a repetition, if there is one, and what is said of it."""


def _after_reboots(rule: Escalation, events: list[Event], running: int, table: Codes) -> _Repeated:
    first: dict[tuple[str, str], int] = {}
    for one in events:
        what = one.kind, one.code
        first[what] = min(one.boot, first.get(what, one.boot))
    again = [
        one
        for one in events
        if one.boot == running and one.boot - first[one.kind, one.code] >= (rule.reboots or 1)
    ]
    fatal = [one for one in again if _of_event(one, table).fatal]
    return (fatal[-1] if fatal else None), f"the same fault after {rule.reboots} reboots"


def _in_a_day(rule: Escalation, events: list[Event], running: int, table: Codes) -> _Repeated:
    fatal = [event for event in events if _of_event(event, table).fatal]
    return _within(fatal, rule, running), f"{rule.events} fatal events within {_hours(rule)} h"


def _on_one_unit(rule: Escalation, events: list[Event], running: int, _: Codes) -> _Repeated:
    places: dict[tuple[str, str], list[Event]] = {}
    for one in events:
        if one.kind == "xid" and one.unit and int(one.code) in rule.codes:
            places.setdefault((one.code, one.unit), []).append(one)
    found = (_within(same, rule, running) for same in places.values())
    return next(
        filter(None, found), None
    ), "an error of programs that comes back on one unit is the hardware's"


_REPEATED: Mapping[str, Callable[[Escalation, list[Event], int, Codes], _Repeated]] = {
    "same-fault-after-reboots": _after_reboots,
    "fatal-in-a-day": _in_a_day,
    "app-error-repeats": _on_one_unit,
}


def _within(events: list[Event], rule: Escalation, running: int) -> Event | None:
    """The last of so many within the window, where it is of the boot that runs."""
    ordered, least = sorted(events, key=lambda one: (one.boot, one.at_s)), rule.events or 1
    spans = zip(ordered, ordered[least - 1 :], strict=False)
    return next(
        (
            last
            for first, last in spans
            if last.boot == running and last.at_s - first.at_s <= (rule.window_s or 0)
        ),
        None,
    )


def _hours(rule: Escalation) -> int:
    return (rule.window_s or 0) // 3600
