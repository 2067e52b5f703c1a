"""`rackwright destroy`: forget what was brought up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.deploy import consent, prepare, run
from rackwright.provision.operate import Operation

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.output import Console


@frame.command(example="rackwright destroy clusters/lab.yaml --yes")
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(console: Console, spec: Path, *, stack: str, yes: bool) -> int:
    """Forget SPEC's hosts: the engine's state of them goes, their power stays as it is."""
    prepared = prepare(spec, stack)
    consent(f"forget {', '.join(map(str, prepared.stacks))}? (hosts are not powered off)", yes=yes)
    prepared.write()
    console.message("hosts are forgotten, none is powered off")
    return run(Operation.DESTROY, prepared, console)
