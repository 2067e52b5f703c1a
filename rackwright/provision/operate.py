"""Preview, up, refresh and destroy of one stack by the real engine, each ending in a `Report`.

The engine's text is for its log alone: what failed is read from events and from the stack's state,
where the provider has noted it slot by slot.
"""

from __future__ import annotations

import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from pulumi.automation import CommandError, ConcurrentUpdateError, Deployment

from rackwright import canonical
from rackwright.errors import EnvironmentUnfit, Failure, Interrupted
from rackwright.plan.stacks import MAINTENANCE
from rackwright.provision import busy, engine_errors, locks
from rackwright.provision.aws import unfinished
from rackwright.provision.aws.nodeset import leftover
from rackwright.provision.aws.nodeset.ec2 import Ec2
from rackwright.provision.events import Watch, resources, standing
from rackwright.provision.kinds import KINDS, sets
from rackwright.provision.notes import Change
from rackwright.provision.readers import needed_by
from rackwright.provision.report import Report
from rackwright.provision.stacks import COMPUTE, missing_input, open_stack, outputs_in, zones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from rackwright.plan.model import Plan
    from rackwright.provision.kind import Kind
    from rackwright.provision.places import Folders
    from rackwright.provision.stacks import Open, StackName
    from rackwright.spec.base import Model

    Tell = Callable[[str], None]
    Sets: TypeAlias = Sequence[tuple[Kind[Any, Any], Model]]

NO_INPUT = "UP011"
"""A stack that reads the outputs of one that was never up."""


class Operation(StrEnum):
    """What to do with a stack."""

    PREVIEW = "preview"
    UP = "up"
    REFRESH = "refresh"
    DESTROY = "destroy"


_CHANGING = frozenset({Operation.UP, Operation.DESTROY})
_HOLDING = _CHANGING | {Operation.REFRESH}
"""Operations of a run that is at work on the cluster alone (`locks.at_work`)."""


def operate(operation: Operation, name: StackName, plan: Plan, folders: Folders, tell: Tell) -> Report:
    """Run one operation on one stack.

    Hosts that fail are noted in the report; the others are brought up.

    Args:
        operation: which.
        name: the stack.
        plan: what is wanted.
        folders: of the cluster.
        tell: takes lines of progress.

    Raises:
        EnvironmentUnfit: the stack is held by another run, or the engine could not run at all.
        Interrupted: stopped by the user; what the stack's state has then is told.
    """
    opened = open_stack(name, plan, folders)
    dead = locks.release_dead(folders.state, name.project, name.stack) if operation in _HOLDING else []
    for holder in dead:
        tell(f"{name}: released the lock of {holder}: that process is gone")
    try:
        return _operate(operation, opened, plan, tell)
    except Interrupted as error:
        got = _left(opened) if operation in _CHANGING else ""
        raise Interrupted(error.message, where=str(name), got=got, hint=error.hint) from None
    except ConcurrentUpdateError as error:
        raise _taken(opened, error) from None
    except CommandError as error:
        raise engine_errors.refused(str(name), error) from None


def _left(opened: Open) -> str:
    """What the state has of a stack whose engine was stopped in the middle, where that can be read."""
    try:
        state = _settled(opened)
    except CommandError as error:
        return f"what the stack has is not known: {engine_errors.last_words(error)}"
    except OSError as error:
        return f"what the stack has is not known: {error.strerror or error}"
    told = [_on(found)] if (found := list(sets(state))) else []
    told += [f"{one.slot} ({one.field})" for one in resources(state)]
    told += [f"perhaps {_of(one)}" for one in state.get("pending_operations") or ()]
    return "the stack has " + (", ".join(told) or "nothing")


def _of(pending: Mapping[str, Any]) -> str:
    """What an operation is about, by its name and type."""
    return f"{pending['resource']['urn'].rpartition('::')[2]} ({pending['resource']['type']})"


def _operate(operation: Operation, opened: Open, plan: Plan, tell: Tell) -> Report:
    lacking = missing_input(opened) if operation in (Operation.PREVIEW, Operation.UP) else ""
    if lacking and operation is Operation.PREVIEW:
        return Report(opened.name, not_run=f"its input stack {lacking} was never up")
    if lacking:
        return Report(opened.name, failures=(_without_input(opened, lacking),))
    needed = needed_by(opened, plan) if operation is Operation.DESTROY else []
    if needed:
        return Report(opened.name, failures=tuple(needed))
    made = _find_unfinished(opened, plan, tell) if operation in _CHANGING else []
    if made and operation is Operation.UP:
        _take_away(opened, made)
    if operation is Operation.DESTROY:
        return _destroy(opened, plan)
    return _reconcile(operation, opened, plan, Watch(tell, preview=operation is Operation.PREVIEW))


def _find_unfinished(opened: Open, plan: Plan, tell: Tell) -> list[str]:
    """Note what an engine that was killed was making in a cloud; URNs of that."""
    urns: list[str] = []
    for zone in zones(plan, [opened.name]):
        exported_state = opened.stack.export_stack()
        before = exported_state.deployment or {}
        after, made = unfinished.noted(zone, before)
        if after is not before:
            opened.stack.import_stack(Deployment(version=exported_state.version, deployment=dict(after)))
        for one in made:
            tell(f"{opened.name}: {one['id']} was made by a run that was cut off, and is taken away")
        urns += [one["urn"] for one in made if "delete" not in one]
    return urns


def _take_away(opened: Open, urns: Sequence[str]) -> None:
    """Have the engine delete some resources, which nothing depends on."""
    targets = [word for urn in urns for word in ("--target", urn)]
    opened.run(["destroy", "--yes", "--skip-preview", "--stack", opened.name.stack, *targets])


def _without_input(opened: Open, lacking: str) -> Failure:
    hint = f"rackwright up SPEC --stack {lacking}, then this one"
    return Failure(str(opened.name), NO_INPUT, f"its input stack {lacking} was never up", hint)


def _reconcile(operation: Operation, opened: Open, plan: Plan, watch: Watch) -> Report:
    report = Report(opened.name, held=_held(plan, opened))
    error = _run(operation, opened, watch)
    report.changes = tuple(_made(operation, watch, report.held))
    report.resources = watch.resources
    state = {} if operation is Operation.PREVIEW else _settled(opened)
    found = watch.sets if operation is Operation.PREVIEW else list(sets(state))
    report.failures = (*watch.failures, *_failures(found))
    if operation is not Operation.PREVIEW:
        _note_outputs(report, state, found)
    if error is not None and not report.failures:
        log = _log(opened, operation, error)
        report.failures = (engine_errors.failure(str(opened.name), error, log),)
    return report


def _failures(found: Sets) -> Iterator[Failure]:
    for kind, one in found:
        yield from kind.failures(one)


def _note_outputs(report: Report, state: Mapping[str, Any], found: Sets) -> None:
    """Of sets from what was found, for a program that a failed set ends exports nothing."""
    if found:
        kind = found[0][0]
        models = [one for _, one in found]
        report.outputs = kind.outputs(report.name.site, models).model_dump(mode="json", by_alias=True)
        report.standing = _on(found)
        report.orphans = {name: why for one in models for name, why in getattr(one, "orphans", {}).items()}
    else:
        report.outputs = outputs_in(state)


def _on(found: Sets) -> str:
    """How many slots of some sets of one kind are filled; there is one set at least."""
    standing = [kind.standing(one) for kind, one in found]
    filled, of = (sum(numbers) for numbers in zip(*standing, strict=True))
    return f"{filled} of {of} {found[0][0].noun}s on"


def _held(plan: Plan, opened: Open) -> dict[str, str]:
    """Hosts of a hall in maintenance, or with jobs (`busy.py`), each with its reason."""
    hall = plan.stacks.onprem.get(opened.name.site)
    if hall is None:
        return {}
    jobs = busy.read(opened.folders.state)
    hosts = {
        slot: host.held or jobs.get(slot, "")
        for one in hall.host_sets.values()
        for slot, host in one.hosts.items()
    }
    return {slot: reason for slot, reason in sorted(hosts.items()) if reason}


def _made(operation: Operation, watch: Watch, held: Mapping[str, str]) -> Iterable[Change]:
    """What was read to differ, or what was done; to a host that is held by its jobs, nothing is done."""
    if operation is Operation.REFRESH:
        return watch.drift
    jobs = {slot for slot, reason in held.items() if reason != MAINTENANCE}
    return (change for change in watch.changes if change.slot not in jobs)


def _run(operation: Operation, opened: Open, watch: Watch) -> CommandError | None:
    """The operation itself; returned is what the engine could not do."""
    stack = opened.stack
    try:
        with warnings.catch_warnings():
            # The SDK warns on stderr when an engine that was killed breaks off its events.
            warnings.simplefilter("ignore")
            match operation:
                case Operation.PREVIEW:
                    stack.preview(on_event=watch.take)
                case Operation.UP:
                    stack.up(on_event=watch.take, continue_on_error=True)
                case Operation.REFRESH:
                    stack.refresh(on_event=watch.take, show_secrets=False)
    except ConcurrentUpdateError:
        raise
    except CommandError as error:
        return error
    return None


def _destroy(opened: Open, plan: Plan) -> Report:
    """Let go of everything as the state has it: who holds a host may be gone itself, and is not asked."""
    report = Report(opened.name)
    there = standing(_settled(opened))
    command = ["destroy", "--yes", "--skip-preview", "--refresh=false", "--stack", opened.name.stack]
    try:
        opened.run(command)
    except ConcurrentUpdateError:
        raise
    except CommandError as error:
        log = _log(opened, Operation.DESTROY, error)
        report.failures = (engine_errors.failure(str(opened.name), error, log),)
    left = standing(_settled(opened)) if report.failures else []
    report.changes = tuple(change for change in there if change not in left)
    if not report.failures:
        _clear(report, opened, plan)
    return report


def _clear(report: Report, opened: Open, plan: Plan) -> None:
    """Instances that an engine which was killed has launched, and never noted."""
    zone = plan.stacks.aws_compute.get(opened.name.site)
    if zone is None or opened.name.project != COMPUTE:
        return
    pools = {pool for one in plan.stacks.aws_compute.values() for pool in one.node_sets}
    ec2, jobs = Ec2(zone.region), busy.read(opened.folders.state)
    found = [*leftover.cleared(zone, ec2, jobs), *leftover.strangers(zone, pools, ec2)]
    report.changes += tuple(one for one in found if isinstance(one, Change))
    report.failures = tuple(one for one in found if isinstance(one, Failure))


def _settled(opened: Open) -> Mapping[str, Any]:
    """The stack's state, after dropping what a killed engine left half said."""
    exported_state = opened.stack.export_stack()
    state = exported_state.deployment or {}
    pending = state.get("pending_operations") or []
    kept = [one for one in pending if one["resource"]["type"] not in KINDS]
    if len(kept) != len(pending):
        # Ours may go: creating adopts what already runs, so nothing is lost or done twice.
        state = {**state, "pending_operations": kept}
        locks.release_dead(opened.folders.state, opened.name.project, opened.name.stack)
        opened.stack.import_stack(Deployment(version=exported_state.version, deployment=state))
    return state


def _log(opened: Open, operation: Operation, error: CommandError) -> Path:
    path = opened.folders.state / "log" / f"{opened.name.project}-{opened.name.stack}-{operation.value}.txt"
    canonical.write_atomic(path, str(error), mode=0o600)
    return path


def _taken(opened: Open, error: ConcurrentUpdateError) -> EnvironmentUnfit:
    there = locks.holders(opened.folders.state, opened.name.project, opened.name.stack)
    return EnvironmentUnfit(
        "another run is at work on this stack",
        code=locks.TAKEN,
        where=str(opened.name),
        got="; ".join(map(str, there)) or str(error).strip().splitlines()[-1],
        expected="a stack that nobody holds",
        hint=f"wait for it, or, if it is dead on another machine: {opened.name.unlock}",
    )
