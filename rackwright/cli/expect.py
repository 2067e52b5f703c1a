"""`rackwright expect`: figures learned from a fleet, and which figure applies to a subject."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli import frame
from rackwright.errors import BAD, GOOD, INCOMPLETE, UsageError
from rackwright.validate.evidence import RUN
from rackwright.validate.expectations import Expectations
from rackwright.verdict import given
from rackwright.verdict.explain import explain
from rackwright.verdict.folder import load
from rackwright.verdict.judgement import bound_text
from rackwright.verdict.learn import learn
from rackwright.verdict.report.figures import figure, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.validate.expectations import Expectation, Key
    from rackwright.verdict.explain import Explained
    from rackwright.verdict.folder import Judged
    from rackwright.verdict.learn import Lesson

LEARN_SCHEMA = "rackwright/expect-learn/1"
EXPLAIN_SCHEMA = "rackwright/expect-explain/1"


@click.group()
def command() -> None:
    """Expectations: learned from a fleet, and explained."""


@frame.command(
    "learn",
    example="rackwright expect learn runs/hall/2026-11-28T080000Z --out figures.json\n"
    "rackwright expect learn runs/a/2026-11-28T080000Z runs/a/2026-11-29T080000Z --out fig.json --replace",
    group=command,
)
@click.argument("run_dirs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", required=True, help="What to write.")
@click.option(
    "--without", multiple=True, metavar="SLOT", help="Leave out the values of this slot; may be repeated."
)
@click.option("--replace", is_flag=True, help="Replace figures that FILE has for the same; each is told.")
def _learn(
    console: Console, run_dirs: tuple[Path, ...], *, out: Path, without: tuple[str, ...], replace: bool
) -> int:
    """Learn what healthy machines reach from the runs in RUN_DIRS, and write FILE for `judge --expect`.

    By median and MAD, of at least 8 subjects. A fleet of two kinds, or one that is spread too wide for a
    gate, teaches nothing (exit code 1); fewer subjects neither (3, where nothing else was learned).
    """
    _refuse_evidence(out)
    runs = [load(folder) for folder in run_dirs]
    _refuse_strangers(runs, without)
    lesson = learn(runs, frozenset(without))
    before = given.read(out).expectations if out.exists() else ()
    replaced = _replaced(lesson, before, out, allowed=replace)
    if lesson.learned:
        own = {one.key.identity for one in lesson.learned}
        kept = [one for one in before if one.key.identity not in own]
        canonical.write_atomic(out, canonical.dumps(Expectations(expectations=(*kept, *lesson.learned))))
    console.result(_lesson_json(lesson, replaced, out), "\n".join(_lesson_text(lesson, replaced, out)))
    if any(one.kind != "few" for one in lesson.left_out):
        return BAD
    return GOOD if lesson.learned else INCOMPLETE


def _refuse_evidence(out: Path) -> None:
    """What lies in a run folder is evidence: a run whose files change is judged no more."""
    folder = next((one for one in (paths.real(out.parent) / out.name).parents if _is_run(one / RUN)), None)
    if folder is not None:
        raise UsageError(
            "the file would lie within a run's folder",
            code="EXP007",
            where=str(out),
            got=f"{folder / RUN} beside or above it",
            expected="a place outside of every run: its files are evidence",
        )


def _is_run(path: Path) -> bool:
    """Whether a file is the run.json of a run, and not of something else that has that name too."""
    return path.is_file() and "rackwright/run/" in path.read_text(encoding="utf-8", errors="replace")


def _refuse_strangers(runs: Sequence[Judged], without: tuple[str, ...]) -> None:
    slots = {slot for one in runs for names in one.run.sites.values() for slot in names}
    strange = sorted(set(without) - slots)
    if strange:
        raise UsageError(
            "no run has such a slot",
            where="--without",
            got=", ".join(strange),
            expected="slots of these runs",
        )


def _replaced(
    lesson: Lesson, before: Sequence[Expectation], out: Path, *, allowed: bool
) -> list[tuple[Expectation, Expectation]]:
    """Figures of the file that are learned anew, old and new."""
    old = {one.key.identity: one for one in before}
    both = [(old[name], one) for one in lesson.learned if (name := one.key.identity) in old]
    if both and not allowed:
        first, second = both[0]
        raise UsageError(
            f"{len(both)} figures of the file would be replaced, and nothing was written",
            code="EXP006",
            where=str(out),
            got=f"{_about(first.key)}: {bound_text(first)} ({first.source}); now {bound_text(second)}",
            expected="a new file, or one without these figures",
            hint="--replace replaces them, and tells each; another --out keeps both",
        )
    return both


def _lesson_json(
    lesson: Lesson, replaced: Sequence[tuple[Expectation, Expectation]], out: Path
) -> Mapping[str, Json]:
    return {
        "schema": LEARN_SCHEMA,
        "out": str(out) if lesson.learned else None,
        "learned": [one.model_dump(mode="json", exclude_defaults=True) for one in lesson.learned],
        "replaced": [
            {
                "key": old.key.model_dump(mode="json", exclude_defaults=True),
                "old": old.at_least,
                "new": new.at_least,
            }
            for old, new in replaced
        ],
        "left_out": [
            {
                "key": one.key.model_dump(mode="json", exclude_defaults=True),
                "reason": one.reason,
                "kind": one.kind,
            }
            for one in lesson.left_out
        ],
    }


def _lesson_text(
    lesson: Lesson, replaced: Sequence[tuple[Expectation, Expectation]], out: Path
) -> Iterator[str]:
    for one in lesson.learned:
        yield f"learned   {_about(one.key)}: {spelled(bound_text(one))} ({one.source})"
    for old, new in replaced:
        yield f"replaced  {_about(old.key)}: {spelled(bound_text(old))} by {spelled(bound_text(new))}"
    for left in lesson.left_out:
        yield f"left out  {_about(left.key)}: {left.reason}"
    yield (
        f"{len(lesson.learned)} figures in {out}"
        if lesson.learned
        else "nothing was learned, nothing written"
    )


def _about(key: Key) -> str:
    said = key.model_dump(
        mode="json", exclude_defaults=True, exclude={"name", "check", "parameters", "pattern"}
    )
    words = [f"{name} {value}" for name, value in {**said, **key.parameters}.items()]
    return f"{key.check} {key.name}" + (f" ({', '.join(words)})" if words else "")


@frame.command(
    "explain",
    example="rackwright expect explain runs/lab/2026-11-28T080000Z node-002\n"
    "rackwright expect explain runs/lab/2026-11-28T080000Z node-002/r1 --expect figures.json",
    group=command,
)
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.argument("subject")
@click.option(
    "--expect", type=click.Path(path_type=Path), metavar="FILE", help="Further expectations, as for `judge`."
)
def _explain(console: Console, run_dir: Path, subject: str, *, expect: Path | None) -> int:
    """Tell which figure applies to each value of SUBJECT in the run of RUN_DIR, and why that one.

    With its provenance, source and date. Exit code 3 where a value has none.
    """
    judged = load(run_dir, expect)
    found = explain(judged, subject)
    if not found:
        raise _nobody(judged, subject)
    document: Mapping[str, Json] = {
        "schema": EXPLAIN_SCHEMA,
        "subject": subject,
        "values": [_value_json(one) for one in found],
    }
    console.result(document, "\n".join([subject, *(line for one in found for line in _value_text(one))]))
    return GOOD if all(one.figure is not None for one in found) else INCOMPLETE


def _nobody(judged: Judged, subject: str) -> UsageError:
    known = [one.name for one in judged.verdict.subjects]
    measured = subject in known
    return UsageError(
        "nothing of it was measured" if measured else "the run has no such subject",
        where="SUBJECT",
        got=subject,
        expected="one of which there are values" if measured else ", ".join(sorted(known)[:20]),
    )


def _value_json(one: Explained) -> Json:
    return {
        "check": one.check,
        "name": one.measurement.name,
        "value": one.measurement.value,
        "unit": one.measurement.unit.value,
        "values": one.count,
        "expected": bound_text(one.figure) if one.figure else None,
        "provenance": one.figure.provenance.value if one.figure else None,
        "source": one.figure.source if one.figure else None,
        "date": one.date or None,
        "why": one.why,
        "key": one.figure.key.model_dump(mode="json", exclude_defaults=True) if one.figure else None,
        "others": [{"expected": bound_text(other), "source": other.source} for other in one.others],
    }


def _value_text(one: Explained) -> Iterator[str]:
    about = one.measurement.context
    what = ", ".join(
        str(part)
        for part in (about.collective, f"{about.size_bytes} bytes" if about.size_bytes else "")
        if part
    )
    shown = figure(one.measurement.value, one.measurement.unit)
    least = f", the {'worst' if one.figure else 'least'} of {one.count}" if one.count > 1 else ""
    yield f"  {one.check} {one.measurement.name}{f' of {what}' if what else ''}: {shown}{least}"
    if one.figure is not None:
        yield f"    expected  {spelled(bound_text(one.figure))}"
        yield f"    from      {one.figure.provenance}: {one.figure.source}"
        yield f"    date      {one.date}"
    yield f"    why       {one.why}"
