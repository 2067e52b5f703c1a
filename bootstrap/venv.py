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


def found() -> Outcome | None:
    """Where it is there, whole and up to date."""
    python, mark = _python(places.environment()), _mark()
    whole = python and mark.exists() and mark.read_text() == f"{python} {wanted()}"
    return Outcome("cached", f"Python {python}") if whole and places.tool("rackwright").exists() else None


def lock() -> Path:
    """Of this checkout's environment alone: what another one's set-up builds it need not wait for."""
    return places.cache() / f"environment-{digest.of_words([str(places.environment())])}.lock"


def install(log: Path) -> Outcome:
    """Make or update the environment.

    An environment is marked unfinished from its first file on: what a killed run leaves behind
    looks complete to pip and is not, so it is made anew. One made by hand is brought up to date.

    Raises:
        EnvironmentUnfit: no space, or pip failed.
    """
    there = found()
    if there:
        return there
    environment, mark = places.environment(), _mark()
    python, noted = _python(environment), mark.read_text() if mark.exists() else ""
    fresh.require_space(environment, _GIB, "the Python environment")
    working("making the Python environment, about a minute", log)
    try:
        if not python or (noted and noted.split()[0] != python):
            fresh.remove(environment)
            environment.mkdir(parents=True)
            mark.write_text(_UNFINISHED)
            child.run([places.python(), "-m", "venv", environment], log)
        mark.write_text(_UNFINISHED)
        _fill(environment, log)
    except ChildFailed as failed:
        raise _failed(failed) from None
    mark.write_text(f"{_python(environment)} {wanted()}")
    return Outcome("done", f"Python {_python(environment)}")


def _mark() -> Path:
    return places.environment() / "rackwright-setup"


def _python(environment: Path) -> str:
    """``3.11``, as the environment's own Python says it; empty if it does not run."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    return child.answer([environment / "bin" / "python", "-c", ask])


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
