"""Ansible-runner's events in, ours out: what became of one task on one host, without its result.

A result may hold anything, a secret too: only its outcome and the one line of its cause pass here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rackwright.converge.causes import Cause, cause
from rackwright.converge.model import Status
from rackwright.spec.base import Model

if TYPE_CHECKING:
    from typing import Any

SCHEMA: Literal["rackwright/converge-event/1"] = "rackwright/converge-event/1"


class Outcome(StrEnum):
    """Of a task on a host."""

    OK = "ok"
    CHANGED = "changed"
    FAILED = "failed"
    IGNORED = "ignored"
    """Failed, and the playbook goes on."""
    UNREACHABLE = "unreachable"
    SKIPPED = "skipped"


class TaskEvent(Model):
    """One task ended on one host; a line of ``events.jsonl``."""

    schema_: Annotated[Literal["rackwright/converge-event/1"], Field(alias="schema")] = SCHEMA
    at: str
    """UTC, ISO 8601."""
    shard: str
    host: str
    role: str
    """Empty for a task of the playbook itself."""
    task: str
    action: str
    """Module, by its full name."""
    outcome: Outcome
    remote: bool
    """Whether the task ran on the host itself."""
    delegated: bool
    """Whether it ran elsewhere for the host."""
    seconds: float | None
    cause: Cause | None
    """Of a failure."""


_OUTCOMES = {
    "runner_on_ok": Outcome.OK,
    "runner_on_failed": Outcome.FAILED,
    "runner_on_unreachable": Outcome.UNREACHABLE,
    "runner_on_skipped": Outcome.SKIPPED,
}
_ON_THE_CONTROLLER = frozenset(
    f"ansible.builtin.{action}"
    for action in (
        "add_host",
        "assert",
        "debug",
        "fail",
        "group_by",
        "import_playbook",
        "import_role",
        "import_tasks",
        "include_role",
        "include_tasks",
        "include_vars",
        "meta",
        "pause",
        "set_fact",
        "set_stats",
        "validate_argument_spec",
    )
)
"""Actions that send nothing to the host (ansible-core 2.19, plugins/action)."""


def task_event(raw: Mapping[str, Any], shard: str) -> TaskEvent | None:
    """The event of a task that has ended on a host; None for all others."""
    outcome = _OUTCOMES.get(str(raw.get("event")))
    data = raw.get("event_data")
    if outcome is None or not isinstance(data, Mapping):
        return None
    outcome, why = _judged(outcome, data)
    delegated = _is_delegated(data)
    return TaskEvent(
        at=str(raw.get("created", "")),
        shard=shard,
        host=str(data["host"]),
        role=str(data.get("role") or ""),
        task=str(data.get("task") or ""),
        action=_action(data),
        outcome=outcome,
        remote=outcome is not Outcome.SKIPPED and _action(data) not in _ON_THE_CONTROLLER and not delegated,
        delegated=delegated,
        seconds=_seconds(data),
        cause=why,
    )


def _judged(outcome: Outcome, data: Mapping[str, Any]) -> tuple[Outcome, Cause | None]:
    result = data.get("res")
    if outcome is Outcome.OK:
        changed = isinstance(result, Mapping) and bool(result.get("changed"))
        return (Outcome.CHANGED if changed else outcome), None
    if outcome is Outcome.SKIPPED:
        return outcome, None
    if data.get("ignore_errors"):
        return Outcome.IGNORED, cause(result, Status.FAILED)
    why = cause(result, Status.UNREACHABLE if outcome is Outcome.UNREACHABLE else Status.FAILED)
    return Outcome(why.status.value), why


def _action(data: Mapping[str, Any]) -> str:
    return str(data.get("resolved_action") or data.get("task_action") or "")


def _is_delegated(data: Mapping[str, Any]) -> bool:
    result = data.get("res")
    return isinstance(result, Mapping) and bool(result.get("_ansible_delegated_vars"))


def _seconds(data: Mapping[str, Any]) -> float | None:
    duration = data.get("duration")
    return round(float(duration), 3) if isinstance(duration, (int, float)) else None
