"""`rackwright up`: bring up what the plan says, stack by stack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.deploy import consent, prepare_all, run
from rackwright.provision.operate import Operation

if TYPE_CHECKING:
    from rackwright.cli.output import Console


@frame.command(example="rackwright up clusters/lab.yaml --yes")
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Refuse unless this is the plan of SPEC as it stands.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(console: Console, spec: Path, *, stack: str, plan_file: Path | None, yes: bool) -> int:
    """Bring up SPEC as planned: hosts are powered on over Redfish; those that run are left as they are.

    Held hosts are not touched. What fails is named, and the others come up.
    """
    prepared = prepare_all(spec, stack, plan_file)
    consent(f"bring up {', '.join(map(str, prepared.stacks))}?", yes=yes)
    with prepared.at_work():
        prepared.lay_out()
        return run(Operation.UP, prepared, console)
