"""What a node's logs say of its devices, against the table of codes: what is a fault, what it asks for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, cast

from rackwright.catalogue.model import Check
from rackwright.validate.model import Event as Name
from rackwright.verdict.codes import Action, Event, asked, codes, of_dcgm, rank
from rackwright.verdict.judgement import Judgement, Who, judged, unmeasured
from rackwright.verdict.model import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from rackwright.validate.model import Measurement
    from rackwright.verdict.codes import Asked
    from rackwright.verdict.evidence import Evidence

UNTOLD = frozenset({"skip", "not_run", "warn"})
"""Words of DCGM for what was not tested: it has passed what it could not do (DCGM#284, DCGM#55)."""


@dataclass(frozen=True)
class DeviceCodes:
    """The kernel's log of a node has no event that is a fault of a device, by itself or by coming back."""

    name: ClassVar[str] = "device-codes"
    check: ClassVar[str] = Check.KERNEL_LOG
    kind: ClassVar[Kind] = Kind.NODE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each node whose log was read."""
        counted = evidence.by_subject(self.check, "events", self.kind)
        found = {name.value: evidence.by_subject(self.check, name.value, self.kind) for name in Name}
        sealed = evidence.by_subject(self.check, "sealed", self.kind)
        boots = evidence.by_subject(self.check, "boots", self.kind)
        for who in {**counted, **sealed}:
            events = [one for of_name in found.values() for one in of_name.get(who, ())]
            whole = all(one.value is True for one in sealed.get(who, ())) and who in counted
            running = max((int(one.value) - 1 for one in boots.get(who, ())), default=None)
            yield self._of(who, events, [*counted.get(who, ()), *events], whole=whole, running=running)

    def _of(
        self,
        who: Who,
        events: list[Measurement],
        rest: list[Measurement],
        *,
        whole: bool,
        running: int | None,
    ) -> Judgement:
        told = [(_event(one), one) for one in _in_order(events)]
        said = asked((event for event, _ in told), boot=running)
        faults = [one for one in said if one.fatal]
        if faults:
            fault = max(faults, key=lambda one: rank(one.action))
            shown = next(one for event, one in told if event is fault.event)
            return self._fault(who, fault, shown, events, len(faults) - 1)
        if not whole:
            cause = "its log has no last line: what it does not show may have been cut off"
            return unmeasured(who, self.name, cause, (one.artefact for one in rest))
        return judged(who, self.name, Value.PASS, _harmless(events, said), rest)

    def _fault(
        self, who: Who, fault: Asked, shown: Measurement, events: list[Measurement], others: int
    ) -> Judgement:
        more = f", and {others} more device{'s' if others > 1 else ''}" if others else ""
        cause = f"{fault.device}: {fault.because}{more}"
        found = judged(who, self.name, Value.FAIL, cause, events, shown=shown)
        found = found.expecting("no event of a fault", _published(fault.source))
        return _asking(found, fault.action)


@dataclass(frozen=True)
class Diagnosis:
    """Every test of DCGM passed on every entity; skipped, or passed with a warning, is not tested."""

    name: ClassVar[str] = "dcgm-diagnosis"
    check: ClassVar[str] = Check.DCGM_DIAG
    kind: ClassVar[Kind] = Kind.NODE

    def judge(self, evidence: Evidence) -> Iterator[Judgement]:
        """Each node that was diagnosed."""
        for who, found in evidence.by_subject(self.check, "status", self.kind).items():
            yield self._of(who, found)

    def _of(self, who: Who, found: list[Measurement]) -> Judgement:
        failed = [one for one in found if one.value == "fail" or _fatal(one)]
        if failed:
            shown = max(failed, key=lambda one: rank(_asked_by(one)[0]))
            cause = f"{_test(shown)} failed" if shown.value == "fail" else f"{_test(shown)} warns of a fault"
            said = shown.context.parameters.get("warning")
            told = judged(
                who, self.name, Value.FAIL, f"{cause}: {said}" if said else cause, found, shown=shown
            )
            return _asking(told.expecting("pass", _of_error(shown)), _asked_by(shown)[0])
        untold = [one for one in found if one.value in UNTOLD]
        if untold:
            cause = f"{_test(untold[0])} is {untold[0].value}, which is no pass"
            return judged(who, self.name, Value.NOT_RUN, cause, found, shown=untold[0]).expecting("pass")
        strange = [one for one in found if one.value != "pass"]
        if strange:
            cause = f"{_test(strange[0])} has a word that is not known here"
            return judged(who, self.name, Value.ERROR, cause, found, shown=strange[0]).expecting("pass")
        return judged(who, self.name, Value.PASS, f"{len(found)} tests passed", found)


def _harmless(events: list[Measurement], said: tuple[Asked, ...]) -> str:
    """What is told of a log without a fault."""
    if not events:
        return "no event of a device"
    noted = ", ".join(sorted({one.because for one in said})) or "all are of earlier boots"
    return f"{len(events)} events, none of a fault: {noted}"


def _in_order(events: list[Measurement]) -> list[Measurement]:
    return sorted(events, key=lambda one: (_boot(one), _number(one, "at_s")))


def _event(one: Measurement) -> Event:
    """As the table of codes wants it; how often the node was restarted meanwhile is put in by `asked`."""
    said = one.context.parameters
    return Event(
        kind=cast('Literal["xid", "sxid", "fallen_off_bus"]', one.name),
        code=str(one.value),
        device=_device(one),
        at_s=_number(one, "at_s"),
        text=str(said.get("text", "")),
        severity=str(said.get("severity", "")),
        unit=str(said.get("unit", "")),
        boot=_boot(one),
    )


def _device(one: Measurement) -> str:
    """A GPU is one device by whatever function of it a line speaks."""
    return str(one.context.parameters.get("device", "")).partition(".")[0]


def _number(one: Measurement, name: str) -> float:
    value = one.context.parameters.get(name, 0.0)
    return 0.0 if isinstance(value, str) else float(value)


def _boot(one: Measurement) -> int:
    return int(_number(one, "boot"))


def _published(source: str) -> str:
    """Where the table has a word from; empty for what it lacks."""
    known = codes().sources.get(source)
    return f"published: {known.text} ({known.date})" if known else ""


def _asking(found: Judgement, action: Action) -> Judgement:
    """The same with what the table says is to be done."""
    return replace(found, reason=found.reason.model_copy(update={"action": codes().actions[action]}))


def _of_error(one: Measurement) -> str:
    """Where the table has an error of DCGM from: its own source, or that of all severities."""
    error, table = one.context.parameters.get("error_id"), codes()
    return (
        ""
        if error is None
        else _published(table.entry("dcgm", int(error)).source or table.dcgm.severities.source)
    )


def _test(one: Measurement) -> str:
    said = one.context.parameters
    return f"{said.get('test', 'a test')} on {said.get('entity', 'an entity')}"


def _asked_by(one: Measurement) -> tuple[Action, bool]:
    error, severity = (one.context.parameters.get(name) for name in ("error_id", "severity"))
    if error is None and one.value == "fail":
        return Action.LOOK, True
    if error is None:
        return Action.NONE, False
    action, fatal = of_dcgm(int(error), None if severity is None else int(severity))
    return (Action.LOOK, True) if one.value == "fail" and action is Action.NONE else (action, fatal)


def _fatal(one: Measurement) -> bool:
    """Whether a pass with a warning warns of something that is fatal by its id or severity."""
    return one.value == "warn" and "error_id" in one.context.parameters and _asked_by(one)[1]
