"""`rackwright refresh`: read what is there into the engine's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.deploy import prepare, run
from rackwright.provision.operate import Operation

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.output import Console


@frame.command(example="rackwright refresh clusters/lab.yaml")
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
def command(console: Console, spec: Path, *, stack: str) -> int:
    """Read SPEC's hosts into the engine's state; nothing is powered."""
    prepared = prepare(spec, stack)
    with prepared.at_work():
        prepared.write()
        return run(Operation.REFRESH, prepared, console)
