"""Preview, up, refresh and destroy of one stack by the real engine, each ending in a `Report`.

The engine's text is for its log alone: what failed is read from the stack's state, where the
provider has noted it slot by slot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pulumi.automation import CommandError, ConcurrentUpdateError

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit, Failure, Interrupted
from rackwright.provision import locks
from rackwright.provision.report import Report
from rackwright.provision.stacks import open_stack

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwright.plan.model import Plan
    from rackwright.provision.places import Folders
    from rackwright.provision.stacks import Open, StackName


class Operation(StrEnum):
    """What to do with a stack."""

    PREVIEW = "preview"
    UP = "up"
    REFRESH = "refresh"
    DESTROY = "destroy"


@dataclass(frozen=True, slots=True)
class Ways:
    """How progress is told."""

    tell: Callable[[str], None]


def operate(operation: Operation, name: StackName, plan: Plan, folders: Folders, ways: Ways) -> Report:
    """Run one operation on one stack.

    Hosts that fail are noted in the report; the others are brought up.

    Raises:
        EnvironmentUnfit: the stack is held by another run, or the engine could not run at all.
        Interrupted: stopped by the user; hosts that were begun are finished and noted.
    """
    opened = open_stack(name, plan, folders)
    _clear_dead_locks(opened, ways)
    report = Report(name)
    log = folders.state / "log" / f"{name.project}-{name.stack}-{operation.value}.txt"
    error = _run(operation, opened, report, ways)
    canonical.write_atomic(log, str(error) if error else "ok\n", mode=0o600)
    if opened.command.interrupted:
        raise Interrupted(
            f"{operation.value} of {name} was stopped; hosts that were begun are finished",
            hint="the same command goes on from here",
        )
    if operation is not Operation.PREVIEW:
        report.settle(opened.stack.export_stack().deployment)
    if error is not None and not report.failures:
        report.failures = (_failure(name, error, str(log)),)
    return report


def _run(operation: Operation, opened: Open, report: Report, ways: Ways) -> CommandError | None:
    """The operation itself; returned is what the engine could not do."""

    def take(event: object) -> None:
        seen = set(report.changes)
        report.take(event)  # type: ignore[arg-type]  # (the SDK's callback is typed by its own event)
        for change in report.changes:
            if change not in seen:
                ways.tell(f"  {change}")

    try:
        match operation:
            case Operation.PREVIEW:
                opened.stack.preview(on_event=take)
            case Operation.UP:
                opened.stack.up(on_event=take, continue_on_error=True)
            case Operation.REFRESH:
                opened.stack.refresh(on_event=take)
            case Operation.DESTROY:
                opened.stack.destroy(on_event=take, continue_on_error=True)
    except ConcurrentUpdateError as error:
        raise _held(opened, error) from None
    except CommandError as error:
        return error
    return None


def _clear_dead_locks(opened: Open, ways: Ways) -> None:
    for holder in locks.release_dead(opened.folders.state, opened.name.project, opened.name.stack):
        ways.tell(f"{opened.name}: released the lock of {holder}: that process is gone")


def _held(opened: Open, error: ConcurrentUpdateError) -> EnvironmentUnfit:
    there = locks.holders(opened.folders.state, opened.name.project, opened.name.stack)
    return EnvironmentUnfit(
        "another run is at work on this stack",
        code="UP003",
        where=str(opened.name),
        got="; ".join(map(str, there)) or str(error).strip().splitlines()[-1],
        expected="a stack that nobody holds",
        hint=f"wait for it, or, if it is dead on another machine: pulumi cancel --stack {opened.name.stack}",
    )


_DIAGNOSIS = re.compile(r"^\s*error: (?P<said>.+)$", re.MULTILINE)


def _failure(name: StackName, error: CommandError, log: str) -> Failure:
    """The stack itself failed, before any host was noted: the engine's own last word."""
    said = [match["said"] for match in _DIAGNOSIS.finditer(str(error))]
    cause = said[0] if said else str(error).strip().splitlines()[-1]
    return Failure(str(name), "UP004", cause, f"all that the engine said is in {log}")
