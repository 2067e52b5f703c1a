"""`rackwright doctor`: what is missing for a spec, before a command fails for it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.cli import frame, lacks
from rackwright.cli.cluster import open_cluster
from rackwright.doctor.checks import CHECKS
from rackwright.doctor.model import Ground, examine
from rackwright.errors import GOOD, UNUSABLE, PlanStale
from rackwright.provision.places import Folders

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.cluster import Cluster
    from rackwright.cli.output import Console
    from rackwright.doctor.model import Result

SCHEMA = "rackwright/doctor/1"


@frame.command(
    example="rackwright doctor clusters/lab.yaml\nrackwright doctor clusters/lab.yaml --format json"
)
@click.argument("spec", type=frame.SPEC)
def command(console: Console, spec: Path) -> int:
    """Say what is missing for SPEC before a command fails for it; nothing is changed anywhere.

    Looked at are this machine (programs, engine, plugins, room, keys, locks of other runs), the
    plan, accounts, asset rows, and, over the network, every management controller.

    Exit code 2 where something keeps the work from being done, 0 where there are only warnings.
    """
    results = examine(CHECKS, _ground(open_cluster(spec)))
    console.result(_document(results), _text(results))
    return GOOD if all(result.good for result in results) else UNUSABLE


def _ground(cluster: Cluster) -> Ground:
    name = cluster.plan.cluster.name
    folders = Folders(spec=cluster.loaded.path.parent.resolve(), state=paths.state(name))
    return Ground(cluster.plan, folders, paths.runs(name), _stale(cluster))


def _stale(cluster: Cluster) -> PlanStale | None:
    try:
        cluster.refuse_stale()
    except PlanStale as error:
        return error
    return None


def _document(results: Sequence[Result]) -> dict[str, Json]:
    return {
        "schema": SCHEMA,
        "missing": [
            {"check": result.check.name, **asdict(lack)} for result in results for lack in result.lacks
        ],
        "checks": [
            {
                "check": result.check.name,
                "means": result.check.means,
                "status": _status(result),
                "not_run": result.not_run,
            }
            for result in results
        ],
    }


def _status(result: Result) -> str:
    if result.not_run:
        return "not_run"
    return "good" if result.good else "missing"


def _text(results: Sequence[Result]) -> str:
    blocks = [lacks.text(lack) for result in results for lack in result.lacks]
    undone = [
        f"not looked at: {result.check.means}; first put right: {result.not_run}"
        for result in results
        if result.not_run
    ]
    good = sum(result.good for result in results)
    return "\n".join([*blocks, *undone, f"{good} of {len(results)} checks good"])
