"""`rackwright drift`: what is otherwise on the hosts than the plan and the roles intend, read-only."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli import converging, drift_text, frame
from rackwright.cli.cluster import open_cluster
from rackwright.converge import lock
from rackwright.converge.drift import VARIABLE, Found, reported
from rackwright.converge.prepare import MUNGE_KEY
from rackwright.converge.run import converge
from rackwright.converge.shard_run import Settings
from rackwright.errors import Interrupted, UsageError
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect

if TYPE_CHECKING:
    from rackwright.cli.output import Console
    from rackwright.converge.drift import DriftReport
    from rackwright.converge.run import Asked

_ALL_MAY_FAIL = 100
"""Percent: nothing is changed, so no host's failure stops the looking at others."""
REPORT = "drift.json"


@frame.command(example="rackwright drift clusters/lab.yaml\nrackwright drift clusters/lab.yaml --limit node")
@click.argument("spec", type=frame.SPEC)
@frame.limit_option
@click.option(
    "--playbook",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Only what this playbook does [default: playbooks/site.yml].",
)
def command(console: Console, spec: Path, *, limit: str, playbook: Path | None) -> int:
    """Name all that is otherwise on the hosts of SPEC than intended; nothing is changed on any.

    Compared are files, packages and units of all roles, and what their proofs and modules find live:
    limits, sysctls, modules, the command line, storage namespaces. Exit code 1 where anything differs,
    3 where a host could not be looked at. `rackwright converge` brings hosts back.
    """
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    name = cluster.plan.cluster.name
    _refuse_never_converged(paths.secrets(name) / MUNGE_KEY, spec)
    with lock.held(paths.converge(name)):
        inventory = collect(cluster.plan, spec.resolve().parent, Wait(0, console.message))
        asked = converging.asked(cluster, inventory, limit)
        converging.write(cluster, inventory, console)
        report = _looked(asked, playbook or paths.repository() / "playbooks" / "site.yml", console)
    console.result(report, drift_text.text(report))
    if report.interrupted:
        return console.error(Interrupted("stopped before all hosts were looked at"))
    return report.exit_code


def _looked(asked: Asked, playbook: Path, console: Console) -> DriftReport:
    folder, found = paths.converge(asked.cluster) / "drift", Found()
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        folder=folder,
        runners=paths.converge(asked.cluster) / lock.RUNNERS,
        inventory=paths.inventory(asked.cluster),
        playbook=playbook,
        tags=tuple(converging.TAGS.split(",")),
        check=True,
        forks=files.FORKS,
        variables=converging.variables(asked) | {VARIABLE: "true"},
        budget_percent=_ALL_MAY_FAIL,
    )
    run = converge(asked, settings, console.message, quiet=console.quiet, on_result=found.take)
    report = reported(run, found.differences)
    canonical.write_atomic(folder / REPORT, canonical.dumps(report), mode=0o600)
    return report


def _refuse_never_converged(key: Path, spec: Path) -> None:
    if not key.exists():
        raise UsageError(
            "these hosts were never converged: all would be drift",
            code="DRIFT001",
            where=str(key),
            got="no munge key",
            expected="what the first converge makes",
            hint=f"rackwright converge {quote(str(spec))}",
        )
