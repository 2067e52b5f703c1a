"""One lab's names are never another's, and are found again by all who look."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rackwright import paths
from rackwright.lab import naming, places
from rackwright.lab.places import Places


@pytest.mark.parametrize("home", ["/somewhere", "", None])
def test_state_and_run_are_where_all_of_rackwright_has_them(
    monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("XDG_STATE_HOME", home)
    assert places.of("x").state == paths.state("x")
    assert places.of("x").run == paths.run("x")
    monkeypatch.setenv("RACKWRIGHT_RUN", "/elsewhere")
    assert places.of("x").run == paths.run("x") == Path("/elsewhere/x")


def test_the_beginning_of_one_labs_namespaces_is_no_other_labs() -> None:
    first, second = places.of("lab"), places.of("lab-test")
    assert not second.netns("node-001").startswith(first.netns_prefix)


@pytest.mark.parametrize("name", ["a", "lab-test", "a-name-of-thirty-two-characters1"])
def test_the_name_of_the_link_fits_the_kernel(name: str) -> None:
    assert len(places.of(name).leg) <= places.LINK_NAME_LIMIT


def test_long_names_that_begin_alike_have_links_of_their_own() -> None:
    legs = {places.of(f"a-long-name-of-a-lab-{number}").leg for number in range(100)}
    assert len(legs) == 100


def test_a_command_line_tells_the_lab_it_belongs_to() -> None:
    lab = Places("lab", Path("/state with blanks/lab"), Path("/run/rackwright/lab"))
    assert Places.parse(["python", "-m", "x", *lab.arguments(), "--slot=node-001"]) == lab
    assert Places.parse(["--cluster=lab", "--state=/s"]) is None


def _stored(root: Path, name: str, spec: Path) -> None:
    folder = root / "rackwright" / name / "lab"
    folder.mkdir(parents=True)
    (folder / "world.json").write_text(f'{{"spec": "{spec}"}}')


def test_labs_that_are_here_are_told_by_name_and_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("RACKWRIGHT_RUN", str(tmp_path / "run"))
    assert naming.here() == []
    _stored(tmp_path / "state", "one", Path("/clusters/one.yaml"))
    (tmp_path / "run" / "two").mkdir(parents=True)
    assert naming.here() == ["one (/clusters/one.yaml)", "two (of no known spec)"]


def test_a_lab_is_meant_by_its_name_or_by_its_spec_however_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    spec = tmp_path / "x.yaml"
    spec.write_text("\tnot YAML at all")
    _stored(tmp_path, "atlas", spec)
    assert naming.which("atlas") == places.of("atlas")
    assert naming.which("never-seen") == places.of("never-seen")
    assert naming.which(str(spec)) == places.of("atlas")


@pytest.mark.parametrize(
    "text",
    ["cluster: {name: atlas, domain: x}", "cluster:\n  name: atlas\n", 'cluster:\n  name: "atlas"\nrest: ['],
)
def test_a_spec_that_was_never_up_means_the_name_in_it(tmp_path: Path, text: str) -> None:
    spec = tmp_path / "some.yaml"
    spec.write_text(text)
    assert naming.which(str(spec)) == places.of("atlas")


def test_what_names_no_lab_means_none(tmp_path: Path) -> None:
    spec = tmp_path / "some.yaml"
    spec.write_text("pools: {}")
    assert naming.which(str(spec)) is None
    assert naming.which(str(tmp_path / "absent.yaml")) is None
    assert naming.which("../../etc") is None


def test_where_none_is_named_the_only_lab_is_meant_or_that_of_make_lab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert naming.usual() == naming.USUAL
    assert f"SPEC ?= {naming.USUAL}\n" in (paths.repository() / "Makefile").read_text()
    _stored(tmp_path, "atlas", tmp_path / "atlas.yaml")
    assert naming.usual() == str(tmp_path / "atlas.yaml")
    _stored(tmp_path, "meridian", tmp_path / "meridian.yaml")
    assert naming.usual() == naming.USUAL


@pytest.mark.parametrize("module", ["teardown", "supervisor", "parts", "snapshot", "protocol"])
def test_what_takes_a_lab_away_needs_the_standard_library_only(module: str) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(paths.repository())!r}); import rackwright.lab.{module};"
        "print(*sorted({n.partition('.')[0] for n in sys.modules} - sys.stdlib_module_names))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", program], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= {"rackwright", "__main__"}
