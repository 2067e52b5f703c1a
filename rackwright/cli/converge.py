"""`rackwright converge`: the hosts' software as the plan says, by the roles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.cli import converge_text, converging, frame
from rackwright.cli.cluster import open_cluster
from rackwright.converge import lock
from rackwright.converge.run import converge
from rackwright.converge.shard_run import BUDGET_PERCENT, Settings
from rackwright.errors import Interrupted
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect

if TYPE_CHECKING:
    from rackwright.cli.output import Console
    from rackwright.converge.model import ConvergeReport


@frame.command(example="rackwright converge clusters/lab.yaml\nrackwright converge clusters/lab.yaml --check")
@click.argument("spec", type=frame.SPEC)
@frame.limit_option
@click.option(
    "--tags", default=converging.TAGS, show_default=True, metavar="T", help="Only tasks of these tags."
)
@click.option("--check", is_flag=True, help="Change nothing; show what would change.")
@click.option(
    "--failure-budget",
    "budget",
    type=click.IntRange(0, 100),
    default=BUDGET_PERCENT,
    show_default=True,
    metavar="PERCENT",
    help="Share of a rack's hosts that may fail before the rack is stopped; the others go on.",
)
@click.option(
    "--playbook",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Another playbook on the same hosts [default: playbooks/site.yml].",
)
def command(  # noqa: PLR0913 (one argument per option)
    console: Console, spec: Path, *, limit: str, tags: str, check: bool, budget: int, playbook: Path | None
) -> int:
    """Converge the hosts of SPEC: roles bring each to what the plan says of it.

    Controllers come first, then all racks side by side. A host that fails, or that is not reached,
    is named with its cause, and the others go on; the same command mends it later.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    folder = paths.converge(cluster.plan.cluster.name)
    with lock.held(folder):
        inventory = collect(cluster.plan, spec.resolve().parent, Wait(0, console.message))
        asked = converging.asked(cluster, inventory, limit)
        converging.write(cluster, inventory, console)
        settings = Settings(
            folder=folder,
            runners=folder / lock.RUNNERS,
            inventory=paths.inventory(inventory.cluster),
            playbook=playbook or paths.repository() / "playbooks" / "site.yml",
            tags=tuple(filter(None, tags.split(","))),
            check=check,
            forks=files.FORKS,
            variables=converging.variables(asked),
            budget_percent=budget,
        )
        report = converge(asked, settings, console.message, quiet=console.quiet)
    return _told(console, report)


def _told(console: Console, report: ConvergeReport) -> int:
    console.result(report, converge_text.text(report))
    if report.interrupted:
        return console.error(
            Interrupted(converge_text.finished(report), hint="the same command goes on from here")
        )
    return report.exit_code
