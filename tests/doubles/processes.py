"""Processes: which of `pulumi` work on one cluster, by the home they were given; what one waits in."""

from __future__ import annotations

from pathlib import Path

ENGINE = b"/pulumi\0"
"""In the command line of the engine, and of nothing it starts."""


def working_on(state: Path, *, of: bytes) -> list[int]:
    """Their ids.

    Args:
        state: the cluster's state folder.
        of: part of their command line.
    """
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _is(entry, state, of)]


def sleeps_in(process: int) -> str:
    """The kernel's function that a process waits in."""
    return Path(f"/proc/{process}/wchan").read_text(encoding="ascii")


def _is(process: Path, state: Path, of: bytes) -> bool:
    try:
        line, told = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
    except OSError:
        return False
    return of in line and f"PULUMI_HOME={state}/pulumi".encode() in told
