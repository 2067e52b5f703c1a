"""The engine's events in, what they mean for hosts out: changes, drift, hosts as found, progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from rackwright.provision.onprem.changes import changes, drift
from rackwright.provision.onprem.model import HOST_SET, FoundSet, WantedSet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pulumi.automation import EngineEvent
    from pulumi.automation.events import StepEventMetadata, StepEventStateMetadata

    from rackwright.provision.onprem.changes import Change
    from rackwright.provision.onprem.model import FoundHost

_TOUCHING = frozenset({"create", "update", "delete"})
_READING = "refresh"
_M = TypeVar("_M", FoundSet, WantedSet)


class Watch:
    """What one operation of the engine has told so far.

    Args:
        tell: takes a line of progress.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.changes: list[Change] = []
        """What a step does, or in a preview would do."""
        self.drift: list[Change] = []
        """What reading found to differ from what was known."""
        self.resources: dict[str, int] = {}
        """Operation → resources, as the engine counts them."""
        self._tell = tell
        self._sets: dict[str, FoundSet] = {}
        self._being_read: set[str] = set()

    @property
    def hosts(self) -> dict[str, FoundHost]:
        """Every host as last found; of a set that was not reached there is none."""
        return {slot: host for found in self._sets.values() for slot, host in found.hosts.items()}

    def take(self, event: EngineEvent) -> None:
        """Add one event."""
        if event.resource_pre_event:
            self._begins(event.resource_pre_event.metadata)
        elif event.res_outputs_event:
            self._ends(event.res_outputs_event.metadata)
        elif event.res_op_failed_event:
            self._ends(event.res_op_failed_event.metadata)
        elif event.summary_event:
            self.resources = {_value(op): n for op, n in event.summary_event.resource_changes.items()}

    def _begins(self, step: StepEventMetadata) -> None:
        if step.type != HOST_SET:
            return
        operation = _value(step.op)
        if operation == _READING:
            self._being_read.add(step.urn)
        elif operation in _TOUCHING:
            found, wanted = _found(step.old), _wanted(step.new)
            self._note(step, operation, changes(found.hosts if found else {}, wanted.hosts if wanted else {}))

    def _note(self, step: StepEventMetadata, operation: str, differing: list[Change]) -> None:
        self.changes += differing
        slots = len({change.slot for change in differing})
        self._tell(f"  {_name(step)}: {operation}, {slots} host{'s' if slots != 1 else ''}")

    def _ends(self, step: StepEventMetadata) -> None:
        """A set's state after reading it, or after a step, a failed one too."""
        found = _found(step.new) if step.type == HOST_SET else None
        if found is None:
            return
        if step.urn in self._being_read:
            self._being_read.remove(step.urn)
            self._read(step, found)
        elif _value(step.op) in _TOUCHING:
            on = sum(host.power == "on" for host in found.hosts.values())
            self._tell(f"  {_name(step)}: {on} of {len(found.hosts)} hosts on")

    def _read(self, step: StepEventMetadata, found: FoundSet) -> None:
        self._sets[step.urn] = found
        before = _found(step.old)
        drifted = drift(before.hosts, found.hosts) if before else []
        self.drift += drifted
        for change in drifted:
            self._tell(f"  found {change}")


def host_sets(deployment: Mapping[str, Any] | None) -> Iterator[FoundSet]:
    """The sets in the engine's exported state."""
    for resource in (deployment or {}).get("resources", ()):
        found = _model(FoundSet, resource.get("outputs")) if resource["type"] == HOST_SET else None
        if found is not None:
            yield found


def _found(state: StepEventStateMetadata | None) -> FoundSet | None:
    return _model(FoundSet, state.outputs) if state else None


def _wanted(state: StepEventStateMetadata | None) -> WantedSet | None:
    return _model(WantedSet, state.inputs) if state else None


def _model(kind: type[_M], values: Mapping[str, Any] | None) -> _M | None:
    """A set, where there is one and it is of this version; the engine's own ``__…`` are not ours."""
    try:
        return kind.model_validate(
            {name: value for name, value in (values or {}).items() if name[:2] != "__"}
        )
    except ValidationError:
        return None


def _name(step: StepEventMetadata) -> str:
    return step.urn.rpartition("::")[2]


def _value(operation: object) -> str:
    """The SDK gives an enum, or a plain string where it knows no such operation."""
    return str(getattr(operation, "value", operation))
