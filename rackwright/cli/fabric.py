"""`rackwright fabric`: switches and cables of a fabric; each command is a module of its own."""

from __future__ import annotations

from rackwright.cli import fabric_diff, fabric_export, fabric_prove, fabric_size
from rackwright.cli.fabric_group import command

COMMANDS = (fabric_size, fabric_export, fabric_prove, fabric_diff)
"""Imported to join the group."""

__all__ = ["COMMANDS", "command"]
