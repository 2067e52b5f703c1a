"""Steps and files of a run in, what a reader may open and check out: paths, hashes, commands, ends."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import quote

from rackwright.validate.model import Artefact, Ended, Run, Step
from rackwright.verdict.report.figures import clipped, counted, listed, number

_COMMAND = 2_000
MOST_STEPS = 256
"""Of a check that are shown; run.json has all of them."""
_WELL: Mapping[Ended, str] = MappingProxyType(dict.fromkeys(Ended, "bad") | {Ended.DONE: "good"})
_ORDER: Mapping[Ended, int] = MappingProxyType(dict.fromkeys(Ended, 0) | {Ended.DONE: 1})


@dataclass(frozen=True, slots=True)
class Link:
    """A file of the run folder, from the report in it."""

    href: str
    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class StepRow:
    """One command that was run, or why it was not."""

    name: str
    nodes: str
    ended: str
    css: str
    reason: str
    seconds: str
    command: str
    files: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """All steps of one check, those that ended badly first."""

    name: str
    count: str
    opened: tuple[str, ...]
    """The attribute of an opened fold where a step ended badly."""
    steps: tuple[StepRow, ...]
    rest: tuple[str, ...]
    """One sentence on the steps that are not shown; none where all are."""


def links(artefacts: Iterable[Artefact]) -> Iterator[Link]:
    """Each file once."""
    for artefact in dict.fromkeys(artefacts):
        yield link(artefact.path, artefact.sha256)


def link(path: str, sha256: str) -> Link:
    """A relative link whatever the path holds: it names neither a host nor a script."""
    return Link(f"./{quote(path)}", path, sha256)


def checks(run: Run) -> tuple[Check, ...]:
    """Steps by check, in the order of the run."""
    names = dict.fromkeys(step.check for step in run.steps)
    return tuple(_check(name, [step for step in run.steps if step.check == name]) for name in names)


def _check(name: str, steps: list[Step]) -> Check:
    bad = sum(step.ended is not Ended.DONE for step in steps)
    ordered = sorted(steps, key=lambda step: _ORDER[step.ended])
    return Check(
        name=name,
        count=counted(len(steps), "step") + (f", {number(bad, 12)} did not end well" if bad else ""),
        opened=("open",) if bad else (),
        steps=tuple(map(_step, ordered[:MOST_STEPS])),
        rest=_rest(ordered[MOST_STEPS:]),
    )


def _rest(left: list[Step]) -> tuple[str, ...]:
    if not left:
        return ()
    bad = sum(step.ended is not Ended.DONE for step in left)
    ended = f", {number(bad, 12)} of which did not end well" if bad else ", which all ended well"
    return (f"And {number(len(left), 12)} more steps{ended}: run.json has each of them with its files.",)


def _step(step: Step) -> StepRow:
    status = "" if step.exit_status is None else f", exit status {step.exit_status}"
    files = [artefact for artefact in (step.stdout, step.stderr) if artefact is not None]
    return StepRow(
        name=step.name,
        nodes=listed(step.nodes),
        ended=f"{step.ended.value.replace('-', ' ')}{status}",
        css=_WELL[step.ended],
        reason=clipped(step.reason),
        seconds=number(step.seconds),
        command=clipped(shlex.join(step.command), _COMMAND),
        files=tuple(links(files)),
    )
