"""`rackwright preview`: what `up` would do, after reading every host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rackwright.cli import frame
from rackwright.cli.deploy import prepare_all, run
from rackwright.provision.operate import Operation

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.output import Console


@frame.command(example="rackwright preview clusters/lab.yaml")
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
def command(console: Console, spec: Path, *, stack: str) -> int:
    """Show what `up` would do to SPEC's hosts as they are now; nothing is powered."""
    prepared = prepare_all(spec, stack)
    prepared.show()
    return run(Operation.PREVIEW, prepared, console)
