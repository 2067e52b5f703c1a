"""`rackwright reboot`: the hosts that wait for one, and with --apply their reboot, a few at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from rackwright import paths, signals
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.converge import lock
from rackwright.converge.limit import chosen
from rackwright.converge.reboot_hosts import Ssh, SshFleet, SshSlurm, controllers
from rackwright.converge.reboot_model import End, Result, Stop
from rackwright.converge.reboots import AT_ONCE, BATCH_PERCENT, Rolling, asked, begun, exit_code, unreached
from rackwright.converge.shards import SERVING
from rackwright.errors import Interrupted, SubjectFailed
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from rackwright.canonical import Json
    from rackwright.catalogue.model import Reboot
    from rackwright.cli.output import Console
    from rackwright.plan.model import Plan

_BEGUN = "a reboot that was cut off, or in which it failed, has left it drained"


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
    help=f"Of the waiting hosts, rebooted at once after the first one; never more than {AT_ONCE}.",
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
    not come back stays drained, and no further one is rebooted. Ctrl-C lets those come back that went down;
    the second one does not wait for them. The next reboot gives back what an earlier one has left drained.
    Exit code 1 where one did not come back, 3 where one could not be asked.
    """
    plan = open_cluster(spec).plan
    stop = Stop()
    with lock.held(paths.converge(plan.cluster.name)):
        found = _look(console, plan, spec, limit)
        if not apply:
            return _ended(console, plan, found.listed | found.silent)
        rolling = Rolling(
            fleet=found.fleet,
            scheduler=found.slurm,
            patience=found.patience,
            last=found.last,
            tell=console.message,
            batch_percent=batch,
            join_percent=join,
            stop=stop,
        )
        with signals.taken_by(stop.on_signal):
            results = rolling.run(found.waiting, found.begun)
    code = _ended(console, plan, results | found.silent)
    return console.error(_interrupted(results)) if stop.asked else code


@dataclass(frozen=True)
class _Found:
    """How the hosts that are meant stand.

    Args:
        fleet: asks them.
        slurm: asks their Slurm.
        patience: host → how long its platform takes.
        last: hosts that others need.
        waiting: host → why it waits.
        begun: hosts that wait no more, and that an earlier reboot has left drained.
        silent: hosts that cannot be asked.
    """

    fleet: SshFleet
    slurm: SshSlurm
    patience: Mapping[str, Reboot]
    last: frozenset[str]
    waiting: Mapping[str, tuple[str, ...]]
    begun: frozenset[str]
    silent: dict[str, Result]

    @property
    def listed(self) -> dict[str, Result]:
        waiting = {host: Result(End.WAITING, why) for host, why in self.waiting.items()}
        return waiting | {host: Result(End.BEGUN, (), _BEGUN) for host in self.begun}


def _look(console: Console, plan: Plan, spec: Path, limit: str) -> _Found:
    inventory = collect(plan, spec.resolve().parent, Wait(0, console.message))
    files.write(inventory, paths.inventory(plan.cluster.name), paths.login_key(plan.cluster.name))
    ssh = Ssh(paths.inventory(plan.cluster.name) / "ssh_config")
    fleet, slurm = SshFleet(ssh), SshSlurm(ssh, controllers(inventory))
    meant = chosen(inventory, limit)
    hosts = {name: host for name, host in inventory.hosts.items() if name in meant}
    patience = {name: plan.pools[host.pool].reboot for name, host in hosts.items()}
    waiting, silent = asked(fleet, sorted(hosts))
    left = begun(_drained(slurm, hosts, console), waiting, silent, patience)
    absent = {host: gone for host, gone in inventory.absent.items() if host in meant}
    return _Found(
        fleet=fleet,
        slurm=slurm,
        patience=patience,
        last=frozenset(name for name, host in hosts.items() if SERVING & set(host.roles)),
        waiting=waiting,
        begun=left,
        silent={host: one for host, one in silent.items() if host not in left} | unreached(absent),
    )


def _drained(slurm: SshSlurm, hosts: Collection[str], console: Console) -> dict[str, float]:
    """Those of the hosts that a reboot of ours has drained; none where no Slurm tells."""
    try:
        return {host: seconds for host, seconds in slurm.left().items() if host in hosts}
    except SubjectFailed as refused:
        causes = "; ".join(one.cause for one in refused.failures)
        console.message(f"hosts that a reboot which was cut off has left drained are not known: {causes}")
        return {}


def _interrupted(results: Mapping[str, Result]) -> Interrupted:
    done = sum(one.end in (End.REBOOTED, End.GIVEN_BACK) for one in results.values())
    left = sorted(host for host, one in results.items() if one.end is End.LEFT)
    told = f", and gives back whom it has drained: {', '.join(left)}" if left else ""
    return Interrupted(
        f"stopped: {done} of {len(results)} hosts are back",
        hint=f"the same command goes on from here{told}",
    )


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
