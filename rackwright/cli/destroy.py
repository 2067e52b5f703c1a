"""`rackwright destroy`: forget hosts that were brought up, and take away what is in clouds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.deploy import consent, prepare, run
from rackwright.provision.operate import Operation
from rackwright.provision.stacks import zones

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.output import Console


@frame.command(example="rackwright destroy clusters/lab.yaml --yes")
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(console: Console, spec: Path, *, stack: str, yes: bool) -> int:
    """Forget SPEC's hosts, whose power stays as it is, and take away what SPEC has in clouds."""
    prepared = prepare(spec, stack)
    in_clouds = zones(prepared.plan, prepared.stacks)
    meaning = "; ".join(
        told
        for told, holds in (
            ("hosts are forgotten, none is powered off", len(prepared.stacks) > len(in_clouds)),
            ("what is in clouds is taken away, instances are terminated", bool(in_clouds)),
        )
        if holds
    )
    consent(f"destroy {', '.join(map(str, prepared.stacks))}? ({meaning})", yes=yes)
    with prepared.at_work():
        prepared.write()
        console.message(meaning)
        return run(Operation.DESTROY, prepared, console)
