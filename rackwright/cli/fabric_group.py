"""The group that all commands on fabrics belong to."""

from __future__ import annotations

import click


@click.group()
def command() -> None:
    """Switches and cables of a fabric."""
