"""Earlier runs in, what they said of today's machines out; and who of these fails again and again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from rackwright import documents, strict_yaml
from rackwright.errors import EvidenceSpoiled, UsageError
from rackwright.spec.base import Model
from rackwright.validate import evidence
from rackwright.validate.history import Earlier, History
from rackwright.validate.limits import Source
from rackwright.verdict.judgement import Judgement, Who
from rackwright.verdict.model import Kind, Reason, Value
from rackwright.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rackwright.validate.model import Artefact, Run

CLEARED = "cleared.yaml"
NAME = "repeat-offender"
_DATA = Path(__file__).parent / "data" / "repeat.yaml"
_MOST_TOLD = 5


class Rule(Model):
    """When a node is told of."""

    faults: Annotated[int, Field(ge=2)]
    window_days: Annotated[int, Field(ge=1)]
    source: Source

    @property
    def window(self) -> timedelta:
        """How far back a run counts."""
        return timedelta(days=self.window_days)


@cache
def rule() -> Rule:
    """That which comes with the package."""
    return Rule.model_validate(strict_yaml.load(_DATA.read_text(encoding="utf-8")))


class _Part(Model):
    """A part of a verdict; what is not read here, its measurements first of all, is left alone."""

    model_config = ConfigDict(extra="ignore")


class _Reason(_Part):
    criterion: str
    value: Value
    explained_by: str = ""


class _Subject(_Part):
    name: str
    kind: Kind
    reasons: tuple[_Reason, ...]


class _Said(_Part):
    cluster: str
    started: str
    subjects: tuple[_Subject, ...]


def earlier(runs: Path, cluster: str, now: datetime, machines: Mapping[str, str]) -> History:
    """What the runs below a folder, each with its verdict, say of these machines.

    Args:
        runs: folder of all runs; one that is not there has none.
        cluster: only its runs count.
        now: runs that began longer ago than the rule looks back do not count.
        machines: slot → serial number or instance that fills it; empty where nobody knows. Runs say nothing
            of a slot that another machine filled then.

    Raises:
        UsageError: `cleared.yaml` there is not what it should be.
    """
    cleared = _cleared(runs / CLEARED)
    read: dict[str, Run] = {}
    unread: dict[str, str] = {}
    nodes: dict[str, list[Earlier]] = {}
    for folder in sorted(path.parent for path in runs.glob(f"*/{evidence.RUN}")):
        name = visible(folder.name)  # bytes that are no text could be written into no document
        try:
            run = evidence.load(folder)
            if run.cluster != cluster or not _is_within(run.started, now):
                continue
            said = _verdict(folder, run)
        except (UsageError, EvidenceSpoiled) as error:
            unread[name] = visible(f"{error.message}: {error.where}")
            continue
        read[name] = run
        for slot, one in _told(name, said):
            same = slot in machines and run.machines.get(slot, "") == machines[slot]
            if same and one.started[:10] > cleared.get(slot, ""):
                nodes.setdefault(slot, []).append(one)
    return History(
        runs=tuple(sorted(read, key=lambda name: read[name].started)),
        nodes={
            slot: tuple(sorted(told, key=lambda one: one.started)) for slot, told in sorted(nodes.items())
        },
        unread=unread,
        cleared={slot: day for slot, day in cleared.items() if slot in machines},
    )


def _cleared(path: Path) -> dict[str, str]:
    """Slot → day up to which its faults are forgiven."""
    if not path.exists():
        return {}
    text = documents.text_of(path, "VAL011", "a map of slots to days")
    try:
        read = TypeAdapter(dict[str, date]).validate_python(strict_yaml.load(text) or {})
    except (strict_yaml.NotYaml, ValidationError) as error:
        raise UsageError(
            "this does not say from when on nodes are trusted again",
            code="VAL011",
            where=str(path),
            got=" ".join(str(error).split())[:200],
            expected="a map of slots to days, each the last one that does not count: `node-002: 2026-11-28`",
        ) from None
    return {slot: day.isoformat() for slot, day in read.items()}


def _is_within(started: str, now: datetime) -> bool:
    return timedelta() <= now - datetime.fromisoformat(started) <= rule().window


def _verdict(folder: Path, run: Run) -> _Said:
    """What was last judged of a run.

    Raises:
        UsageError: nothing, or a file that is none of this run; the run has not come to its end.
    """
    if run.finished is None:
        raise UsageError("the run has not come to its end", code="RUN001", where=str(folder / evidence.RUN))
    path = folder / "verdict.json"
    expected = "the verdict that `rackwright judge` wrote"
    text = documents.text_of(path, "RUN001", expected)
    try:
        said = _Said.model_validate_json(text)
    except ValidationError:
        said = None
    if said is None or (said.cluster, said.started) != (run.cluster, run.started):
        raise UsageError("no verdict of this run", code="RUN001", where=str(path), expected=expected)
    return said


def _told(name: str, said: _Said) -> Iterator[tuple[str, Earlier]]:
    """Slot → what is said of it, where it was itself at fault, or where nothing is wrong with it."""
    passed, failed = set[str](), dict[str, tuple[str, str]]()
    for subject in said.subjects:
        if subject.kind in (Kind.NODE, Kind.RAIL):
            slot = subject.name.partition("/")[0]
            own = [one for one in subject.reasons if one.criterion != NAME]
            for one in own:
                if one.value is Value.FAIL and not one.explained_by:
                    failed.setdefault(slot, (subject.name, one.criterion))
            if subject.kind is Kind.NODE and own and all(one.value is Value.PASS for one in own):
                passed.add(slot)
    for slot, (subject_name, criterion) in failed.items():
        yield (
            slot,
            Earlier(run=name, started=said.started, failed=True, subject=subject_name, criterion=criterion),
        )
    for slot in passed - failed.keys():
        yield slot, Earlier(run=name, started=said.started, failed=False)


@dataclass(frozen=True)
class RepeatOffender:
    """No node was put right and failed again too often: its faults come back, whatever is done about them."""

    name: ClassVar[str] = NAME

    def judge(
        self, run: Run, history: History, nodes: Iterable[str], found: Iterable[Judgement]
    ) -> Iterator[Judgement]:
        """Each of these nodes, by earlier runs and by what was found in this one."""
        if not history.runs or run.history is None:
            return
        failing = _failing(found)
        for node in nodes:
            told = [
                one
                for one in history.nodes.get(node, ())
                if _is_within(one.started, datetime.fromisoformat(run.started))
            ]
            if node in failing:
                told.append(failing[node].model_copy(update={"started": run.started}))
            if told:  # of a machine that is new here nothing is known, and nothing is said
                yield self._of(node, tuple(_faults(told)), run.history, len(told))

    def _of(self, node: str, faults: tuple[Earlier, ...], kept: Artefact, told: int) -> Judgement:
        often = len(faults) >= rule().faults
        shown = ", ".join(
            f"{one.criterion} of {one.subject} on {one.started[:10]}" for one in faults[-_MOST_TOLD:]
        )
        times = "once" if len(faults) == 1 else f"{len(faults)} times"
        if often:
            cause = f"it was put right and failed again, {times} within {rule().window_days} days: {shown}"
        elif faults:
            cause = f"it failed {times} within {rule().window_days} days: {shown}"
        else:
            cause = f"it failed in none of the {told} runs that tell of it"
        reason = Reason(
            criterion=self.name,
            value=Value.FAIL if often else Value.PASS,
            cause=cause,
            measured=len(faults),
            expected=f"fewer than {rule().faults} faults within {rule().window_days} days",
            provenance=f"{rule().source.text} ({rule().source.date})" if often else "",
            evidence=(kept,),
        )
        return Judgement(Who(Kind.NODE, node), reason)


def _failing(found: Iterable[Judgement]) -> dict[str, Earlier]:
    """Slots that are themselves at fault in this run."""
    failing: dict[str, Earlier] = {}
    for one in found:
        kind, name = one.subject
        if kind in (Kind.NODE, Kind.RAIL) and one.reason.value is Value.FAIL and not one.reason.explained_by:
            about = Earlier(run="", started="", failed=True, subject=name, criterion=one.reason.criterion)
            failing.setdefault(name.partition("/")[0], about)
    return failing


def _faults(told: Iterable[Earlier]) -> Iterator[Earlier]:
    """The first run of each fault: who still fails in the next one has it still."""
    failed = False
    for one in told:
        if one.failed and not failed:
            yield one
        failed = one.failed
