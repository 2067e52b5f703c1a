"""Run one program of the operating system; a failure is an error that says which, and its own words."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT_S = 60


def run(*words: str | Path, timeout_s: float = TIMEOUT_S) -> str:
    """Run a program to its end.

    Returns:
        What it wrote on its standard output.

    Raises:
        EnvironmentUnfit: it is not there, failed, or did not end in time.
    """
    command = [str(word) for word in words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        raise _failed(command, "not found", "`rackwright lab doctor` names what is missing") from None
    except subprocess.TimeoutExpired:
        raise _failed(command, f"no end within {timeout_s:.0f} s") from None
    if done.returncode != 0:
        raise _failed(command, (done.stderr or done.stdout).strip() or f"exit code {done.returncode}")
    return done.stdout


def _failed(command: list[str], got: str, hint: str = "") -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "a command of the operating system failed",
        code="LAB002",
        where=" ".join(command),
        got=got,
        hint=hint or "see `rackwright lab doctor`; the same command again goes on from here",
    )
