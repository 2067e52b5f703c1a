"""What `preview`, `up`, `refresh` and `destroy` share: the plan that counts, and the answer."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from shlex import quote
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli.cluster import open_cluster
from rackwright.errors import (
    BAD,
    GOOD,
    INCOMPLETE,
    NotProvisionable,
    PlanStale,
    SubjectFailed,
    UsageError,
    worst,
)
from rackwright.provision import jobs
from rackwright.provision.aws.identity import require_accounts
from rackwright.provision.keys import login_public_key
from rackwright.provision.locks import at_work
from rackwright.provision.onprem.failures import ANOTHER_MACHINE
from rackwright.provision.operate import Operation, operate
from rackwright.provision.places import Folders
from rackwright.provision.plan_file import read as read_plan
from rackwright.provision.stacks import chosen, zones
from rackwright.render import boot
from rackwright.visible import visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.plan.model import Plan
    from rackwright.provision.report import Report
    from rackwright.provision.stacks import StackName

SCHEMA = "rackwright/stacks/1"


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan that is as its spec says, and the stacks of it that a user chose."""

    plan: Plan
    stacks: Sequence[StackName]
    folders: Folders

    def at_work(self) -> AbstractContextManager[None]:
        """Be the one run that is at work on the cluster.

        Raises:
            EnvironmentUnfit: another one is.
        """
        return at_work(self.folders.state)

    def write(self) -> None:
        """Write the plan where stacks read it, for who is at work."""
        canonical.write_atomic(self.folders.plan, canonical.dumps(self.plan))

    def show(self) -> None:
        """Write the plan for who only looks; who is at work by the same one has written it already.

        Raises:
            EnvironmentUnfit: somebody is at work by another plan.
        """
        text = canonical.dumps(self.plan).encode()
        if not self.folders.plan.is_file() or self.folders.plan.read_bytes() != text:
            with self.at_work():
                self.write()

    def lay_out(self) -> None:
        """Write the plan, and what hosts that are powered on then boot from, for who is at work."""
        self.write()
        key = login_public_key(self.folders.secrets)
        boot.write(self.plan, self.folders.state / "boot", [key])


def prepare(spec: Path, stack: str) -> Prepared:
    """Open the cluster and choose stacks; nothing is written.

    Raises:
        PlanStale: the spec is not what was planned.
        UsageError: no stack of that name.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    folders = Folders(spec=cluster.loaded.path.parent.resolve(), state=paths.state(cluster.plan.cluster.name))
    return Prepared(cluster.plan, chosen(cluster.plan, stack), folders)


def prepare_all(spec: Path, stack: str, plan_file: Path | None = None) -> Prepared:
    """As `prepare`, where a part that nobody can build must not be passed over in silence.

    Raises:
        PlanStale: the spec, or a given plan, is not what was planned.
        NotProvisionable: no stack was named, and a part of the spec cannot be built.
    """
    prepared = prepare(spec, stack)
    if plan_file is not None:
        _refuse_other(prepared.plan, plan_file, spec)
    if not stack:
        _refuse_unbuilt(prepared.plan)
    if not prepared.stacks:
        raise NotProvisionable(
            "there is no host to bring up",
            where=prepared.plan.cluster.name,
            got=_undelivered(prepared.plan) or "no on-prem site",
            expected="asset rows of what the factory delivered",
            hint="add the assets to the pool's asset file, then plan again",
        )
    return prepared


def _undelivered(plan: Plan) -> str:
    return "\n".join(f"{pool}: no asset yet for {numbers}" for pool, numbers in plan.undelivered.items())


def _refuse_other(plan: Plan, file: Path, spec: Path) -> None:
    given = read_plan(file)
    now, then = plan.origin.model_dump(), given.origin.model_dump()
    differing = [name for name in now if now[name] != then[name]]
    if differing or canonical.dumps(given) != canonical.dumps(plan):
        raise PlanStale(
            "the plan was made from something else",
            where=str(file),
            got=f"another {', '.join(differing) or 'content'}",
            expected=f"the plan of {spec} as it stands",
            hint=f"rackwright plan {quote(str(spec))}, look at what changed, then up",
        )


def _refuse_unbuilt(plan: Plan) -> None:
    if plan.not_provisionable:
        raise NotProvisionable(
            "parts of this spec are planned, but cannot be built yet",
            where=plan.cluster.name,
            got="\n".join(plan.not_provisionable),
            hint="build the parts that can be with --stack, or take these out of the spec",
        )


def consent(question: str, *, yes: bool) -> None:
    """Ask before anything is touched; without a terminal, --yes is the only consent.

    Raises:
        UsageError: nobody can be asked.
        click.Abort: the answer was no.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "nobody can be asked", where="stdin", got="no terminal", expected="--yes", hint="add --yes"
        )
    click.confirm(visible(question), abort=True, err=True)


def run(operation: Operation, prepared: Prepared, console: Console) -> int:
    """Run an operation on every chosen stack, print the answer, and return the exit code."""
    reports = []
    require_accounts(zones(prepared.plan, prepared.stacks))
    if prepared.plan.undelivered and operation in (Operation.UP, Operation.PREVIEW):
        console.message(_undelivered(prepared.plan))
    if operation is not Operation.REFRESH:
        jobs.note(prepared.plan, prepared.folders.state, console.message)
    backwards = operation is Operation.DESTROY
    for name in reversed(prepared.stacks) if backwards else prepared.stacks:
        console.message(f"{name}: {operation.value}")
        reports.append(operate(operation, name, prepared.plan, prepared.folders, console.message))
    console.result(_document(operation, reports), "\n".join(map(_text, reports)))
    return _told(operation, reports, console)


def _told(operation: Operation, reports: Sequence[Report], console: Console) -> int:
    """Name every subject that failed; a preview has only failed to see, or seen another machine."""
    failures = [failure for report in reports for failure in report.failures]
    codes = [INCOMPLETE if report.not_run else GOOD for report in reports]
    if failures and operation is Operation.PREVIEW:
        console.error(SubjectFailed(failures, "`up` would fail on"))
        codes += [BAD if failure.code in ANOTHER_MACHINE else INCOMPLETE for failure in failures]
    elif failures:
        codes.append(console.error(SubjectFailed(failures)))
    return worst(codes)


def _document(operation: Operation, reports: Sequence[Report]) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "operation": operation.value,
        "stacks": {str(report.name): _entry(report) for report in reports},
    }


def _entry(report: Report) -> Json:
    return {
        "changes": [asdict(change) for change in report.changes],
        "resources": dict(sorted(report.resources.items())),
        "failures": [
            {"subject": one.subject, "code": one.code, "cause": one.cause, "hint": one.hint}
            for one in report.failures
        ],
        "held": report.held,
        "orphans": report.orphans,
        "not_run": report.not_run,
        "outputs": report.outputs,
    }


def _text(report: Report) -> str:
    if report.not_run:
        return f"{report.name}: not run: {report.not_run}"
    lines = [f"{report.name}: {_counted(len(report.changes), 'change') if report.changes else 'no changes'}"]
    lines += [f"  {change}" for change in report.changes]
    lines += [f"  {slot}: held: {reason}" for slot, reason in report.held.items()]
    lines += [f"  {instance}: fills no slot: {reason}" for instance, reason in report.orphans.items()]
    lines += [f"  {report.standing}"] if report.standing else []
    return "\n".join(lines)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
