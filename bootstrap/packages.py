"""Steps "Debian packages" and "Packages of tests": what is missing of a list, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from bootstrap import child, places
from bootstrap.child import ChildFailed
from bootstrap.console import working
from bootstrap.outcome import Outcome
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from collections.abc import Sequence

LIST = places.DATA / "packages" / "debian.txt"
TEST_LIST = places.DATA / "packages" / "test.txt"
KERNEL_LIST = places.DATA / "packages" / "kernel.txt"
SUBNET_MANAGER = "opensm"
INFINIBAND = Path("/sys/class/infiniband")
"""Adapters of this machine. Debian starts a subnet manager on all of their ports when it is installed."""
NO_DPKG = Outcome("not run", "this machine has no dpkg; tests that need other packages are skipped")
_LOCK_TIMEOUT = "DPkg::Lock::Timeout=600"
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}


def names(path: Path) -> list[str]:
    """The packages of a list: one a line, ``#`` starts a comment."""
    words = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [word for word in words if word]


def missing(wanted: Sequence[str]) -> list[str]:
    """Those of `wanted` that are not installed and configured, in the order given."""
    query = ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *wanted]
    shown = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in shown.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


def install(log: Path) -> Outcome:
    """Bring all packages of the list onto this machine.

    Raises:
        EnvironmentUnfit: no dpkg, packages missing without root, or apt failed.
    """
    if not shutil.which("dpkg-query"):
        raise EnvironmentUnfit(
            "this machine has no dpkg",
            code="SET002",
            where=str(LIST),
            expected="Debian 12 or 13, or Ubuntu 24.04 or newer",
        )
    return _bring(LIST, names(LIST), log)


def install_for_tests(log: Path) -> Outcome:
    """Bring what tests alone call; without it they skip, so here nothing fails for the want of it."""
    try:
        return _bring(TEST_LIST, for_tests(), log) if shutil.which("dpkg-query") else NO_DPKG
    except EnvironmentUnfit as unfit:
        absent = " ".join(missing(for_tests()))
        return Outcome("not run", f"{unfit.message}; tests that need these are skipped: {absent}")


def install_for_kernel_tests(log: Path) -> Outcome:
    """Bring what emulates machines.

    Raises:
        EnvironmentUnfit: as `install`.
    """
    return _bring(KERNEL_LIST, names(KERNEL_LIST), log) if shutil.which("dpkg-query") else NO_DPKG


def found(listing: Path, wanted: Sequence[str] | None = None) -> Outcome | None:
    """Where all of a list is installed; None where something is to be done, or to be said."""
    names_ = names(listing) if wanted is None else wanted
    if not shutil.which("dpkg-query") or missing(names_):
        return None
    return Outcome("cached", f"{len(names_)} installed")


def for_tests() -> list[str]:
    """The packages of the tests' list; no second subnet manager comes into a live fabric by a test."""
    live = INFINIBAND.is_dir() and any(INFINIBAND.iterdir())
    return [name for name in names(TEST_LIST) if not (live and name == SUBNET_MANAGER)]


def _bring(listing: Path, wanted: Sequence[str], log: Path) -> Outcome:
    there = found(listing, wanted)
    if there:
        return there
    absent = missing(wanted)
    if not places.is_root():
        raise _needs_root(listing, absent)
    working(f"installing {' '.join(absent)}", log)
    _apt(absent, log)
    return Outcome("done", " ".join(absent))


def _needs_root(listing: Path, absent: Sequence[str]) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "Debian packages are missing, and only root can install them",
        code="SET002",
        where=str(listing),
        got="missing: " + " ".join(absent),
        expected="all packages of this list installed",
        hint=f"run `make setup` as root, or: apt-get install --no-install-recommends {' '.join(absent)}",
    )


def _apt(absent: Sequence[str], log: Path) -> None:
    commands = (
        ["dpkg", "--configure", "-a"],  # finishes what an interrupted run left unpacked
        ["apt-get", "-q", "-o", "Acquire::Retries=3", "update"],
        ["apt-get", "-q", "-y", "-o", _LOCK_TIMEOUT, "install", "--no-install-recommends", *absent],
    )
    try:
        for command in commands:
            child.run(command, log, extra=_QUIET, finish=True)
    except ChildFailed as failed:
        raise EnvironmentUnfit(
            "Debian packages could not be installed",
            code="SET003",
            where=str(failed.log),
            got=failed.tail,
            expected="installed: " + " ".join(absent),
            hint="check the network and /etc/apt/sources.list*, then run the same command again",
        ) from None
