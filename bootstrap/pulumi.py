"""Steps "Pulumi, ready-made" and "Pulumi, built": the engine behind `<cache>/engine/current`.

An official Pulumi on PATH is taken if it is new enough and has its Python host; else what an
earlier run made; else the official installer's, where it can be reached; else it is built from
Go modules (`pulumi_build`). `current` leads to a folder that holds the programs of `PROGRAMS`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from bootstrap import child, digest, fresh, places, pulumi_build
from bootstrap.child import ChildFailed
from bootstrap.console import working
from bootstrap.golang import Version, version
from bootstrap.outcome import NOT_NEEDED, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = (
    "pulumi",
    "pulumi-language-python",
    "pulumi-language-python-exec",
    "pulumi-resource-pulumi-python",
)
_OFFLINE = {"PULUMI_SKIP_UPDATE_CHECK": "true"}
_REACH_S, _FETCH_S, _INSTALL_S = 5, 20, 900
_GIB = 2.0


def home() -> Path:
    """All engines of the cache."""
    return places.cache() / "engine"


def complete(folder: Path) -> bool:
    """Whether a folder holds the command line and its Python host."""
    return all((folder / name).is_file() for name in PROGRAMS)


def present() -> bool:
    """Whether `current` leads to an engine that this checkout would choose."""
    current = home() / "current"
    return complete(current) and current.resolve().parent in {folder.resolve() for folder, _ in _candidates()}


def oldest() -> Version:
    """The oldest command line used: that of the Python SDK, which speaks to it."""
    lines = (places.REPOSITORY / "constraints.txt").read_text().splitlines()
    return version(next(line for line in lines if line.startswith("pulumi==")))


def found() -> Outcome | None:
    """Where `current` leads to the engine that would be chosen now."""
    for folder, what in _candidates():
        if complete(folder / "bin"):
            return Outcome("cached", what) if fresh.leads(home() / "current", folder / "bin") else None
    return None


def ready_made(log: Path) -> Outcome:
    """Use an engine that needs no building, if there is one."""
    _link_path()
    for folder, what in _candidates():
        if complete(folder / "bin"):
            moved = fresh.point(home() / "current", folder / "bin")
            return Outcome("done" if moved else "cached", what)
    if _install(log):
        fresh.point(home() / "current", _official() / "bin")
        return Outcome("done", f"{pulumi_build.VERSION}, official installer's")
    return Outcome("not found", "not on PATH, installer not reached: built next")


def built(log: Path) -> Outcome:
    """Build the engine, if `ready_made` found none.

    Raises:
        EnvironmentUnfit: no space, or the build failed.
    """
    if present():
        return NOT_NEEDED
    fresh.require_space(places.cache(), pulumi_build.GIB, "building Pulumi from its Go modules")
    working("building Pulumi from its Go modules, about 5 minutes on 2 cores", log)
    pulumi_build.build(log)
    fresh.point(home() / "current", pulumi_build.folder() / "bin")
    return Outcome("done", f"{pulumi_build.VERSION}, built from Go modules")


def _candidates() -> Iterator[tuple[Path, str]]:
    """Where an engine may be already, best first, and how each would be told."""
    official = _on_path()
    if official:
        yield _links(official), f"{official} of PATH"
    yield _official(), f"{pulumi_build.VERSION}, official installer's"
    yield pulumi_build.folder(), f"{pulumi_build.VERSION}, built from Go modules"


def _on_path() -> Path | None:
    """The real path of a usable `pulumi` of PATH that is none of ours."""
    found = shutil.which("pulumi")
    if found is None:
        return None
    program = Path(found).resolve()
    if program.is_relative_to(places.cache().resolve()) or not complete(program.parent):
        return None
    return program if version(child.answer([program, "version"], extra=_OFFLINE)) >= oldest() else None


def _links(program: Path) -> Path:
    """The folder of links to the programs of an engine that lives elsewhere."""
    return home() / f"path-{digest.of_words([str(program)])}"


def _link_path() -> None:
    """Make that folder for the engine of PATH, if there is one."""
    program = _on_path()
    if program is None or complete(_links(program) / "bin"):
        return
    with fresh.new_folder(_links(program)) as work:
        (work / "bin").mkdir()
        for name in PROGRAMS:
            (work / "bin" / name).symlink_to(program.parent / name)


def _official() -> Path:
    return home() / f"official-{pulumi_build.VERSION}"


def _install(log: Path) -> bool:
    """Run the official installer, if it can be reached; tells whether it made an engine."""
    try:
        with fresh.new_folder(_official()) as work:
            script = _fetched(work / "install.sh", log)
            options: list[str | Path] = [
                "--no-edit-path",
                "--install-root",
                work,
                "--version",
                pulumi_build.VERSION,
            ]
            fresh.require_space(work, _GIB, "the official Pulumi")
            working("running the official Pulumi installer", log)
            child.run(["sh", script, *options], log, cwd=work, timeout_s=_INSTALL_S)
            _must_be_complete(work / "bin", log)
    except ChildFailed:
        return False
    return True


def _fetched(script: Path, log: Path) -> Path:
    limits = ["--connect-timeout", str(_REACH_S), "--max-time", str(_FETCH_S)]
    child.run(["curl", "-fsSL", *limits, "--output", script, places.pulumi_installer()], log)
    return script


def _must_be_complete(folder: Path, log: Path) -> None:
    if not complete(folder):
        raise ChildFailed("install.sh", 1, log, f"{folder} lacks one of {', '.join(PROGRAMS)}")
