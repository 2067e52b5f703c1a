"""A verdict, its run, measurements and expectations in, one HTML page out."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from markupsafe import Markup

from rackwright.render.templates import render
from rackwright.validate.expectations import Expectation, Expectations, Key
from rackwright.validate.model import Measurements, Run, Unit
from rackwright.verdict.matching import Bounds
from rackwright.verdict.model import Verdict
from rackwright.verdict.report import bandwidth, evidence, pairs, plots, subjects
from rackwright.verdict.report.alone import Alone, alone
from rackwright.verdict.report.figures import clipped, counted, figure, listed, number, size
from rackwright.verdict.report.levels import LEVELS, UNBOUND, Level, words
from rackwright.verdict.report.likeness import Likeness, likenesses

TEMPLATE = "report/report.html.j2"
STYLE = "report/style.css"
_SAID = {"name", "check", "collective", "size_bytes", "fabric", "parameters", "versions"}
"""Of a key, what is said without its name."""
_LONG = 2_000
"""Of the names of all that has one reason, characters."""
_MOST_BARE = 8
"""Quantities without a figure that are shown beside those that have one."""
_RUN_FILE = "run.json"
_MEASUREMENTS_FILE = "measurements.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """A term and what is said of it."""

    term: str
    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What was left out of the judgement, and why."""

    title: str
    about: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class ExpectationRow:
    """One expectation with where it comes from."""

    what: str
    bound: str
    nominal: str
    provenance: str
    source: str


@dataclass(frozen=True, slots=True)
class File:
    """A file of the run beside its raw output."""

    href: str
    path: str
    holds: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Alike:
    """What was measured on nodes alone."""

    plots: tuple[plots.Plot, ...]
    likenesses: tuple[Likeness, ...]

    @property
    def count(self) -> str:
        """``12 quantities``."""
        many = len(self.plots) + len(self.likenesses)
        return "1 quantity" if many == 1 else f"{number(many, 12)} quantities"


@dataclass(frozen=True, slots=True)
class Page:
    """All that the page shows."""

    title: str
    policy: str
    style: Markup
    cluster: str
    suite: str
    started: str
    badge: subjects.Badge
    warnings: tuple[str, ...]
    subjects: subjects.Subjects
    clear: tuple[str, ...]
    """One sentence where nothing is at fault."""
    bandwidth: tuple[bandwidth.Panel, ...]
    matrices: tuple[pairs.Matrix, ...]
    rails: tuple[plots.Plot, ...]
    nodes: Alike
    folded: tuple[Alike, ...]
    """What has no figure, where that is much; folded away."""
    levels: tuple[Level, ...]
    listings: tuple[Listing, ...]
    expectations: tuple[ExpectationRow, ...]
    checks: tuple[evidence.Check, ...]
    files: tuple[File, ...]
    facts: tuple[Entry, ...]


def html(verdict: Verdict, run: Run, measurements: Measurements, expectations: Expectations) -> str:
    """The report of a run, for a file in the run's folder: all its links are relative to that.

    Self-contained: style and drawings are inline, it has no script, and its policy forbids every
    request. Same input, same bytes.
    """
    return render(TEMPLATE, {"page": _page(verdict, run, measurements, expectations)})


def _page(verdict: Verdict, run: Run, measurements: Measurements, expectations: Expectations) -> Page:
    style = render(STYLE, {})
    bounds = Bounds(run, expectations.expectations)
    single = alone(measurements.measurements, bounds, run.rails)
    ways = pairs.ways(measurements.measurements, bounds)
    nodes, folded = _nodes_alone(single, bounds)
    badge = subjects.BADGES[verdict.verdict]
    arranged = subjects.arranged(verdict)
    return Page(
        title=f"{badge.word}: {clipped(verdict.cluster)}, {clipped(verdict.suite)}, {verdict.started}",
        policy=_policy(style),
        style=Markup(style),  # noqa: S704 (our own file)
        cluster=clipped(verdict.cluster),
        suite=clipped(verdict.suite),
        started=verdict.started,
        badge=badge,
        warnings=tuple(_warnings(run)),
        subjects=arranged,
        clear=() if arranged.findings else ("Nothing to do.",),
        bandwidth=bandwidth.panels(measurements.measurements, bounds),
        matrices=pairs.matrices(ways),
        rails=plots.rails(ways),
        nodes=nodes,
        folded=folded,
        levels=LEVELS[:-1],
        listings=tuple(_listings(verdict, run, measurements)),
        expectations=tuple(map(_expectation, expectations.expectations)),
        checks=evidence.checks(run),
        files=tuple(_files(run)),
        facts=tuple(_facts(run)),
    )


def _nodes_alone(single: Sequence[Alone], bounds: Bounds) -> tuple[Alike, tuple[Alike, ...]]:
    """What is shown at once, and what is folded away: a node of accelerators tells of a hundred things."""
    drawn, told = plots.nodes(single, bounds), likenesses(single, bounds)
    bare = Alike(
        tuple(one for one in drawn if one.level is UNBOUND),
        tuple(one for one in told if one.level is UNBOUND),
    )
    if len(bare.plots) + len(bare.likenesses) <= _MOST_BARE:
        return Alike(drawn, told), ()
    judged = Alike(
        tuple(one for one in drawn if one.level is not UNBOUND),
        tuple(one for one in told if one.level is not UNBOUND),
    )
    return judged, (bare,)


def _policy(style: str) -> str:
    """Content-Security-Policy: nothing but our own style, known by its hash."""
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _warnings(run: Run) -> Iterator[str]:
    if run.finished is None:
        yield "This run did not come to its end: what it had measured until then is judged here."


def _listings(verdict: Verdict, run: Run, measurements: Measurements) -> Iterator[Listing]:
    yield _listing("Held", "Left alone, in maintenance or at work; no verdict on them.", verdict.held)
    yield _listing("Lost", "Went away, or could not be measured.", run.lost)
    unread = {one.step: f"{one.status.value.replace('_', ' ')}: {one.problem}" for one in measurements.unread}
    yield _listing("Not read", "Run, but what the tool printed could not be used.", unread)
    yield _listing(
        "Not applicable", "Cannot be asked of this cluster; no verdict.", _by_reason(verdict.not_applicable)
    )
    yield _listing(
        "Not judged",
        "Measured, but nobody published or measured a figure to judge it by.",
        _by_reason(verdict.not_judged),
    )


def _by_reason(said: Mapping[str, str]) -> Mapping[str, str]:
    """What has one reason, in one entry."""
    names: dict[str, list[str]] = {}
    for name, reason in sorted(said.items()):
        names.setdefault(reason, []).append(name)
    return {", ".join(having): reason for reason, having in names.items()}


def _listing(title: str, about: str, said: Mapping[str, str]) -> Listing:
    entries = (Entry(clipped(name, _LONG), clipped(reason)) for name, reason in sorted(said.items()))
    return Listing(title, about, tuple(entries) or (Entry("None", ""),))


def _expectation(expectation: Expectation) -> ExpectationRow:
    no_figure = expectation.one_of or expectation.unit is Unit.YES_NO
    return ExpectationRow(
        what=_about(expectation.key),
        bound=words(expectation),
        nominal="" if no_figure else figure(expectation.nominal, expectation.unit),
        provenance=expectation.provenance.value,
        source=clipped(expectation.source),
    )


def _about(key: Key) -> str:
    """All of a key that makes it another one: ``counters, growth, counter link_downed``."""
    count = "" if key.size_bytes is None else size(key.size_bytes)
    named = [key.check, key.name, key.collective or "", count, key.fabric or ""]
    parts = [part.replace("_", "-") for part in named if part]
    said = key.model_dump(exclude_defaults=True, exclude=_SAID)
    more = {**said, **key.parameters, **key.versions}
    counts = {"rails": "rail", "ranks": "rank"}
    parts += [
        counted(value, counts[name]) if name in counts else f"{name} {value}" for name, value in more.items()
    ]
    return clipped(", ".join(parts))


def _files(run: Run) -> Iterator[File]:
    """Files beside raw/; run.json holds the hashes of all others, and its own."""
    made = evidence.link(run.expectations.path, run.expectations.sha256)
    yield File(f"./{_RUN_FILE}", _RUN_FILE, "what was asked and run, and the hash of every file", "")
    yield File(made.href, made.path, "what the plan let one expect", made.sha256)
    if run.history is not None:
        kept = evidence.link(run.history.path, run.history.sha256)
        yield File(kept.href, kept.path, "what earlier runs said of these nodes", kept.sha256)
    yield File(
        f"./{_MEASUREMENTS_FILE}", _MEASUREMENTS_FILE, "every value, with the file it was read from", ""
    )


def _facts(run: Run) -> Iterator[Entry]:
    yield Entry("Cluster", clipped(run.cluster))
    yield Entry("Suite", clipped(run.suite))
    yield Entry("Plan (SHA-256)", run.plan_sha256)
    yield Entry("Started", run.started)
    for moment in run.resumed:
        yield Entry("Went on", f"{moment}, after it had been cut off")
    yield Entry("Finished", run.finished or "not finished")
    yield Entry("Slurm jobs", listed([str(job) for job in run.job_ids]) or "none")
    yield Entry("Checks", ", ".join(run.checks) or "none")
    for site, nodes in sorted(run.sites.items()):
        yield Entry(f"Site {clipped(site)}", _nodes(nodes))


def _nodes(nodes: Sequence[str]) -> str:
    return listed(nodes) or "no node"
