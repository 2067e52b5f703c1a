"""`rackwright reboot`: the hosts that wait for one, and with --apply their reboot, a few at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.converge import lock
from rackwright.converge.limit import chosen
from rackwright.converge.reboot_hosts import Ssh, SshFleet, SshSlurm, controllers
from rackwright.converge.reboots import BATCH_PERCENT, End, Result, Rolling, asked, exit_code, unreached
from rackwright.converge.shards import SERVING
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.plan.model import Plan


@frame.command(
    example="rackwright reboot clusters/lab.yaml\nrackwright reboot clusters/lab.yaml --apply --batch 25"
)
@click.argument("spec", type=frame.SPEC)
@frame.limit_option
@click.option("--apply", is_flag=True, help="Reboot them; without it they are listed.")
@click.option(
    "--batch",
    type=click.IntRange(1, 100),
    default=BATCH_PERCENT,
    show_default=True,
    metavar="PERCENT",
    help="Of the waiting hosts, rebooted at once after the first one.",
)
@click.option(
    "--join",
    type=click.IntRange(1, 100),
    default=100,
    show_default=True,
    metavar="PERCENT",
    help="Of a batch that must come back, or no further one begins.",
)
def command(  # noqa: PLR0913 (one argument per option)
    console: Console, spec: Path, *, limit: str, apply: bool, batch: int, join: int
) -> int:
    """Reboot the hosts of SPEC that wait for it.

    Roles note why a host waits, and reboot nothing. The first host goes alone, the others in batches,
    those that serve others last. A host is drained first; one with a job is left alone. It is given back
    when it has a new boot id, its services and its settings, and has registered with Slurm; one that does
    not come back stays drained, and no further one is rebooted. Exit code 1 where one did not come back, 3
    where one could not be asked.
    """
    plan = open_cluster(spec).plan
    with lock.held(paths.converge(plan.cluster.name)):
        inventory = collect(plan, spec.resolve().parent, Wait(0, console.message))
        files.write(inventory, paths.inventory(plan.cluster.name), paths.login_key(plan.cluster.name))
        ssh = Ssh(paths.inventory(plan.cluster.name) / "ssh_config")
        fleet = SshFleet(ssh)
        meant = chosen(inventory, limit)
        waiting, silent = asked(fleet, sorted(meant & inventory.hosts.keys()))
        silent |= unreached({host: inventory.absent[host] for host in meant & inventory.absent.keys()})
        if not apply:
            return _ended(
                console, plan, {host: Result(End.WAITING, why) for host, why in waiting.items()} | silent
            )
        rolling = Rolling(
            fleet=fleet,
            scheduler=SshSlurm(ssh, controllers(inventory)),
            patience={host: plan.pools[inventory.hosts[host].pool].reboot for host in waiting},
            last=frozenset(host for host in waiting if SERVING & set(inventory.hosts[host].roles)),
            tell=console.message,
            batch_percent=batch,
            join_percent=join,
        )
        return _ended(console, plan, rolling.run(waiting) | silent)


def _ended(console: Console, plan: Plan, results: Mapping[str, Result]) -> int:
    hosts: dict[str, Json] = {
        host: {
            "end": one.end.value,
            "reasons": list(one.reasons),
            "message": one.message,
            "seconds": round(one.seconds, 1),
        }
        for host, one in sorted(results.items())
    }
    lines = [_line(host, one) for host, one in sorted(results.items())]
    document: dict[str, Json] = {
        "schema": "rackwright/reboot/1",
        "cluster": plan.cluster.name,
        "hosts": hosts,
    }
    console.result(document, "\n".join(lines) or "no host waits for a reboot")
    return exit_code(results)


def _line(host: str, one: Result) -> str:
    said = one.message or "; ".join(one.reasons)
    return f"{host}: {one.end}: {said}" if said else f"{host}: {one.end}"
