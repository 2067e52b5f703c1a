"""`rackwright judge`: the verdict on a run folder, anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.verdict_text import answer
from rackwright.verdict.folder import judge_folder

if TYPE_CHECKING:
    from rackwright.cli.output import Console


@frame.command(
    example="rackwright judge runs/lab/2026-11-28T080000Z\n"
    "rackwright judge runs/lab/2026-11-28T080000Z --expect our-figures.json"
)
@click.argument("run_dir", type=click.Path(path_type=Path))
@click.option(
    "--expect",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Further expectations; they replace those of the plan for the same measurements.",
)
def command(console: Console, run_dir: Path, *, expect: Path | None) -> int:
    """Judge the run in RUN_DIR by its raw output, and write verdict.json, junit.xml and report.html there.

    Needs no cluster. Exit code 1 where something is at fault, 3 where something was not measured.
    """
    return answer(console, judge_folder(run_dir, expect))
