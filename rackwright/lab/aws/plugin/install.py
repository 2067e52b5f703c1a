"""Where the engine looks for the plugin of package `aws`: in one lab's own PULUMI_HOME, and nowhere else.

On PATH it would be found by every engine of the machine, and a stack of a real account would meet it.
"""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from typing import TYPE_CHECKING

from rackwright.canonical import write_atomic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MODULE = "rackwright.lab.aws.plugin.server"
LAUNCHER = "pulumi-resource-aws"
ENDPOINT_OPTION = "--lab-endpoint="


def version() -> str:
    """Of `pulumi_aws`, which the engine asks for by its own version."""
    return installed("pulumi-aws")


def launcher(home: Path) -> Path:
    """Its place below a PULUMI_HOME."""
    return home / "plugins" / f"resource-aws-v{version()}" / LAUNCHER


def install(home: Path, endpoints: Sequence[str]) -> bool:
    """Write the launcher; returns whether it was not there, or another one."""
    path = launcher(home)
    options = " ".join(f"{ENDPOINT_OPTION}{url}" for url in endpoints)
    script = f'#!/bin/sh\nexec "{sys.executable}" -I -W ignore -m {MODULE} {options} "$@"\n'
    if path.is_file() and path.read_text(encoding="utf-8") == script:
        return False
    write_atomic(path, script, mode=0o755)
    return True
