"""`rackwright plan`: the plan and the lock."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.cli.output import finding_text
from rackwright.cli.plan_diff import changes, changes_json, changes_text
from rackwright.cli.plan_text import document, text
from rackwright.errors import BAD, GOOD
from rackwright.findings import Level

if TYPE_CHECKING:
    from rackwright.cli.cluster import Cluster
    from rackwright.cli.output import Console

PLAN_FILE = "plan.json"
PAGE_FILE = "plan.html"


@frame.command(example="rackwright plan clusters/lab.yaml")
@click.argument("spec", type=frame.SPEC)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Also write plan.json into this folder.",
)
@click.option(
    "--diff",
    "old",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Show what changed since an older spec (.yaml) or plan (.json); a forbidden change is refused.",
)
@click.option(
    "--resize",
    is_flag=True,
    help="Cables between switches may move, so that a fabric can grow or change; cables of nodes stay "
    "where its units are as they were.",
)
@click.option("--html", is_flag=True, help="Also write plan.html: racks with power, tiers, rails of a unit.")
def command(  # noqa: PLR0913 (its options)
    console: Console, spec: Path, *, out: Path | None, old: Path | None, resize: bool, html: bool
) -> int:
    """Plan SPEC: allocate what is new, write the lock beside it and plan.json to the state folder.

    What the lock holds never moves. The same spec, catalogue and lock give the same bytes.
    """
    cluster = open_cluster(spec, resize=resize)
    changed = changes(cluster, old) if old else []
    for finding in cluster.findings:
        tell = console.detail if finding.level is Level.INFO else console.message
        tell(finding_text(finding))
    refused = any(one.forbidden for one in changed)
    if not refused:
        _write(cluster, out, html=html)
    summary = {**document(cluster), "diff": changes_json(changed)} if old else document(cluster)
    end = "refused: a forbidden change; nothing is written" if refused else text(cluster)
    console.result(summary, "\n".join([*(changes_text(changed) if old else ()), end]))
    return BAD if refused else GOOD


def _write(cluster: Cluster, out: Path | None, *, html: bool) -> None:
    """The lock first: a plan without its lock would be one that `up` refuses."""
    files = {PLAN_FILE: canonical.dumps(cluster.plan)}
    if html:
        from rackwright.render.plan_page import page  # noqa: PLC0415 (numpy, for who asks for the page)

        files[PAGE_FILE] = page(cluster.plan)
    cluster.write_lock()
    folders = [paths.plan_file(cluster.plan.cluster.name).parent, *([out] if out else ())]
    for folder in folders:
        for name, content in files.items():
            canonical.write_atomic(folder / name, content)
