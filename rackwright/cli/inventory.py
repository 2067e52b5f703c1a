"""`rackwright inventory`: the hosts that may be connected to, with the keys they printed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright import paths
from rackwright.cli import frame
from rackwright.cli.cluster import open_cluster
from rackwright.errors import GOOD, INCOMPLETE, Incomplete, UsageError
from rackwright.inventory import files
from rackwright.inventory.collect import Wait, collect
from rackwright.inventory.keys import Acceptance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwright.cli.output import Console
    from rackwright.inventory.model import Absence, Absent, Inventory

_SHOWN = 8
"""Names of a group in text; JSON has them all."""


@frame.command(example="rackwright inventory clusters/lab.yaml --wait 60")
@click.argument("spec", type=frame.SPEC)
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder [default: in the state folder]."
)
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Wait so long at most for hosts that are still booting.",
)
@click.option(
    "--accept-changed-key",
    "accepted",
    multiple=True,
    metavar="HOST",
    help="Take the new keys of a host that was reinstalled; may be given several times.",
)
@click.option("--reason", default="", metavar="TEXT", help="Why they changed; kept with the old keys.")
def command(  # noqa: PLR0913 (one argument per option)
    console: Console, spec: Path, *, out: Path | None, wait: float, accepted: tuple[str, ...], reason: str
) -> int:
    """Write the Ansible inventory of SPEC: its hosts, and the SSH keys they printed on their consoles.

    A host without a known key is not in it, and nothing connects to it; it is named with its
    reason, and the exit code is 3.
    """
    acceptance = _acceptance(accepted, reason)
    cluster = open_cluster(spec)
    cluster.refuse_stale()
    inventory = collect(cluster.plan, spec.resolve().parent, Wait(wait, console.message), acceptance)
    folder = paths.real(out or paths.inventory(inventory.cluster))
    files.write(inventory, folder, paths.login_key(inventory.cluster))
    console.result(files.dynamic(inventory), _text(inventory, folder))
    return _incomplete(console, inventory)


def _acceptance(accepted: tuple[str, ...], reason: str) -> Acceptance | None:
    if bool(accepted) != bool(reason.strip()):
        raise UsageError(
            "changed keys are accepted with a reason, and a reason belongs to accepted keys",
            where="rackwright inventory",
            got="--accept-changed-key without --reason" if accepted else "--reason alone",
            expected="--accept-changed-key HOST --reason TEXT",
        )
    today = datetime.now(UTC).date()
    return Acceptance(frozenset(accepted), reason.strip(), today) if accepted else None


def _text(inventory: Inventory, folder: Path) -> str:
    count = len(inventory.hosts)
    lines = [f"{inventory.cluster}: {count} of {count + len(inventory.absent)} hosts in {folder}"]
    lines += [
        f"  {absence.value:<12} {_names(names)}: {reason}"
        for (absence, reason), names in _alike(inventory.absent).items()
    ]
    if count:
        lines.append(f"  ANSIBLE_CONFIG={folder}/ansible.cfg ansible all -m ping")
    return "\n".join(lines)


def _alike(absent: dict[str, Absent]) -> dict[tuple[Absence, str], list[str]]:
    """Hosts that are absent for the same reason."""
    groups: dict[tuple[Absence, str], list[str]] = {}
    for name, gone in absent.items():
        groups.setdefault((gone.absence, gone.reason), []).append(name)
    return groups


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more


def _incomplete(console: Console, inventory: Inventory) -> int:
    """Report each fault once, with all hosts that have it."""
    for (absence, reason), names in _alike(inventory.absent).items():
        if absence.incomplete:
            first = inventory.absent[names[0]]
            console.error(
                Incomplete(
                    reason,
                    code=first.code,
                    where=_names(names),
                    got=first.got if len(names) == 1 else f"{names[0]}: {first.got}",
                    hint=first.hint,
                )
            )
    return INCOMPLETE if any(gone.absence.incomplete for gone in inventory.absent.values()) else GOOD
