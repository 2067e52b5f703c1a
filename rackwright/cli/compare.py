"""`rackwright compare`: two runs of the same machines, before and after a change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.cli import frame
from rackwright.errors import BAD, GOOD, INCOMPLETE, UsageError
from rackwright.verdict.compare import Change, compare
from rackwright.verdict.folder import load
from rackwright.verdict.report.figures import figure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.verdict.compare import Compared, Comparison, Figure

SCHEMA = "rackwright/compare/1"
_CODES = {Change.WORSE: BAD, Change.MISSING: INCOMPLETE}
_COLOURS = {Change.WORSE: "red", Change.MISSING: "magenta", Change.BETTER: "green"}
_MOST_FIGURES = 5


@frame.command(example="rackwright compare runs/lab/2026-11-28T080000Z runs/lab/2026-11-29T080000Z")
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
def command(console: Console, run_a: Path, run_b: Path) -> int:
    """Tell what became worse, better or stayed within noise from the run in RUN_A to that in RUN_B.

    Both must be of the same slots, platforms, rails, planned rates and suite. Exit code 1 where something
    became worse, 3 where something was not measured again.
    """
    _refuse_itself(run_a, run_b)
    found = compare(load(run_a), load(run_b))
    console.result(_document(run_a, run_b, found), "\n".join(_text(found)))
    changes = {one.change for one in found.subjects}
    return next((code for change, code in _CODES.items() if change in changes), GOOD)


def _refuse_itself(run_a: Path, run_b: Path) -> None:
    """Of a run and itself all is within noise, which is no answer to anybody."""
    if paths.real(run_a) == paths.real(run_b):
        raise UsageError(
            "this is one run, and not two",
            code="CMP002",
            where=f"{run_a} and {run_b}",
            got="the same folder twice",
            expected="the folder of the run before a change, and of the one after it",
        )


def _document(run_a: Path, run_b: Path, found: Comparison) -> Mapping[str, Json]:
    return {
        "schema": SCHEMA,
        "before": str(run_a),
        "after": str(run_b),
        "images": list(found.images),
        "subjects": [_subject_json(one) for one in found.subjects],
    }


def _subject_json(one: Compared) -> Json:
    return {
        "name": one.name,
        "kind": one.kind.value,
        "change": one.change.value,
        "before": one.before.value if one.before else None,
        "after": one.after.value if one.after else None,
        "figures": [_figure_json(figure) for figure in one.figures],
        "within_noise": one.same,
    }


def _figure_json(one: Figure) -> Json:
    return {
        "check": one.check,
        "name": one.name,
        "about": one.about,
        "unit": one.unit.value,
        "before": one.before,
        "after": one.after,
        "band": round(one.band, 4),
        "change": one.change.value,
    }


def _text(found: Comparison) -> Iterator[str]:
    for line in found.images:
        yield f"changed: {line}"
    for one in found.subjects:
        if one.change is not Change.SAME:
            yield from _subject_text(one)
    counts = [(change, sum(one.change is change for one in found.subjects)) for change in Change]
    yield ", ".join(f"{count} {change}" for change, count in counts if count)


def _subject_text(one: Compared) -> Iterator[str]:
    word = click.style(one.change, fg=_COLOURS[one.change], bold=True)
    verdicts = (
        f": {one.before or 'not there'} -> {one.after or 'not there'}" if one.before is not one.after else ""
    )
    yield f"{word}  {one.name}{verdicts}"
    for found in one.figures[:_MOST_FIGURES]:
        yield f"    {_figure_text(found)}"
    if len(one.figures) > _MOST_FIGURES:
        yield f"    and {len(one.figures) - _MOST_FIGURES} more"


def _figure_text(one: Figure) -> str:
    before = figure(one.before, one.unit)
    after = "not measured" if one.after is None else figure(one.after, one.unit)
    share = f", {one.ratio - 1:+.0%}" if one.ratio is not None else ""
    about = f" ({one.about})" if one.about else ""
    return f"{one.change}: {one.check} {one.name}{about}: {before} -> {after}{share}; noise {one.band:.0%}"
