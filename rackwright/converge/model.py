"""What a converge was, host by host: typed, stored, and the answer of the command."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from rackwright.errors import BAD, GOOD, INCOMPLETE, worst
from rackwright.spec.base import Model

SCHEMA: Literal["rackwright/converge/1"] = "rackwright/converge/1"


class Status(StrEnum):
    """How a host came out of a run."""

    DONE = "done"
    """All its tasks ran."""
    FAILED = "failed"
    """A task failed on it."""
    UNREACHABLE = "unreachable"
    NOT_REACHED = "not-reached"
    """Its tasks were not all begun: its shard was stopped, or the run was."""
    ABSENT = "absent"
    """It has no known key, though it should: nothing was sent to it."""
    HELD = "held"
    """In maintenance, not delivered, or filled on demand: nothing was to be done."""

    @property
    def exit_code(self) -> int:
        """What one such host makes of the answer (docs/architecture.md, exit codes)."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Status.DONE: GOOD,
    Status.FAILED: BAD,
    Status.UNREACHABLE: INCOMPLETE,
    Status.NOT_REACHED: INCOMPLETE,
    Status.ABSENT: INCOMPLETE,
    Status.HELD: GOOD,
}


class Reason(Model):
    """Why a host is not done."""

    task: str
    """Name of the task, with its role; empty where no task was at fault."""
    message: str
    """The cause in one line."""
    hint: str = ""


class Counts(Model):
    """Tasks of one host by their outcome, as Ansible counts them."""

    ok: int = 0
    """Those that changed something included."""
    changed: int = 0
    failed: int = 0
    """Those whose failure the playbook ignores are not."""
    unreachable: int = 0
    skipped: int = 0
    remote: int = 0
    """Tasks that ran on the host itself: fact gathering and handlers included, skipped ones,
    delegated ones and those that Ansible does on the controller not."""


class HostReport(Model):
    """One host."""

    status: Status
    shard: str
    """Empty where nothing was to be done."""
    tasks: Counts
    reason: Reason | None = None


class ShardReport(Model):
    """Hosts that were converged by one runner."""

    phase: str
    hosts: int
    failed: int
    """Hosts with a failed task, or unreachable."""
    stopped: str = ""
    """Why it did not go on to its end; empty where it did."""
    seconds: float


class Totals(Model):
    """Hosts by status, and their tasks."""

    hosts: dict[Status, int]
    tasks: Counts


class ConvergeReport(Model):
    """The whole run."""

    schema_: Annotated[Literal["rackwright/converge/1"], Field(alias="schema")] = SCHEMA
    cluster: str
    plan_sha256: str
    started: str
    """UTC, ISO 8601."""
    seconds: float
    check: bool
    """Whether nothing was to be changed (``--check``)."""
    tags: tuple[str, ...]
    interrupted: bool
    problem: Reason | None
    """What was wrong with the run itself and no host: an inventory that its first play refuses."""
    hosts: dict[str, HostReport]
    shards: dict[str, ShardReport]
    totals: Totals

    @property
    def exit_code(self) -> int:
        """The first of 1, 3 that a host or the run itself calls for, else 0."""
        own = [BAD] if self.problem else []
        return worst([*own, *(host.status.exit_code for host in self.hosts.values())])


def totals(hosts: dict[str, HostReport]) -> Totals:
    """The sums of a report."""
    each = [host.tasks for host in hosts.values()]
    sums = {name: sum(getattr(tasks, name) for tasks in each) for name in Counts.model_fields}
    statuses = [host.status for host in hosts.values()]
    return Totals(hosts={status: statuses.count(status) for status in Status}, tasks=Counts(**sums))
