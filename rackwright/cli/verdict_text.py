"""How a verdict is answered: a block for each subject that does not pass, worst first, and an exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.errors import BAD, GOOD, INCOMPLETE, worst
from rackwright.verdict.model import Kind, Value
from rackwright.verdict.report.figures import counted, figure, listed, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.cli.output import Console
    from rackwright.verdict.folder import Judged
    from rackwright.verdict.model import Reason, Subject, Verdict

_COLOURS = {Value.PASS: "green", Value.FAIL: "red", Value.ERROR: "magenta", Value.NOT_RUN: "yellow"}
_CODES = {Value.FAIL: BAD, Value.ERROR: INCOMPLETE, Value.NOT_RUN: INCOMPLETE}
_WIDTH = 7
"""Of the longest verdict."""
_MOST_EVIDENCE = 3
_HASH = 16
"""Digits of a hash that a reader compares."""
_SHA256 = 64


def answer(console: Console, judged: Judged) -> int:
    """Print a verdict, and return its exit code: 1 for a FAIL, else 3 for an ERROR or NOT_RUN."""
    console.result(judged.verdict, text(judged))
    codes = {_CODES.get(subject.verdict, GOOD) for subject in judged.verdict.subjects}
    return worst([*codes, _CODES.get(judged.verdict.verdict, GOOD)])


def text(judged: Judged) -> str:
    """The verdict for a reader."""
    verdict = judged.verdict
    blocks = [line for subject in verdict.subjects for line in _subject(subject)]
    return "\n".join([*blocks, *_passing(verdict), *_left_out(verdict), *_end(judged)])


def _subject(subject: Subject) -> Iterator[str]:
    """A block for each reason that a subject does not pass; one line where another explains it."""
    telling = [reason for reason in subject.reasons if reason.value is not Value.PASS]
    own = [reason for reason in telling if not reason.explained_by]
    if telling and not own:
        first = telling[0]
        yield f"{_styled(subject.verdict)} {subject.name}: {spelled(first.cause)}"
        yield from _facts({"because": f"of {first.explained_by}"})
    for number, reason in enumerate(own):
        head = f"{_styled(reason.value)} {subject.name}: " if not number else " " * (_WIDTH + 1)
        yield f"{head}{spelled(reason.cause)}"
        yield from _facts(_of(reason))


def _passing(verdict: Verdict) -> Iterator[str]:
    """One line a kind."""
    for kind in Kind:
        names = [one.name for one in verdict.subjects if one.kind is kind and one.verdict is Value.PASS]
        if names:
            yield f"{_styled(Value.PASS)} {counted(len(names), kind)}: {listed(sorted(names))}"


def _of(reason: Reason) -> Mapping[str, str]:
    evidence = [artefact.path for artefact in reason.evidence]
    more = f" and {len(evidence) - _MOST_EVIDENCE} more" if len(evidence) > _MOST_EVIDENCE else ""
    measured = "" if reason.measured is None else _short(figure(reason.measured, reason.unit))
    return {
        "measured": measured,
        "expected": _short(spelled(reason.expected)),
        "from": reason.provenance,
        "next": reason.action,
        "evidence": ", ".join(evidence[:_MOST_EVIDENCE]) + more,
    }


def _facts(facts: Mapping[str, str]) -> Iterator[str]:
    for name, fact in facts.items():
        if fact:
            yield f"{'':{_WIDTH}}   {name:<9} {fact}"


def _short(fact: str) -> str:
    return f"{fact[:_HASH]}…" if len(fact) == _SHA256 and fact.isalnum() else fact


def _left_out(verdict: Verdict) -> Iterator[str]:
    """What was not applied, and what nothing judges, by reason."""
    for title, found in (("not applicable", verdict.not_applicable), ("not judged", verdict.not_judged)):
        for reason in dict.fromkeys(found.values()):
            names = ", ".join(name for name, why in found.items() if why == reason)
            yield f"{title}: {names}: {reason}"


def _end(judged: Judged) -> Iterator[str]:
    verdict = judged.verdict
    counts = [(value, sum(one.verdict is value for one in verdict.subjects)) for value in Value]
    by_value = ", ".join(f"{count} {value}" for value, count in counts if count)
    yield f"report: {judged.report}"
    yield f"{_styled(verdict.verdict).rstrip()}: {verdict.cluster} by {verdict.suite}: {by_value}"


def _styled(value: Value) -> str:
    return click.style(value, fg=_COLOURS[value], bold=True) + " " * (_WIDTH - len(value))
