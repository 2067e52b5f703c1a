"""Which Pulumi is used: an official one that fits the SDK, else ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import golang, pulumi, pulumi_build
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program

NEWEST, OLD = "v9.0.0", "v3.1.0"

INSTALLER = """
[ "$1 $2 $4 $5" = "--no-edit-path --install-root --version {version}" ] || exit 3
mkdir -p "$3/bin"
for name in {programs}; do touch "$3/bin/$name"; done
"""


def engine(folder: Path) -> Path:
    """A folder that looks like an engine's."""
    (folder / "bin").mkdir(parents=True)
    for name in pulumi.PROGRAMS:
        (folder / "bin" / name).touch()
    return folder / "bin"


def current(cache: Path) -> Path:
    return (cache / "engine" / "current").resolve()


@pytest.fixture(autouse=True)
def no_official(cache: Path, monkeypatch: pytest.MonkeyPatch, program: Program) -> None:
    """No installer within reach and no usable Pulumi on PATH, unless a test brings one."""
    monkeypatch.setenv("RACKWRIGHT_PULUMI_INSTALLER", f"file://{cache}/no-installer.sh")
    program("pulumi", "echo none")


def offer_installer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: str) -> None:
    script = tmp_path / "install.sh"
    script.write_text(INSTALLER.format(version=pulumi_build.VERSION, programs=programs))
    monkeypatch.setenv("RACKWRIGHT_PULUMI_INSTALLER", f"file://{script}")


def test_an_official_one_of_path_is_linked(cache: Path, log: Path, program: Program) -> None:
    for name in pulumi.PROGRAMS:
        official = program(name, f"echo {NEWEST}")
    outcome = pulumi.ready_made(log)
    assert outcome.word == "done"
    assert {path.resolve() for path in current(cache).iterdir()} == {
        official.with_name(name) for name in pulumi.PROGRAMS
    }
    assert pulumi.present()
    assert pulumi.ready_made(log).word == "cached"


def test_one_of_path_that_is_older_than_the_sdk_is_not_used(cache: Path, log: Path, program: Program) -> None:
    for name in pulumi.PROGRAMS:
        program(name, f"echo {OLD}")
    assert pulumi.ready_made(log).word == "not found"
    assert not (cache / "engine" / "current").exists()


def test_one_of_path_without_its_python_host_is_not_used(cache: Path, log: Path, program: Program) -> None:
    program("pulumi", f"echo {NEWEST}")
    assert pulumi.ready_made(log).word == "not found"
    assert list((cache / "engine").iterdir()) == []


def test_ours_on_path_is_no_official_one(cache: Path, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = engine(pulumi_build.folder())
    (folder / "pulumi").write_text(f"#!/bin/sh\necho {NEWEST}\n")
    (folder / "pulumi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert pulumi.ready_made(log).detail.endswith("built from Go modules")
    assert not list((cache / "engine").glob("path-*"))


def test_the_official_installer_is_run_once_where_it_can_be_reached(
    cache: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_installer(tmp_path, monkeypatch, " ".join(pulumi.PROGRAMS))
    assert pulumi.ready_made(log).word == "done"
    assert pulumi.complete(current(cache))
    assert pulumi.built(log).word == "not needed"
    monkeypatch.setenv("RACKWRIGHT_PULUMI_INSTALLER", f"file://{cache}/gone.sh")
    assert pulumi.ready_made(log).word == "cached"


@pytest.mark.parametrize("programs", ["pulumi", " ".join(pulumi.PROGRAMS[:-1])])
def test_an_installer_that_brings_less_leaves_nothing(
    cache: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: str
) -> None:
    offer_installer(tmp_path, monkeypatch, programs)
    assert pulumi.ready_made(log).word == "not found"
    assert list((cache / "engine").iterdir()) == []


def test_an_engine_of_another_recipe_does_not_count_as_present(cache: Path) -> None:
    engine(cache / "engine" / "before")
    (cache / "engine" / "current").symlink_to("before/bin")
    assert not pulumi.present()


GO = """
[ "$1" = env ] && {{ echo go{version}; exit; }}
[ -z "${{GOFLAGS#-modcacherw}}" ] || exit 4
[ "$GOTOOLCHAIN $GOWORK $CGO_ENABLED" = "local off 0" ] || exit 5
if [ "$1" = mod ]; then
    sdk="$GOMODCACHE/github.com/pulumi/pulumi/sdk/v3@v{pulumi}/python"
    mkdir -p "$sdk/cmd" "$sdk/dist"
    touch "$sdk/cmd/pulumi-language-python-exec" "$sdk/dist/pulumi-resource-pulumi-python"
    exit
fi
echo "$*" >> {calls}
touch "$GOCACHE/compiled"
[ -e {broken} ] && {{ echo cannot fetch a module; exit 1; }}
while [ "$1" != -o ]; do shift; done
touch "$2/$(basename "$3")"
"""


@pytest.fixture
def go(cache: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Go that notes its builds and, if the returned file exists, fails."""
    version = ".".join(map(str, golang.oldest()))
    broken = cache / "broken"
    program(
        "go", GO.format(version=version, pulumi=pulumi_build.VERSION, calls=cache / "calls", broken=broken)
    )
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setattr(pulumi_build, "GIB", 0.0)
    return broken


def test_it_is_built_whole_and_its_workshop_is_cleared(cache: Path, go: Path, log: Path) -> None:
    assert not go.exists()
    assert pulumi.built(log).word == "done"
    assert {path.name for path in current(cache).iterdir()} == set(pulumi.PROGRAMS)
    assert {path.stat().st_mode & 0o777 for path in current(cache).iterdir()} == {0o755}
    assert list((cache / "go-build").iterdir()) == []
    assert f"version.Version=v{pulumi_build.VERSION}" in (cache / "calls").read_text()
    assert pulumi.ready_made(log).word == "cached"
    assert pulumi.built(log).word == "not needed"


def test_a_build_cut_off_keeps_what_it_compiled_and_makes_no_engine(cache: Path, go: Path, log: Path) -> None:
    go.touch()
    with pytest.raises(EnvironmentUnfit) as caught:
        pulumi.built(log)
    assert "cannot fetch a module" in caught.value.got
    assert (cache / "go-build" / "packages" / "compiled").exists()
    assert list((cache / "engine").iterdir()) == []


def test_the_hash_covers_what_is_pinned(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = pulumi_build.folder()
    assert before.is_relative_to(cache)
    for module in golang.MODULES:
        (tmp_path / module.name).mkdir()
        for file in ("go.mod", "go.sum", "tools.go"):
            (tmp_path / module.name / file).write_bytes((module / file).read_bytes())
    monkeypatch.setattr(golang, "MODULES", (tmp_path / "engine", tmp_path / "host"))
    assert pulumi_build.folder() == before
    with (tmp_path / "host" / "go.sum").open("a") as file_:
        file_.write("more\n")
    assert pulumi_build.folder() != before


def test_the_modules_replace_nothing_and_build_the_sdk_of_one_release() -> None:
    for module in golang.MODULES:
        assert "\nreplace" not in (module / "go.mod").read_text()
    assert f"{pulumi_build.SDK} v{pulumi_build.VERSION}" in (golang.MODULES[0] / "go.mod").read_text()
