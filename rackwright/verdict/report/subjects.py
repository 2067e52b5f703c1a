"""Subjects of a verdict in, findings out: what is at fault first, then what only suffers from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rackwright.verdict.judgement import WORST
from rackwright.verdict.model import Kind, Reason, Subject, Value, Verdict
from rackwright.verdict.report.evidence import Link, links
from rackwright.verdict.report.figures import clipped, counted, figure, listed, number, spelled

_EXACT = 4
"""Digits of what was judged: a value just below its bound must not be rounded onto it."""
_LONG = 2_000
_FULL_CARDS = 25
MOST_LINES = 4_096
"""Of subjects that passed; verdict.json has all of them."""
_FIRST_LINKS = 2
_UNSAID: Mapping[Value, str] = MappingProxyType(
    {
        Value.PASS: "Nothing to do.",
        Value.FAIL: "Open the evidence; no action is known for this cause.",
        Value.ERROR: "Find out why it could not be measured, then validate again.",
        Value.NOT_RUN: "Validate again once the reason is gone.",
    }
)


@dataclass(frozen=True, slots=True)
class Badge:
    """A verdict as it is shown: a word, a sign and a colour that say the same."""

    word: str
    sign: str
    css: str


BADGES: Mapping[Value, Badge] = MappingProxyType(
    {
        Value.PASS: Badge("PASS", "✓", "pass"),
        Value.FAIL: Badge("FAIL", "✕", "fail"),
        Value.ERROR: Badge("ERROR", "!", "error"),
        Value.NOT_RUN: Badge("NOT RUN", "\N{EN DASH}", "not-run"),
    }
)


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """One criterion that was applied."""

    criterion: str
    badge: Badge
    cause: str
    measured: str
    expected: str
    provenance: str
    action: str
    evidence: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A subject that did not pass, by its own fault."""

    anchor: str
    name: str
    kind: str
    badge: Badge
    first: ReasonRow
    """What a reader must know: the worst reason."""
    first_links: tuple[Link, ...]
    more_links: tuple[str, ...]
    reasons: tuple[ReasonRow, ...]
    """All that it did not pass."""
    passed: str
    """Criteria it passed; empty for none."""
    concerns: str
    """Who has a verdict because of it; empty for none."""


@dataclass(frozen=True, slots=True)
class Line:
    """A subject told in one line."""

    name: str
    kind: str
    badge: Badge
    text: str


@dataclass(frozen=True, slots=True)
class Group:
    """Subjects that are told in a line each, folded away."""

    title: str
    opened: tuple[str, ...]
    """The attribute of an opened fold; none of one that nobody must see."""
    lines: tuple[Line, ...]
    rest: tuple[str, ...] = ()
    """One sentence on those that are not shown; none where all are."""


@dataclass(frozen=True, slots=True)
class Subjects:
    """All subjects, sorted by how they are shown."""

    summary: str
    findings: tuple[Finding, ...]
    groups: tuple[Group, ...]


def arranged(verdict: Verdict) -> Subjects:
    """Sort subjects; their order among themselves, worst first, is the verdict's."""
    bad = [subject for subject in verdict.subjects if subject.verdict is not Value.PASS]
    good = [subject for subject in verdict.subjects if subject.verdict is Value.PASS]
    roots = [subject for subject in bad if not _is_explained(subject)] or bad
    own = {subject.name for subject in roots}
    suffering = [subject for subject in bad if subject.name not in own]
    concerned = _concerned(bad)
    findings = (
        _finding(number, subject, concerned.get(subject.name, []))
        for number, subject in enumerate(roots[:_FULL_CARDS], 1)
    )
    groups = (
        _group("Further findings", map(_bad_line, roots[_FULL_CARDS:]), ("open",)),
        _group("Explained by the above, no fault of their own", map(_bad_line, suffering), ()),
        _passing(good),
    )
    return Subjects(
        summary(verdict.subjects), tuple(findings), tuple(group for group in groups if group.lines)
    )


def _passing(good: Sequence[Subject]) -> Group:
    """Those that passed, as many as a page carries."""
    told = _group("Passed", map(_good_line, good[:MOST_LINES]), ())
    left = len(good) - MOST_LINES
    if left <= 0:
        return told
    rest = f"And {number(left, 12)} more that passed: verdict.json has each of them."
    return Group(f"Passed: {listed([subject.name for subject in good])}", told.opened, told.lines, (rest,))


def _group(title: str, lines: Iterable[Line], opened: tuple[str, ...]) -> Group:
    told = tuple(lines)
    return Group(f"{title}: {listed([line.name for line in told])}", opened, told)


def _faults(subject: Subject) -> list[Reason]:
    """Reasons it did not pass: worst first, its own before those of others, those with a figure first."""
    return sorted(
        (reason for reason in subject.reasons if reason.value is not Value.PASS),
        key=lambda reason: (
            WORST.index(reason.value),
            reason.explained_by != "",
            reason.measured is None,
        ),
    )


def _is_explained(subject: Subject) -> bool:
    faults = _faults(subject)
    return bool(faults) and all(reason.explained_by for reason in faults)


def _concerned(subjects: Iterable[Subject]) -> Mapping[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for subject in subjects:
        for name in dict.fromkeys(name for reason in _faults(subject) for name in _explaining(reason)):
            found[name].append(subject.name)
    return found


def _explaining(reason: Reason) -> list[str]:
    """Subjects whose fault is the reason for this one: a site may have several."""
    return [name for name in reason.explained_by.split(", ") if name]


def summary(subjects: Sequence[Subject]) -> str:
    """``1 of 3 nodes and 1 of 6 rails FAIL``: each kind and verdict but those that passed."""
    kinds = Counter(subject.kind for subject in subjects)
    counts = Counter((subject.verdict, subject.kind) for subject in subjects)
    told = [
        f"{_join([_share(counts[value, kind], kinds[kind], kind) for kind in Kind if counts[value, kind]])}"
        f" {BADGES[value].word}"
        for value in WORST[:-1]
        if any(counts[value, kind] for kind in Kind)
    ]
    if told:
        passed = sum(subject.verdict is Value.PASS for subject in subjects)
        return f"{'; '.join(told)}; {counted(passed, 'subject')} passed."
    return f"{_join([counted(kinds[kind], kind.value) for kind in Kind if kinds[kind]])} passed."


def _share(count: int, of: int, kind: Kind) -> str:
    return f"{count} of {counted(of, kind.value)}"


def _join(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _finding(number: int, subject: Subject, concerns: Sequence[str]) -> Finding:
    rows = tuple(map(_row, _faults(subject))) or (_unsaid(subject),)
    evidence = rows[0].evidence
    passed = sorted({reason.criterion for reason in subject.reasons if reason.value is Value.PASS})
    return Finding(
        anchor=f"finding-{number}",
        name=clipped(subject.name),
        kind=subject.kind.value,
        badge=BADGES[subject.verdict],
        first=rows[0],
        first_links=evidence[:_FIRST_LINKS],
        more_links=(f"{len(evidence) - _FIRST_LINKS} more",) if len(evidence) > _FIRST_LINKS else (),
        reasons=rows,
        passed=listed(passed) or "none",
        concerns=listed(concerns) or "nobody",
    )


def _row(reason: Reason) -> ReasonRow:
    return ReasonRow(
        criterion=reason.criterion,
        badge=BADGES[reason.value],
        cause=_said(reason, _LONG),
        measured="no value" if reason.measured is None else figure(reason.measured, reason.unit, _EXACT),
        expected=spelled(clipped(reason.expected))
        or ("a measurement" if reason.measured is None else "not known"),
        provenance=spelled(clipped(reason.provenance)),
        action=spelled(clipped(reason.action, _LONG)) or _UNSAID[reason.value],
        evidence=tuple(links(reason.evidence)),
    )


def _unsaid(subject: Subject) -> ReasonRow:
    """For a subject without any reason; a judge that gives none has a fault of its own."""
    return _row(Reason(criterion="none", value=subject.verdict, cause="No criterion was applied to it."))


def _bad_line(subject: Subject) -> Line:
    return _line(subject, "; ".join(_said(reason) for reason in _faults(subject)[:3]))


def _said(reason: Reason, longest: int = 200) -> str:
    because = f" (because of {reason.explained_by})" if reason.explained_by else ""
    return spelled(clipped(reason.cause, longest)) + because


def _good_line(subject: Subject) -> Line:
    return _line(subject, "; ".join(_passed(subject.reasons)))


def _passed(reasons: Iterable[Reason]) -> Iterator[str]:
    for reason in reasons:
        against = f", {spelled(clipped(reason.expected))}" if reason.expected else ""
        if reason.measured is None:
            yield f"{reason.criterion}{against}"
        else:
            yield f"{reason.criterion}: {figure(reason.measured, reason.unit, _EXACT)}{against}"


def _line(subject: Subject, text: str) -> Line:
    return Line(clipped(subject.name), subject.kind.value, BADGES[subject.verdict], text)
