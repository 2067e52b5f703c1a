"""`rackwright lab`: the world of real hosts on this machine, and nothing of what runs on them."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.canonical import write_atomic
from rackwright.cli import frame, lab_fault, lacks
from rackwright.cli.cluster import open_cluster
from rackwright.errors import GOOD, UNUSABLE, EnvironmentUnfit, Incomplete, UsageError
from rackwright.inventory import files as inventory_files
from rackwright.inventory.collect import Wait, collect
from rackwright.lab import doctor, naming, parts, status, teardown
from rackwright.lab.faults import subjects
from rackwright.lab.up import Wanted, image, up

if TYPE_CHECKING:
    from rackwright.canonical import Json
    from rackwright.cli.output import Console
    from rackwright.lab.places import Places
    from rackwright.lab.status import Status
    from rackwright.lab.up import Report


@click.group("lab")
def command() -> None:
    """Real hosts on this machine, powered on over Redfish: the world only, as root."""


command.add_command(lab_fault.command)
_SPEC = click.argument("spec", type=frame.SPEC, default=Path(naming.USUAL))


@frame.command("up", group=command, example="rackwright lab up clusters/lab.yaml")
@_SPEC
def lab_up(console: Console, spec: Path) -> int:
    """Make the machines of SPEC: networks, disks, BMCs. Hosts start off, and stay as they are.

    Once more, it verifies each part and repairs what is missing.
    """
    cluster = open_cluster(spec)
    wanted = Wanted.of(cluster.plan, cluster.catalogue, spec)
    report = up(wanted, console.message)
    now = status.status(wanted.world.places)
    document: dict[str, Json] = {
        "schema": "rackwright/lab-up/1",
        "cluster": wanted.world.cluster,
        "cleared": list(report.cleared),
        "made": list(report.made),
        **_now(now),
    }
    console.result(document, _up_text(wanted, report, now))
    return GOOD


def _up_text(wanted: Wanted, report: Report, now: Status | None) -> str:
    on = sum(host.state != "off" for host in now.hosts) if now else 0
    repaired = f"{len(report.made)} parts made" if report.made else "verified, nothing was missing"
    summary = (
        f"lab {wanted.world.cluster} {'was up' if report.was_up else 'is up'}: "
        f"{len(wanted.world.hosts)} hosts, {on} of them on; {repaired}"
    )
    return "\n".join([summary, *lab_fault.lines(now.faults if now else ())])


@frame.command("down", group=command, example="rackwright lab down lab")
@click.argument("lab", metavar="[SPEC|NAME]", default=naming.usual)
def lab_down(console: Console, lab: str) -> int:
    """Take a lab away with its hosts, their disks and its state; evidence in ./runs stays.

    SPEC need not be valid any more; NAME is the name of its cluster. Without either it is the only
    lab that is here.
    """
    places = naming.which(lab)
    removed: list[str] = []

    def tell(part: str) -> None:
        removed.append(part)
        console.message(f"removed {part}")

    strangers = [str(part) for part in parts.strangers(places)] if places else []
    found = places is not None and teardown.take_down(places, tell)
    kept = _kept(places, lab)
    document: dict[str, Json] = {
        "schema": "rackwright/lab-down/1",
        "cluster": places.cluster if places else None,
        "removed": removed,
        "kept": kept,
        "strangers": strangers,
    }
    console.result(document, "\n".join(_down_text(lab, kept, strangers, found=found)))
    return GOOD


def _kept(places: Places | None, lab: str) -> list[str]:
    """What outlives a lab: evidence, what the plan allocated, and what `make setup` made."""
    lock = Path(lab).with_name(f"{Path(lab).stem}.lock.yaml")
    candidates = [lock, paths.cache()]
    if places is not None:
        candidates.insert(0, paths.runs(places.cluster))
    return [str(path) for path in candidates if path.exists()]


def _down_text(lab: str, kept: list[str], strangers: list[str], *, found: bool) -> list[str]:
    lines = ["the lab is down" if found else f"no lab of {lab} is here: nothing to do"]
    lines += [] if found else [f"here is {other}" for other in naming.here()]
    lines += [f"kept {path}" for path in kept]
    return lines + [f"still there, not started by the lab: {stranger}" for stranger in strangers]


@frame.command("status", group=command, example="rackwright lab status --format json")
@click.argument("lab", metavar="[SPEC|NAME]", default=naming.usual)
def lab_status(console: Console, lab: str) -> int:
    """Show the hosts of a lab: off, booting, or on, which is when they listen for SSH."""
    places = naming.which(lab)
    now = status.status(places) if places else None
    document: dict[str, Json] = {
        "schema": "rackwright/lab-status/1",
        "cluster": places.cluster if places else None,
        "up": now is not None,
        "labd": now is not None and now.labd,
        "emulator": now.emulator if now else None,
        **_now(now),
    }
    console.result(document, _status_text(lab, now))
    return GOOD


def _now(now: Status | None) -> dict[str, Json]:
    return {
        "hosts": [asdict(host) for host in now.hosts] if now else [],
        "faults": lab_fault.plain(now.faults if now else ()),
    }


def _status_text(lab: str, now: Status | None) -> str:
    if now is None:
        return "\n".join([f"no lab of {lab} is up", *(f"here is {other}" for other in naming.here())])
    width = max((len(host.name) for host in now.hosts), default=0)
    lines = [
        f"{host.name:<{width}}  {host.state:<7}  {host.site}  {host.instance or host.role}"
        for host in now.hosts
    ]
    lines += lab_fault.lines(now.faults)
    if not now.labd:
        lines.append("labd is dead: no BMC can do anything; `rackwright lab up` starts it again")
    if now.emulator is False:
        lines.append(
            "the AWS emulator is dead: no instance comes or goes; `rackwright lab up` starts it again"
        )
    return "\n".join(lines)


@frame.command("doctor", group=command, example="rackwright lab doctor clusters/lab.yaml")
@click.argument("spec", type=frame.SPEC, required=False)
def lab_doctor(console: Console, spec: Path | None) -> int:
    """Say what this machine lacks for a lab, for that of SPEC if it is given; nothing is made."""
    cluster = open_cluster(spec) if spec else None
    world = Wanted.of(cluster.plan, cluster.catalogue, cluster.loaded.path).world if cluster else None
    found = doctor.examine(doctor.Ground(world, image()))
    document: dict[str, Json] = {
        "schema": "rackwright/lab-doctor/1",
        "missing": [asdict(lack) for lack in found],
    }
    blocked = any(lack.blocks for lack in found)
    said = [*map(lacks.text, found), *([] if blocked else ["this machine can hold the lab"])]
    console.result(document, "\n".join(said))
    return UNUSABLE if blocked else GOOD


def _hosts(context: click.Context) -> list[str]:
    of = naming.which(str(context.params["spec"]))
    return subjects.possible(status.read_world(of), subjects.SubjectKind.HOST) if of else []


@frame.command("ssh", group=command, example="rackwright lab ssh node-001 uptime")
@click.option(
    "--spec",
    type=frame.SPEC,
    default=lambda: Path(naming.usual()),
    show_default="the only lab that is here",
    help="Spec of the lab.",
)
@click.argument("host", shell_complete=frame.completed(_hosts))
@click.argument("words", metavar="[COMMAND]...", nargs=-1, type=click.UNPROCESSED)
def lab_ssh(console: Console, spec: Path, host: str, words: tuple[str, ...]) -> int:
    """Log in to HOST, or run COMMAND there, with the key it printed on its console and no other."""
    _refuse_no_lab(spec)
    plan = open_cluster(spec).plan
    inventory = collect(plan, spec.resolve().parent, Wait(0, console.message))
    if host in inventory.absent:
        gone = inventory.absent[host]
        raise Incomplete(gone.reason, code=gone.code, where=host, got=gone.got, hint=gone.hint)
    if host not in inventory.hosts:
        known = ", ".join(sorted(inventory.hosts)) or "one whose key is known"
        raise UsageError("no such host", where=str(spec), got=host, expected=known)
    key = paths.login_key(plan.cluster.name)
    if not key.exists():
        hint = f"`rackwright up {quote(str(spec))}` makes it"
        raise EnvironmentUnfit("there is no client key yet", code="LAB017", where=str(key), hint=hint)
    folder = paths.state(plan.cluster.name) / "lab" / "ssh"
    write_atomic(folder / "known_hosts", inventory_files.known_hosts(inventory))
    write_atomic(folder / "ssh_config", inventory_files.ssh_config(inventory, folder, key))
    return subprocess.run(["ssh", "-F", folder / "ssh_config", host, *words], check=False).returncode


lab_ssh.allow_interspersed_args = False  # as ssh: what follows the host is the command's


def _refuse_no_lab(spec: Path) -> None:
    """Without its lab a cluster's hosts would be looked for in the world outside, in AWS itself."""
    places = naming.which(str(spec))
    if places is None or not places.world.exists():
        raise EnvironmentUnfit(
            f"no lab of {spec} is up",
            code="LAB034",
            where=str(spec),
            got="no such lab on this machine",
            expected="one that `rackwright lab status` shows",
            hint=f"make lab SPEC={quote(str(spec))}",
        )
