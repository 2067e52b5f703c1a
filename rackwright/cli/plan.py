"""`rackwright plan`: the plan and the lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.cli.output import finding_text
from rackwright.cli.plan_text import document, text
from rackwright.errors import GOOD
from rackwright.findings import Level

if TYPE_CHECKING:
    from rackwright.cli.cluster import Cluster
    from rackwright.cli.output import Console

PLAN_FILE = "plan.json"


@frame.command(example="rackwright plan clusters/lab.yaml")
@click.argument("spec", type=frame.SPEC)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write plan.json into this folder.",
)
def command(console: Console, spec: Path, *, out: Path | None) -> int:
    """Plan SPEC: allocate what is new, write the lock beside it and plan.json to the state folder.

    What the lock holds never moves. The same spec, catalogue and lock give the same bytes.
    """
    cluster = open_cluster(spec)
    for finding in cluster.findings:
        tell = console.detail if finding.level is Level.INFO else console.message
        tell(finding_text(finding))
    _write(cluster, out)
    console.result(document(cluster), text(cluster))
    return GOOD


def _write(cluster: Cluster, out: Path | None) -> None:
    """The lock first: a plan without its lock would be one that `up` refuses."""
    content = canonical.dumps(cluster.plan)
    cluster.write_lock()
    for folder in (paths.plan_file(cluster.plan.cluster.name).parent, out):
        if folder is not None:
            canonical.write_atomic(folder / PLAN_FILE, content)
