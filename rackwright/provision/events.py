"""The engine's events in, what they mean for slots out: changes, drift, sets as found, progress."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwright.errors import Failure
from rackwright.provision.kinds import KINDS, model_or_none, sets
from rackwright.provision.notes import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pulumi.automation import EngineEvent
    from pulumi.automation.events import DiagnosticEvent, StepEventMetadata, StepEventStateMetadata

    from rackwright.provision.kind import Kind
    from rackwright.spec.base import Model

_TOUCHING = frozenset({"create", "update", "delete"})
_READING = "refresh"
_OPERATIONS = {
    "create": ("", "there"),
    "update": ("there", "changed"),
    "replace": ("there", "replaced"),
    "delete": ("there", "gone"),
}
"""What a step does to a resource that is no set: before, after."""
_OURS_TO_HIDE = ("pulumi:", "rackwright:")
"""Types of the engine, and of components, which are nothing by themselves."""
RESOURCE_FAILED = "PULUMI005"


class Watch:
    """What one operation of the engine has told so far.

    Args:
        tell: takes a line of progress.
        preview: whether the operation is only foreseen.
    """

    def __init__(self, tell: Callable[[str], None], *, preview: bool = False) -> None:
        self.changes: list[Change] = []
        """What a step does, or in a preview would do."""
        self.drift: list[Change] = []
        """What reading found to differ from what was known."""
        self.resources: dict[str, int] = {}
        """Operation → resources, as the engine counts them."""
        self.failures: list[Failure] = []
        """Resources other than sets that failed, with what the engine says of each."""
        self._tell = tell
        self._preview = preview
        self._foreseen: list[tuple[Kind[Any, Any], Model]] = []
        self._sets: dict[str, tuple[Kind[Any, Any], Model]] = {}
        self._being_read: set[str] = set()

    @property
    def sets(self) -> list[tuple[Kind[Any, Any], Model]]:
        """Every set as last found, in a preview also as foreseen; one that was not reached is not there."""
        return [*self._sets.values(), *self._foreseen]

    def take(self, event: EngineEvent) -> None:
        """Add one event."""
        if event.resource_pre_event:
            self._begins(event.resource_pre_event.metadata)
        elif event.res_outputs_event:
            self._ends(event.res_outputs_event.metadata)
        elif event.res_op_failed_event:
            self._ends(event.res_op_failed_event.metadata)
        elif event.diagnostic_event:
            self._says(event.diagnostic_event)
        elif event.summary_event:
            self.resources = {_value(op): n for op, n in event.summary_event.resource_changes.items()}

    def _begins(self, step: StepEventMetadata) -> None:
        kind, operation = KINDS.get(step.type), _value(step.op)
        if kind is None:
            self._other(step, operation)
        elif operation == _READING:
            self._being_read.add(step.urn)
        elif operation in _TOUCHING:
            found, wanted = _found(kind, step.old), _wanted(kind, step.new)
            self._note(kind, step, operation, kind.changes(found, wanted))

    def _other(self, step: StepEventMetadata, operation: str) -> None:
        """A step of a resource of the cloud; a replacement is told once, though it has three steps."""
        if operation in _OPERATIONS and not step.type.startswith(_OURS_TO_HIDE):
            before, after = _OPERATIONS[operation]
            change = Change(_name(step.urn), step.type, before, after)
            self.changes.append(change)
            self._tell(f"  {change}")

    def _note(
        self, kind: Kind[Any, Any], step: StepEventMetadata, operation: str, differing: list[Change]
    ) -> None:
        self.changes += differing
        slots = len({change.slot for change in differing})
        self._tell(f"  {_name(step.urn)}: {operation}, {slots} {kind.noun}{'s' if slots != 1 else ''}")

    def _ends(self, step: StepEventMetadata) -> None:
        """A set's state after reading it, or after a step, a failed one too."""
        kind = KINDS.get(step.type)
        found = _found(kind, step.new) if kind else None
        if kind is None or found is None:
            return
        if step.urn in self._being_read:
            self._being_read.remove(step.urn)
            self._read(kind, step, found)
        elif self._preview:
            self._foreseen.append((kind, found))
        elif _value(step.op) in _TOUCHING:
            standing, of = kind.standing(found)
            self._tell(f"  {_name(step.urn)}: {standing} of {of} {kind.noun}s on")

    def _read(self, kind: Kind[Any, Any], step: StepEventMetadata, found: Model) -> None:
        self._sets[step.urn] = kind, found
        before = _found(kind, step.old)
        drifted = kind.drift(before, found) if before else []
        self.drift += drifted
        for change in drifted:
            self._tell(f"  found {change}")

    def _says(self, told: DiagnosticEvent) -> None:
        """An error of one resource; the last line of such is the engine's own, about the stack."""
        if told.severity != "error" or not told.urn:
            return
        if _type(told.urn).startswith("pulumi:") or _type(told.urn) in KINDS:
            return
        says = " ".join(told.message.replace("<{%reset%}>", "").split())
        hint = "mend the cause, then the same command goes on from here"
        self.failures.append(Failure(_name(told.urn), RESOURCE_FAILED, says, hint))


def standing(deployment: Mapping[str, Any] | None) -> list[Change]:
    """All that a destroy would take away, as changes: slots of sets, and the cloud's resources."""
    slots = [change for kind, one in sets(deployment) for change in kind.changes(one, None)]
    return [*slots, *resources(deployment)]


def resources(deployment: Mapping[str, Any] | None) -> Iterator[Change]:
    """Resources of the cloud in the engine's exported state, each as it would be taken away."""
    for one in (deployment or {}).get("resources", ()):
        if one["type"] not in KINDS and not one["type"].startswith(_OURS_TO_HIDE):
            yield Change(_name(one["urn"]), one["type"], *_OPERATIONS["delete"])


def _found(kind: Kind[Any, Any], state: StepEventStateMetadata | None) -> Model | None:
    return model_or_none(kind.found, state.outputs) if state else None


def _wanted(kind: Kind[Any, Any], state: StepEventStateMetadata | None) -> Model | None:
    return model_or_none(kind.wanted, state.inputs) if state else None


def _name(urn: str) -> str:
    return urn.rpartition("::")[2]


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2]


def _value(operation: object) -> str:
    """The SDK gives an enum, or a plain string where it knows no such operation."""
    return str(getattr(operation, "value", operation))
