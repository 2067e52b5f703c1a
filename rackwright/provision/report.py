"""What one operation on one stack did: changes per slot, failures, held hosts, outputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rackwright.provision.onprem.changes import changes
from rackwright.provision.onprem.hostset import failures_of
from rackwright.provision.onprem.model import HOST_SET, FoundHost, FoundSet, WantedSet
from rackwright.provision.onprem.outputs import outputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pulumi.automation import EngineEvent
    from pulumi.automation.events import StepEventMetadata

    from rackwright.errors import Failure
    from rackwright.provision.onprem.outputs import OnpremOutputs
    from rackwright.provision.stacks import StackName


@dataclass
class Report:
    """One stack after (or, for a preview, before) an operation."""

    name: StackName
    changes: dict[str, None] = field(default_factory=dict)
    """In the order they came: ``node-002: power off -> on``."""
    resources: dict[str, int] = field(default_factory=dict)
    """Operation → resources, as the engine counts them."""
    failures: tuple[Failure, ...] = ()
    held: dict[str, str] = field(default_factory=dict)
    """Slot → why it is not touched."""
    outputs: OnpremOutputs | None = None
    not_run: str = ""
    """Why the operation was not run; empty where it was."""

    def take(self, event: EngineEvent) -> None:
        """Add what an event of the engine tells."""
        if event.resource_pre_event:
            self.changes |= dict.fromkeys(_changes(event.resource_pre_event.metadata))
        if event.summary_event:
            counted = {
                str(getattr(op, "value", op)): n for op, n in event.summary_event.resource_changes.items()
            }
            self.resources |= counted

    def settle(self, deployment: Mapping[str, Any] | None) -> None:
        """Take what the stack's state says of each host.

        Args:
            deployment: the engine's exported state.
        """
        hosts: dict[str, FoundHost] = {}
        for found in _host_sets(deployment):
            hosts |= found.hosts
        self.failures = tuple(failures_of(hosts))
        self.held = {slot: host.held for slot, host in sorted(hosts.items()) if host.held}
        self.outputs = outputs(self.name.site, hosts) if hosts else None


def _changes(step: StepEventMetadata) -> Iterator[str]:
    """Slots that a step touches; a refresh only reads."""
    if step.type != HOST_SET or str(getattr(step.op, "value", step.op)) not in _TOUCHING:
        return
    found = _found(step.old.outputs if step.old else None)
    wanted = _wanted(step.new.inputs if step.new else None)
    yield from map(str, changes(found.hosts if found else {}, wanted.hosts if wanted else {}))


_TOUCHING = frozenset({"create", "update", "delete"})


def _found(values: Mapping[str, Any] | None) -> FoundSet | None:
    try:
        return FoundSet.model_validate(_ours(values)) if values else None
    except ValidationError:
        return None


def _wanted(values: Mapping[str, Any] | None) -> WantedSet | None:
    try:
        return WantedSet.model_validate(_ours(values)) if values else None
    except ValidationError:
        return None


def _ours(values: Mapping[str, Any]) -> dict[str, Any]:
    """Properties of the resource, without the engine's own."""
    return {name: value for name, value in values.items() if not name.startswith("__")}


def _host_sets(deployment: Mapping[str, Any] | None) -> Iterator[FoundSet]:
    for resource in (deployment or {}).get("resources", ()):
        if resource["type"] == HOST_SET:
            found = _found(resource.get("outputs"))
            if found:
                yield found
