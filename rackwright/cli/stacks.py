"""`rackwright stacks`: the stacks of a spec and their settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.deploy import prepare
from rackwright.errors import GOOD
from rackwright.provision.stacks import open_stack

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.output import Console

SCHEMA = "rackwright/stacks-init/1"


@click.group()
def command() -> None:
    """Stacks of a spec."""


@frame.command("init", example="rackwright stacks init clusters/lab.yaml", group=command)
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
def init(console: Console, spec: Path, *, stack: str) -> int:
    """Create the stacks of SPEC that are new, and write their settings for a plain `pulumi`."""
    prepared = prepare(spec, stack)
    made = {}
    with prepared.at_work():
        prepared.lay_out()
        for name in prepared.stacks:
            open_stack(name, prepared.plan, prepared.folders)
            made[str(name)] = str(name.settings)
    text = "\n".join(f"{name}: {settings}" for name, settings in made.items())
    console.result({"schema": SCHEMA, "stacks": made}, text)
    return GOOD
