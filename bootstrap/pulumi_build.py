"""Builds the Pulumi command line and its Python host from our two Go modules.

The modules pin everything by go.sum; `tools.go` names the programs. They are two because the last
tagged release that holds the Python host is older than the command line, and `go install` refuses
modules with replace lines (docs/decisions, engine).
"""

from __future__ import annotations

import platform
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bootstrap import child, digest, fresh, golang, places
from bootstrap.child import ChildFailed
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

ENGINE, HOST = golang.MODULES
SDK = "github.com/pulumi/pulumi/sdk/v3"
GIB = 6.0
"""Free space asked for before a build: 2.0 of modules, 1.9 of compiled packages, temporary files."""

_STAMP = f"{SDK}/go/common/version.Version"
_FLAGS = ("-mod=readonly", "-trimpath", "-buildvcs=false", "-tags=osusergo,grpcnotrace")
_STRIPPED = "-w -s"
_SCRIPTS = ("python/cmd/pulumi-language-python-exec", "python/dist/pulumi-resource-pulumi-python")


@dataclass(frozen=True, slots=True)
class Program:
    """One program, the module that pins it, and the version it will say it has."""

    module: Path
    package: str
    stamp: str


def _required(package: str) -> str:
    """The version that the engine's go.mod pins for a module: ``v3.274.1``."""
    lines = (line.removeprefix("require ").split() for line in (ENGINE / "go.mod").read_text().splitlines())
    return next(words[1] for words in lines if words and words[0] == package)


VERSION = _required("github.com/pulumi/pulumi/pkg/v3").removeprefix("v")

_PROGRAMS = (
    Program(HOST, f"{SDK}/python/cmd/pulumi-language-python", ""),
    Program(ENGINE, "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", f"v{VERSION}"),
)


def folder() -> Path:
    """Where the engine goes, by the hash of all that decides what is built."""
    files = (module / name for module in golang.MODULES for name in ("go.mod", "go.sum", "tools.go"))
    pinned = [digest.of_file(file) for file in files]
    return places.cache() / "engine" / digest.of_words([*pinned, *_FLAGS, _STRIPPED, platform.machine()])


def build(log: Path) -> None:
    """Build everything into `folder`.

    Modules and compiled packages stay in the cache until the build is complete, so that one that
    was cut off goes on where it was; then they go: they are thirty times the size of the result.

    Raises:
        EnvironmentUnfit: a module could not be fetched or compiled.
    """
    fresh.remove(_workshop()["GOTMPDIR"])
    try:
        with fresh.new_folder(folder()) as work:
            (work / "bin").mkdir()
            for program in _PROGRAMS:
                _compile(program, work / "bin", log)
            _add_scripts(work / "bin", log)
    except ChildFailed as failed:
        raise _failed(failed) from None
    for part in _workshop().values():
        fresh.remove(part)


def _workshop() -> dict[str, Path]:
    base = places.cache() / "go-build"
    return {"GOMODCACHE": base / "modules", "GOCACHE": base / "packages", "GOTMPDIR": base / "temporary"}


def _settings() -> dict[str, str]:
    """Go's environment: of the user's own settings, only where modules come from."""
    folders = {name: str(path) for name, path in _workshop().items()}
    return {
        **folders,
        "GOFLAGS": "-modcacherw",  # so that removing the cache needs no special rights
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "CGO_ENABLED": "0",
        "GOOS": "",
        "GOARCH": "",
    }


def _compile(program: Program, folder: Path, log: Path) -> None:
    for path in _workshop().values():
        path.mkdir(parents=True, exist_ok=True)
    stamp = f" -X {_STAMP}={program.stamp}" if program.stamp else ""
    flags = [*_FLAGS, f"-ldflags={_STRIPPED}{stamp}"]
    command: list[str | Path] = [golang.program(), "build", *flags, "-o", f"{folder}/", program.package]
    child.run(command, log, cwd=program.module, extra=_settings())


def _add_scripts(folder: Path, log: Path) -> None:
    """The two scripts the engine looks for beside itself; module archives drop the executable bit."""
    child.run([golang.program(), "mod", "download", SDK], log, cwd=ENGINE, extra=_settings())
    module = _workshop()["GOMODCACHE"] / f"{SDK}@{_required(SDK)}"
    for script in _SCRIPTS:
        shutil.copyfile(module / script, folder / script.rpartition("/")[2])
    for program in folder.iterdir():
        program.chmod(0o755)


def _failed(failed: ChildFailed) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        "Pulumi could not be built from its Go modules",
        code="SET007",
        where=str(failed.log),
        got=failed.tail,
        expected=f"pulumi {VERSION} in {folder()}",
        hint="make room on that file system"
        if failed.no_space
        else "check that the Go module proxy is reached, or put an official pulumi on PATH",
    )
