"""`rackwright env`: the environment for a plain `pulumi`."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from rackwright.cli import emulated, frame
from rackwright.cli.deploy import prepare
from rackwright.errors import GOOD
from rackwright.provision.places import environment, install_plugin

if TYPE_CHECKING:
    from pathlib import Path

    from rackwright.cli.output import Console

SCHEMA = "rackwright/env/1"


@frame.command(example='eval "$(rackwright env clusters/lab.yaml)" && cd stacks/onprem && pulumi preview')
@click.argument("spec", type=frame.SPEC)
@frame.stack_option
def command(console: Console, spec: Path, *, stack: str) -> int:
    """Print the environment in which a plain `pulumi` works in the stack folders of SPEC."""
    prepared = prepare(spec, stack)
    install_plugin(prepared.folders)
    unset, cloud = emulated.exports(prepared.plan.cluster.name)
    wanted = environment(prepared.plan, prepared.folders.state) | cloud
    # The engine would prefer it to the file.
    lines = [f"unset {name}" for name in ("PULUMI_CONFIG_PASSPHRASE", *unset)]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in wanted.items()]
    console.result({"schema": SCHEMA, "environment": wanted}, "\n".join(lines))
    return GOOD
