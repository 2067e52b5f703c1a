"""`rackwright render`: the cluster-wide files of a plan, to look at and to compare."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.errors import GOOD
from rackwright.render.fabric import kept
from rackwright.render.files import rendered

if TYPE_CHECKING:
    from rackwright.cli.output import Console

SCHEMA = "rackwright/render/1"


@frame.command(example="rackwright render clusters/lab.yaml --out rendered")
@click.argument("spec", type=frame.SPEC)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder for the files; what else it holds is left alone.",
)
def command(console: Console, spec: Path, *, out: Path) -> int:
    """Render every cluster-wide file of SPEC into DIR.

    The lock is read and never written: a spec that was not planned as it stands is refused.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    keys = _authorized_keys(console, cluster.plan.cluster.name)
    files = sorted(rendered(cluster.plan, keys, kept.networks(cluster.plan)), key=lambda file: file.path)
    for file in files:
        canonical.write_atomic(out / file.path, file.content)
    console.result(
        {
            "schema": SCHEMA,
            "files": [{"path": file.path, "sha256": canonical.sha256(file.content)} for file in files],
        },
        f"{len(files)} files in {out}",
    )
    return GOOD


def _authorized_keys(console: Console, cluster: str) -> list[str]:
    """The client key that `up` has made; none before."""
    try:
        return [paths.login_key(cluster).with_suffix(".pub").read_text(encoding="utf-8").strip()]
    except FileNotFoundError:
        console.message("no client key yet: `rackwright up` makes it; the authorized_keys are empty")
        return []
