"""The life of a pool's nodes: wanted nodes in, found nodes out.

A slot whose instance is there is left as it is; a missing one is filled, under the same name and
address; a slot that is no longer wanted is emptied, but never one that runs jobs. The same call may
be cut off anywhere and made again: what was launched is found by its tags, or by its client token.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from botocore.exceptions import (  # type: ignore[import-untyped]  # (boto3 has no types)
    BotoCoreError,
    ClientError,
)

from rackwright.errors import Failure, SubjectFailed
from rackwright.provision.aws import failures
from rackwright.provision.aws.failures import Cause
from rackwright.provision.aws.nodeset.ec2 import STOPPED, unfit
from rackwright.provision.aws.nodeset.launch import Launch
from rackwright.provision.aws.nodeset.look import adoptable, just_launched, look
from rackwright.provision.aws.nodeset.model import FoundNode, FoundNodes, Ground
from rackwright.provision.notes import FailureNote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rackwright.provision.aws.nodeset.ec2 import Ec2, Instance
    from rackwright.provision.aws.nodeset.launch import Outcome
    from rackwright.provision.aws.nodeset.look import Look
    from rackwright.provision.aws.nodeset.model import WantedNode, WantedNodes

_NOBODY: Mapping[str, str] = MappingProxyType({})
GONE_WITHIN_S = 600
"""An instance that is not terminated by then stays, and is named."""
_STOPPED_NOTE = FailureNote(
    code=failures.STOPPED,
    cause="its instance was stopped by hand; EC2 bills its volumes, and it does no work",
    hint="start it, or terminate it and run `rackwright up` again",
)


@dataclass(frozen=True)
class Means:
    """What a pool is reconciled by."""

    ec2: Ec2
    """Of its region."""
    user_data: Callable[[str], str]
    """Slot → what its instance boots with."""
    busy: Mapping[str, str] = field(default_factory=dict)
    """Slot → job that runs on it."""
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set once no further launch may begin."""


def brought_up(found: FoundNodes | None, wanted: WantedNodes, means: Means) -> FoundNodes:
    """Fill the slots that are always filled, and empty those that are no longer wanted.

    Args:
        found: the pool as last found; none where it is new.
        wanted: the pool as the plan wants it.
        means: by what.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    before = found.nodes if found is not None else {}
    unwanted = {slot: before[slot] for slot in before.keys() - wanted.nodes.keys()}
    try:
        seen = _look(means.ec2, wanted, wanted.nodes.keys() | before.keys(), before)
        kept = _emptied(means, seen, unwanted)
        static = _static(wanted, before, seen, means)
    except (BotoCoreError, ClientError) as error:
        raise unfit(error, wanted) from None
    on_demand = {slot: _on_demand(node) for slot, node in wanted.nodes.items() if node.burst}
    return _found(wanted, {**on_demand, **kept, **static}, _orphans(seen, static))


def _static(
    wanted: WantedNodes, before: Mapping[str, FoundNode], seen: Look, means: Means
) -> dict[str, FoundNode]:
    """The slots that are always filled; one just launched may not be visible yet, and is left as it was."""
    nodes = {slot: node for slot, node in wanted.nodes.items() if not node.burst}
    young = {
        slot: before[slot]
        for slot in nodes.keys() & before.keys() - seen.filling.keys()
        if just_launched(before[slot], seen)
    }
    last = {slot: node.instance for slot, node in before.items() if node.instance}
    go = Launch(means.ec2, wanted, last | seen.last, means.user_data, means.stopped)
    return {**young, **filled(go, {slot: node for slot, node in nodes.items() if slot not in young}, seen)}


def filled(go: Launch, nodes: Mapping[str, WantedNode], seen: Look) -> dict[str, FoundNode]:
    """Fill slots: by the instance that is there, by one that lost its tag, or by a new one.

    Args:
        go: how the missing ones are launched.
        nodes: slot → node.
        seen: the pool's instances.
    """
    there: dict[str, Outcome] = {slot: seen.filling[slot] for slot in nodes if slot in seen.filling}
    missing = {slot: node for slot, node in nodes.items() if slot not in there}
    adopted = adoptable(seen, missing)
    for slot, instance in adopted.items():
        go.ec2.tag(instance.id, go.own_tags(slot))
    missing = {slot: node for slot, node in missing.items() if slot not in adopted}
    launched = go.launch({slot: node.address for slot, node in missing.items()})
    return _settled(go.ground, nodes, {**there, **adopted, **launched}, len(missing))


def _settled(
    ground: Ground, nodes: Mapping[str, WantedNode], outcomes: Mapping[str, Outcome], wanted: int
) -> dict[str, FoundNode]:
    short = sum(isinstance(one, Cause) for one in outcomes.values())
    slots = f"pool {ground.pool}, {ground.zone_id}, {short} of {wanted} not launched"
    return {
        slot: _as_found(nodes[slot], one)
        if not isinstance(one, Cause)
        else _failed(nodes[slot], one.note(slots))
        for slot, one in outcomes.items()
    }


def read(found: FoundNodes, ec2: Ec2) -> FoundNodes:
    """Look at every slot that is always filled; changes nothing.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    try:
        seen = _look(ec2, found, found.nodes, found.nodes)
    except (BotoCoreError, ClientError) as error:
        raise unfit(error, found) from None
    nodes = {slot: _looked_at(slot, node, seen) for slot, node in found.nodes.items()}
    return _found(found, nodes, seen.reasons)


def _looked_at(slot: str, node: FoundNode, seen: Look) -> FoundNode:
    if node.burst or node.state == "held":
        return node
    if slot in seen.filling:
        return _as_found(node, seen.filling[slot])
    if just_launched(node, seen) or node.failure is not None:
        return node
    return node.model_copy(update={"state": "gone", "private_address": ""})


def on_demand(ground: Ground, nodes: Mapping[str, WantedNode], means: Means) -> dict[str, FoundNode]:
    """Fill slots that Slurm asks for; one that is filled already is left as it is.

    Raises:
        EnvironmentUnfit: EC2 cannot be asked.
    """
    try:
        seen = _look(means.ec2, ground, nodes, {})
        return filled(Launch(means.ec2, ground, seen.last, means.user_data, means.stopped), nodes, seen)
    except (BotoCoreError, ClientError) as error:
        raise unfit(error, ground) from None


def emptied(ground: Ground, slots: Mapping[str, object], ec2: Ec2) -> list[str]:
    """Terminate whatever fills some slots; returned are the instances."""
    seen = _look(ec2, ground, slots, {})
    ids = [one.id for slot, one in seen.filling.items() if slot in slots]
    ec2.terminate(ids)
    return ids


def removed(
    found: FoundNodes, ec2: Ec2, busy: Mapping[str, str] = _NOBODY, seconds: float = GONE_WITHIN_S
) -> None:
    """Terminate every instance of the pool, those that Slurm has launched and orphans too.

    Raises:
        SubjectFailed: a slot runs jobs, and nothing was touched; or an instance is not gone in time.
        EnvironmentUnfit: EC2 cannot be asked.
    """
    held = at_work(found.nodes, busy)
    if held:
        raise SubjectFailed(held)
    try:
        ec2.terminate(one.id for one in ec2.instances(found.cluster, found.pool) if one.there)
        left = ec2.gone(found.cluster, found.pool, seconds)
    except (BotoCoreError, ClientError) as error:
        raise unfit(error, found) from None
    if left:
        raise SubjectFailed(stayed(left, seconds))


def at_work(slots: Iterable[str], busy: Mapping[str, str]) -> list[Failure]:
    """Slots that cannot be emptied, since they run jobs."""
    return [
        Failure(slot, failures.BUSY, busy[slot], "drain it, or cancel the job")
        for slot in sorted(slots)
        if slot in busy
    ]


def stayed(left: Iterable[Instance], seconds: float) -> list[Failure]:
    """Instances that were terminated and are not gone in time."""
    cause = f"not terminated within {seconds:g} s"
    return [Failure(one.slot or one.id, failures.STAYED, cause, "look at it in EC2") for one in left]


def foreseen(wanted: WantedNodes) -> FoundNodes:
    """What a preview expects: every slot as wanted."""
    nodes = {slot: FoundNode(**node.model_dump()) for slot, node in wanted.nodes.items()}
    return _found(wanted, nodes, {})


def drifted(wanted: WantedNodes, found: FoundNodes) -> WantedNodes:
    """Inputs as they would have to be for the nodes to be as wanted; an engine compares these too."""
    nodes = {
        slot: node.model_copy(update={"state": found.nodes[slot].state}) if slot in found.nodes else node
        for slot, node in wanted.nodes.items()
    }
    return wanted.model_copy(update={"nodes": nodes})


def _look(
    ec2: Ec2, ground: Ground, slots: Mapping[str, object] | set[str], before: Mapping[str, FoundNode]
) -> Look:
    known = {slot: node.instance for slot, node in before.items() if node.instance}
    return look(ec2.instances(ground.cluster, ground.pool), slots, known)


def _emptied(means: Means, seen: Look, nodes: Mapping[str, FoundNode]) -> dict[str, FoundNode]:
    """Terminate what fills slots that are no longer wanted; those at work are kept, and held."""
    there = {slot: node for slot, node in nodes.items() if slot in seen.filling}
    means.ec2.terminate(seen.filling[slot].id for slot in there if slot not in means.busy)
    return {slot: _held(node, means.busy[slot]) for slot, node in there.items() if slot in means.busy}


def _held(node: FoundNode, job: str) -> FoundNode:
    note = FailureNote(
        code=failures.BUSY, cause=f"no longer wanted, and {job}", hint="drain it, then up again"
    )
    return node.model_copy(update={"state": "held", "failure": note})


def _as_found(node: WantedNode, instance: Instance) -> FoundNode:
    halted = instance.state in STOPPED
    return FoundNode(
        address=node.address,
        burst=node.burst,
        state="stopped" if halted else "running",
        instance=instance.id,
        private_address=instance.address,
        launched=instance.launched,
        version=instance.version,
        failure=_STOPPED_NOTE if halted else None,
    )


def _failed(node: WantedNode, note: FailureNote) -> FoundNode:
    return FoundNode(address=node.address, burst=node.burst, state="unknown", failure=note)


def _on_demand(node: WantedNode) -> FoundNode:
    return FoundNode(address=node.address, burst=True, state="on-demand")


def _orphans(seen: Look, done: Mapping[str, FoundNode]) -> dict[str, str]:
    adopted = {node.instance for node in done.values()}
    return {one: reason for one, reason in seen.reasons.items() if one not in adopted}


def _found(ground: Ground, nodes: Mapping[str, FoundNode], orphans: Mapping[str, str]) -> FoundNodes:
    where = {name: getattr(ground, name) for name in Ground.model_fields}
    ordered = {slot: nodes[slot] for slot in sorted(nodes)}
    return FoundNodes(**where, nodes=ordered, orphans=dict(sorted(orphans.items())))
