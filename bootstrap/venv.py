"""Step "Python environment": `.venv` with the versions of constraints.txt and this checkout in it."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

from bootstrap import child, digest, fresh, places
from bootstrap.child import ChildFailed
from bootstrap.console import working
from bootstrap.outcome import Outcome
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

CONSTRAINTS = places.REPOSITORY / "constraints.txt"
PROJECT = places.REPOSITORY / "pyproject.toml"
_TOOLS = ("pip", "setuptools")
_GIB = 2.0
_UNFINISHED = "unfinished"
"""Mark of an environment pip works on; where a finished one has its Python's version."""


def wanted() -> str:
    """Hash of all that decides what is in the environment: its place, its parts, their versions."""
    project = tomllib.loads(PROJECT.read_text())
    parts = {key: project["project"].get(key) for key in ("dependencies", "optional-dependencies", "scripts")}
    return digest.of_words(
        [
            str(places.environment()),
            json.dumps([project["build-system"], parts], sort_keys=True),
            CONSTRAINTS.read_text(),
        ]
    )


def install(log: Path) -> Outcome:
    """Make or update the environment.

    An environment is marked unfinished while pip works on it: what a killed run leaves behind
    looks complete to pip and is not, so it is made anew. One made by hand is brought up to date.

    Raises:
        EnvironmentUnfit: no space, or pip failed.
    """
    environment = places.environment()
    mark = environment / "rackwright-setup"
    found = mark.read_text() if mark.exists() else ""
    python = _python(environment)
    if python and found == f"{python} {wanted()}" and places.tool("rackwright").exists():
        return Outcome("cached", f"Python {python}")
    fresh.require_space(environment, _GIB, "the Python environment")
    working("making the Python environment, about a minute", log)
    try:
        if not python or (found and found.split()[0] != python):
            _make(environment, log)
        mark.write_text(_UNFINISHED)
        _fill(environment, log)
    except ChildFailed as failed:
        raise _failed(failed) from None
    mark.write_text(f"{_python(environment)} {wanted()}")
    return Outcome("done", f"Python {_python(environment)}")


def _python(environment: Path) -> str:
    """``3.11``, as the environment's own Python says it; empty if it does not run."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    return child.answer([environment / "bin" / "python", "-c", ask])


def _make(environment: Path, log: Path) -> None:
    fresh.remove(environment)
    child.run([places.python(), "-m", "venv", environment], log)


def _fill(environment: Path, log: Path) -> None:
    pip: list[str | Path] = [environment / "bin" / "python", "-m", "pip", "--disable-pip-version-check"]
    install: list[str | Path] = [*pip, "install", "--quiet", "--constraint", CONSTRAINTS]
    child.run([*install, *_TOOLS], log)
    child.run([*install, "--no-build-isolation", "--editable", f"{places.REPOSITORY}[lab,test]"], log)
    child.run([*pip, "check"], log)


def _failed(failed: ChildFailed) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the Python environment could not be made",
        code="SET005",
        where=str(failed.log),
        got=failed.tail,
        expected=f"what {CONSTRAINTS.name} pins, installed in {places.environment()}",
        hint="make room on that file system"
        if failed.no_space
        else "check that pip reaches its package index, then run the same command again",
    )
