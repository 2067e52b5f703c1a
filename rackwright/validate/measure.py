"""Steps with their raw output in, `Measurements` out: what was read, and what could not be.

The same for who measures and for who judges again later: measurements are never evidence, raw
output is.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rackwright.validate.model import (
    Completeness,
    Context,
    Ended,
    Measurement,
    Measurements,
    Parsed,
    Reading,
    Run,
    Step,
    Tool,
    Unread,
)
from rackwright.validate.parsers import dcgm_diag
from rackwright.validate.parsers.table import VERSIONS, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rackwright.validate.model import Artefact, Rail

OF_A_HOST = frozenset({Tool.MATRIX, Tool.LINKS, Tool.LINK, Tool.CLOCK, Tool.NCCL_LOG, Tool.COUNTERS})
"""Tools whose output names the host of each value."""
OF_ALL = frozenset({Tool.COLLECTIVES, Tool.NCCL_TESTS, Tool.RCCL_TESTS})
"""Tools whose output names all hosts that took part."""
_ZONES = timedelta(hours=15)
"""No zone is farther from UTC, and an hour for a clock that is off."""
_TOLD_THEIR_TALE = frozenset({Ended.DONE, Ended.FAILED})
"""A tool that finds a fault may say so by its exit status; what it printed counts."""


def measure(run: Run, read: Callable[[Artefact], str | Iterable[str]]) -> Measurements:
    """All measurements of a run, in the order of its steps.

    Args:
        run: with its steps.
        read: gives the text of an artefact, all of it or in parts that follow one another.
    """
    measured: list[Measurement] = []
    unread: list[Unread] = []
    versions, platform_of = common_versions(run), platforms(run)
    for step in run.steps:
        if step.stdout is None or step.ended not in _TOLD_THEIR_TALE:
            continue
        parsed = understood(step, read(step.stdout), run)
        if parsed.status is not Completeness.COMPLETE:
            unread.append(Unread(step=step.name, status=parsed.status, problem=parsed.problem))
        measured += _measurements(step, step.stdout, parsed, versions, platform_of)
    return Measurements(measurements=tuple(measured), unread=tuple(unread))


def understood(step: Step, text: str | Iterable[str], run: Run) -> Parsed:
    """Output of a step, read by its tool's parser and held against what was asked of whom."""
    parsed = parse(step.tool, text)
    if parsed.status is not Completeness.COMPLETE:
        return parsed
    problem = (
        _hosts_problem(step, parsed)
        or _ranks_problem(step, parsed)
        or _tests_problem(step, parsed)
        or _age_problem(parsed, run)
    )
    if problem:
        return Parsed(status=Completeness.INCOMPLETE, problem=problem)
    rails = {(rail.node, rail.interface): rail for rail in run.rails}
    placed = [_placed(reading, rails) for reading in parsed.readings]
    known = tuple(reading for reading in placed if reading is not None)
    if len(known) < len(placed):
        return Parsed(status=Completeness.CORRUPT, problem="an interface that is no rail of its host")
    return parsed.model_copy(update={"readings": known})


def _measurements(
    step: Step,
    artefact: Artefact,
    parsed: Parsed,
    versions: dict[str, str],
    platform_of: Mapping[str, str],
) -> Iterator[Measurement]:
    """What was read, with the step's context where the tool says nothing."""
    parser = f"{step.tool}/{VERSIONS[step.tool]}"
    for reading in parsed.readings:
        context = _whole(reading.context, step.context)
        yield Measurement(
            name=reading.name,
            value=reading.value,
            unit=reading.unit,
            context=context,
            step=step.name,
            artefact=artefact,
            parser=parser,
            platform=one_of(platform_of, context),
            versions=versions,
        )


def _whole(told: Context, asked: Context) -> Context:
    """What a tool told, completed by what was asked; of a value of one slot not who else took part.

    Else each of the values that thousands of nodes have of their own would name all of them.
    """
    whole = told.over(asked)
    return whole.model_copy(update={"nodes": told.nodes}) if told.node else whole


def common_versions(run: Run) -> dict[str, str]:
    """What all images of a run have alike."""
    known = [set(image.items()) for image in run.images.values()]
    return dict(sorted(set.intersection(*known))) if known else {}


def platforms(run: Run) -> dict[str, str]:
    """Slot → its platform."""
    return {slot: name for name, slots in run.platforms.items() for slot in slots}


def pools(run: Run) -> dict[str, str]:
    """Slot → its pool."""
    return {slot: name for name, slots in run.pools.items() for slot in slots}


def one_of(kind_of: Mapping[str, str], about: Context) -> str:
    """The one platform or pool of a value's slot, or of all slots of one that belongs to none.

    Empty where there are several, or none is known.
    """
    names = {kind_of.get(slot, "") for slot in ((about.node,) if about.node else about.nodes)}
    return names.pop() if len(names) == 1 else ""


def _hosts_problem(step: Step, parsed: Parsed) -> str:
    """Which hosts are not those the step ran on; empty where all are."""
    if step.tool in OF_A_HOST:
        seen = {reading.context.node for reading in parsed.readings if reading.context.node}
    elif step.tool in OF_ALL:
        seen = {node for reading in parsed.readings for node in reading.context.nodes}
    else:
        return ""
    missing, strange = sorted(set(step.nodes) - seen), sorted(seen - set(step.nodes))
    if missing:
        return f"nothing of {', '.join(missing)}"
    return f"{', '.join(strange)} was not asked" if strange else ""


def _ranks_problem(step: Step, parsed: Parsed) -> str:
    """Which ranks or collective are not those that were asked for; empty where all are."""
    for name in ("collective", "ranks"):
        asked = getattr(step.context, name)
        found = {getattr(reading.context, name) for reading in parsed.readings} - {None}
        if asked is not None and found - {asked}:
            return f"{name} {', '.join(sorted(map(str, found)))} where {asked} was asked for"
    return ""


def _tests_problem(step: Step, parsed: Parsed) -> str:
    """Which tests of the level that was asked for are missing; empty where none."""
    level = step.context.parameters.get("level")
    if step.tool is not Tool.DCGM_DIAG or not isinstance(level, int):
        return ""
    missing = dcgm_diag.lacking(level, parsed.readings)
    return f"level {level} was asked for, and nothing is said of {', '.join(missing)}" if missing else ""


def _age_problem(parsed: Parsed, run: Run) -> str:
    """Whether an output says that it is of another time than the run; by a host's own clock, in any zone."""
    first = datetime.fromisoformat(run.started)
    last = max(
        [first, *map(datetime.fromisoformat, (*run.resumed, *([run.finished] if run.finished else [])))]
    )
    for started in {str(one.context.parameters.get("started", "")) for one in parsed.readings} - {""}:
        told = datetime.fromisoformat(started).replace(tzinfo=UTC)
        if not first - _ZONES <= told <= last + _ZONES:
            return f"it is of {started}, and the run of {run.started}: another run's"
    return ""


def _placed(reading: Reading, rails: Mapping[tuple[str, str], Rail]) -> Reading | None:
    """A reading of an interface with its rail; None where the host has no such rail."""
    interface = reading.context.parameters.get("interface")
    if interface is None:
        return reading
    rail = rails.get((reading.context.node or "", str(interface)))
    if rail is None:
        return None
    place = Context(fabric=rail.fabric, rail=rail.rail)
    return reading.model_copy(update={"context": reading.context.over(place)})
