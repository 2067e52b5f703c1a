"""Results of a converge in check mode in, `Difference`s out: what is otherwise on hosts than intended.

A module of ours says what differs under ``drift``; of all others what they would change is read, their
``diff`` first. Of a result nothing passes but this: a text that a module keeps secret stays hidden.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationError

from rackwright.converge.events import Outcome, TaskEvent
from rackwright.converge.model import Reason, Status
from rackwright.errors import BAD, GOOD, worst
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from typing import Any

    from rackwright.converge.model import ConvergeReport

SCHEMA: Literal["rackwright/drift/1"] = "rackwright/drift/1"
VARIABLE = "rackwright_drift"
"""Extra variable of such a run: proofs look at what is live, and tell instead of failing."""
ABSENT = "absent"
_SHOWN = 160
"""Characters of a line that is named."""


class Kind(StrEnum):
    """What differs."""

    FILE = "file"
    PACKAGE = "package"
    UNIT = "unit"
    SYSCTL = "sysctl"
    LIMIT = "limit"
    MODULE = "module"
    CMDLINE = "cmdline"
    NAMESPACE = "namespace"
    STATE = "state"
    """A proof of a role that does not hold."""
    TASK = "task"
    """Anything else that a task would change, or that kept it from looking."""


class Difference(Model):
    """One thing on one host."""

    host: str
    kind: Kind
    subject: str
    """Path, unit, package, sysctl, or the name of a proof or task."""
    intended: str
    observed: str
    role: str
    hint: str = ""
    diff: str = ""
    """Unified, from what is there to what is intended; of a file that is no secret."""


class _Told(Model):
    """A difference as a module tells it."""

    kind: str
    subject: str
    intended: str
    observed: str
    hint: str = ""


class HostState(Model):
    """How far a host was looked at."""

    status: Status
    reason: Reason | None = None


class DriftReport(Model):
    """The whole answer."""

    schema_: Annotated[Literal["rackwright/drift/1"], Field(alias="schema")] = SCHEMA
    cluster: str
    plan_sha256: str
    started: str
    """UTC, ISO 8601."""
    seconds: float
    interrupted: bool
    problem: Reason | None
    drift: tuple[Difference, ...]
    hosts: dict[str, HostState]

    @property
    def exit_code(self) -> int:
        """1 where anything differs, 3 where a host could not be looked at, else 0."""
        own = [BAD] if self.drift or self.problem else [GOOD]
        return worst([*own, *(host.status.exit_code for host in self.hosts.values())])


def reported(report: ConvergeReport, found: Sequence[Difference]) -> DriftReport:
    """What a converge in check mode has found."""
    return DriftReport(
        cluster=report.cluster,
        plan_sha256=report.plan_sha256,
        started=report.started,
        seconds=report.seconds,
        interrupted=report.interrupted,
        problem=report.problem,
        drift=tuple(sorted(found, key=lambda one: (one.host, one.kind, one.subject))),
        hosts={
            name: HostState(status=host.status, reason=host.reason) for name, host in report.hosts.items()
        },
    )


def differences(event: TaskEvent, result: object) -> list[Difference]:
    """What one task found on one host.

    Args:
        event: that the task has ended.
        result: as the runner's event has it (``event_data.res``): never trusted to have any form.
    """
    if event.delegated:
        return []  # the controller's own: the run's problem, no host's
    if event.outcome is Outcome.FAILED and event.cause:
        told = _Told(
            kind=Kind.TASK,
            subject=event.task,
            intended="can be brought about",
            observed=event.cause.message,
            hint=event.cause.hint,
        )
        return [_difference(event, told)]
    if event.outcome not in (Outcome.OK, Outcome.CHANGED) or not isinstance(result, Mapping):
        return []
    if isinstance(result.get("drift"), list):
        return [_difference(event, one) for one in _told(result["drift"])]
    if (settings := _settings(result.get("stdout"))) is not None:
        return [_difference(event, one) for one in _of_settings(settings)]
    return list(_of_change(event, result)) if event.outcome is Outcome.CHANGED else []


@dataclass
class Found:
    """Differences so far; shards add to it from threads of their own."""

    differences: list[Difference] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, event: TaskEvent, result: object) -> None:
        """Add what one task found; as `converge` calls its ``on_result``."""
        with self._lock:
            self.differences += differences(event, result)


def _told(entries: Sequence[object]) -> Iterator[_Told]:
    for entry in entries:
        try:
            yield _Told.model_validate(entry)
        except ValidationError:
            yield _Told(kind=Kind.TASK, subject=_line(str(entry)), intended="", observed="")


class _Setting(Model):
    """A kernel setting as `kernel_tuning` tells of it."""

    setting: str
    wanted: str
    now: str
    state: str


class _Settings(Model):
    """What `kernel_tuning` prints: what it would change, and what is of each setting."""

    changed: list[str]
    """``sysctl vm.swappiness: 60 becomes 0``."""
    states: list[_Setting]


_AMISS = frozenset({"reboot", "refused"})
"""States in which a setting is not live though the kernel has it."""
_CHANGE = re.compile(r"(?P<setting>.+?): (?P<now>.+) becomes (?P<wanted>.+)")
_KINDS = {
    "sysctl": Kind.SYSCTL,
    "limits": Kind.LIMIT,
    "load_modules": Kind.MODULE,
    "module_options": Kind.MODULE,
    "cmdline": Kind.CMDLINE,
}


def _settings(stdout: object) -> _Settings | None:
    """None where a task prints something else."""
    try:
        return _Settings.model_validate_json(stdout) if isinstance(stdout, str) else None
    except ValidationError:
        return None


def _of_settings(found: _Settings) -> Iterator[_Told]:
    for change in found.changed:
        match = _CHANGE.fullmatch(change)
        said = match.groupdict() if match else {"setting": change, "wanted": "nothing to do", "now": ""}
        yield _of_setting(said["setting"], said["wanted"], said["now"])
    for one in found.states:
        if one.state in _AMISS:
            yield _of_setting(one.setting, one.wanted, one.now)


def _of_setting(setting: str, wanted: str, now: str) -> _Told:
    word, _, name = setting.partition(" ")
    kind = _KINDS.get(word)
    return _Told(kind=kind or Kind.STATE, subject=name if kind else setting, intended=wanted, observed=now)


def _difference(event: TaskEvent, told: _Told, diff: str = "") -> Difference:
    kind = Kind(told.kind) if told.kind in set(Kind) else Kind.TASK
    return Difference(
        host=event.host,
        kind=kind,
        subject=told.subject,
        intended=_line(told.intended),
        observed=_line(told.observed),
        role=event.role,
        hint=told.hint,
        diff=diff,
    )


def _of_change(event: TaskEvent, result: Mapping[str, Any]) -> Iterator[Difference]:
    """What a task would change: by its diff, by its list of changes, else the task itself."""
    diff = result.get("diff")
    entries = [one for one in (diff if isinstance(diff, list) else [diff]) if isinstance(one, Mapping)]
    files = [one for one in entries if "before" in one and "after" in one]
    changes = result.get("changes")
    if files:
        yield from (_of_file(event, one) for one in files)
    elif isinstance(changes, list) and changes:
        yield from (_of_task(event, _line(str(change))) for change in changes)
    else:
        yield _of_task(event, str(result.get("did") or "would change"))


def _of_task(event: TaskEvent, observed: str) -> Difference:
    told = _Told(kind=Kind.TASK, subject=event.task, intended="nothing to do", observed=observed)
    return _difference(event, told)


def _of_file(event: TaskEvent, entry: Mapping[str, Any]) -> Difference:
    path = str(entry.get("before_header") or entry.get("after_header") or event.task)
    before, after = str(entry["before"] or ""), str(entry["after"] or "")
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="", n=1))
    told = _Told(
        kind=Kind.FILE,
        subject=path,
        intended=_first(lines, "+") or (ABSENT if not after else "the line is not there"),
        observed=_first(lines, "-") or (ABSENT if not before else "the line is not there"),
    )
    return _difference(event, told, diff="\n".join(lines))


def _first(lines: Sequence[str], sign: str) -> str:
    """The first line of a unified diff on one side; its two headers are passed over."""
    return next((line[1:].strip() for line in lines[2:] if line.startswith(sign) and line[1:].strip()), "")


def _line(text: str) -> str:
    """As much as a line can bear, nothing of it for a terminal to obey."""
    plain = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
    return plain if len(plain) <= _SHOWN else f"{plain[: _SHOWN - 1]}…"
