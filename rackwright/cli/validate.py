"""`rackwright validate`: evidence by Slurm jobs, and the verdict on it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from rackwright import canonical, paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.cli.verdict_text import answer
from rackwright.converge.limit import chosen
from rackwright.errors import EnvironmentUnfit, UsageError, refused
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect
from rackwright.validate import suite as suites
from rackwright.validate.asked import asked
from rackwright.validate.expected import expectations
from rackwright.validate.interruption import stoppable
from rackwright.validate.resume import refuse_unbegun
from rackwright.validate.run import Order, unjudged, validate
from rackwright.validate.ssh import connected
from rackwright.verdict.folder import judge_folder
from rackwright.verdict.history import earlier

if TYPE_CHECKING:
    from rackwright.cli.cluster import Cluster
    from rackwright.cli.output import Console
    from rackwright.inventory.model import Host, Inventory
    from rackwright.validate.asked import Asked
    from rackwright.verdict.folder import Judged


@frame.command(
    example="rackwright validate clusters/lab.yaml\n"
    "rackwright validate clusters/lab.yaml acceptance --limit node-[001-002]\n"
    "rackwright validate clusters/lab.yaml --resume runs/lab/2026-11-28T080000Z"
)
@click.argument("spec", type=frame.SPEC)
@click.argument("suite", default="")
@frame.limit_option
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Folder of the run, empty or not there [default: runs/CLUSTER/START].",
)
@click.option(
    "--resume",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Go on with the run of this folder, which was cut off: what is complete in it is not made again.",
)
@click.option(
    "--on-demand/--no-on-demand",
    default=None,
    help="Ask also for slots on demand, which Slurm launches for it [default: as the spec has it].",
)
def command(  # noqa: PLR0913 (one argument per option)
    console: Console,
    spec: Path,
    *,
    suite: str,
    limit: str,
    out: Path | None,
    resume: Path | None,
    on_demand: bool | None,
) -> int:
    """Validate the nodes of SPEC that run jobs by SUITE, or by the suite that the spec names.

    A Slurm job for each of their partitions has them; nodes with jobs are left alone. Raw output,
    measurements, verdict and report are kept in the run's folder. A validation that was stopped or
    killed goes on by the same command with --resume.
    """
    _refuse_two_folders(out, resume)
    if resume:
        refuse_unbegun(resume)
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    wanted = suites.load(suite or cluster.loaded.spec.validation.suite)
    inventory = collect(cluster.plan, spec.resolve().parent, Wait(0, console.message))
    if on_demand is None:
        on_demand = cluster.loaded.spec.validation.on_demand
    names = chosen(inventory, limit)
    whom = asked(cluster.plan, cluster.catalogue, inventory, names, on_demand=on_demand)
    order = _order(cluster, whom, wanted, resume or out, resume=resume is not None)
    if not resume:
        order = _with_history(order, inventory)
    _refuse_unknown(order.asked.controller, inventory, spec)
    folder = paths.inventory(inventory.cluster)
    files.write(inventory, folder, paths.login_key(inventory.cluster))
    with stoppable(), connected(order.asked.controller, folder / "ssh_config") as controller:
        made = validate(order, controller, console.message)
        judged = judgement(made.folder)
    return answer(console, judged)


def judgement(folder: Path) -> Judged:
    """Of a run of which all is measured, which is said where it cannot be judged."""
    try:
        return judge_folder(folder)
    except KeyboardInterrupt:
        raise unjudged(folder) from None
    except OSError as error:
        raise refused(
            error, f"put that right; all is measured, and `rackwright judge {folder}` judges it"
        ) from error


def _refuse_two_folders(out: Path | None, resume: Path | None) -> None:
    if out and resume:
        raise UsageError(
            "a run has one folder",
            where="rackwright validate",
            got=f"--out {out} and --resume {resume}",
            expected="--out for a new run, or --resume for one that was cut off",
        )


def _refuse_unknown(controller: str, inventory: Inventory, spec: Path) -> None:
    """Refuse where ssh must not go: a newcomer's first stop is a cluster that is not up yet."""
    gone, name = inventory.absent.get(controller), quote(str(spec))
    if gone is not None:
        raise EnvironmentUnfit(
            "Slurm's controller cannot be asked: no key of it is known",
            code="VAL005",
            where=controller,
            got=gone.reason,
            expected="a host whose key was read on its console",
            hint=gone.hint or f"`rackwright up {name}`, then `rackwright inventory {name} --wait 60`",
        )


def _with_history(order: Order, inventory: Inventory) -> Order:
    """The same, told of the runs that lie beside the new one."""
    machines = {name: _machine(inventory.hosts.get(name)) for name in order.asked.nodes}
    runs = order.folder.parent if order.folder else order.runs
    history = earlier(runs, inventory.cluster, datetime.now(UTC), machines)
    return replace(order, machines=machines, history=history)


def _machine(host: Host | None) -> str:
    """Serial number or instance; empty where nothing is known of it."""
    return (host.serial or host.instance) if host else ""


def _order(
    cluster: Cluster, whom: Asked, wanted: suites.Suite, folder: Path | None, *, resume: bool
) -> Order:
    return Order(
        plan=cluster.plan,
        plan_sha256=canonical.sha256(canonical.dumps(cluster.plan)),
        asked=whom,
        suite=wanted,
        expectations=expectations(
            cluster.plan, cluster.catalogue, whom.nodes, (part.nodes for part in whom.parts)
        ),
        folder=paths.real(folder) if folder else None,
        runs=paths.runs(cluster.plan.cluster.name),
        resume=resume,
        images={
            name: image.model_dump(exclude_none=True) for name, image in cluster.loaded.spec.images.items()
        },
    )
