"""Makefile, pins and lists of packages, held against one another."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest

from bootstrap import places

TARGETS = ("setup", "lab", "lab-down", "test", "test-slow", "test-kernel", "check", "fix", "bench")
NEED_SET_UP = {"setup", "lab", "test", "test-slow", "bench"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pinned() -> dict[str, str]:
    lines = (places.REPOSITORY / "constraints.txt").read_text().splitlines()
    return {
        normal(name): version
        for name, _, version in (line.partition("==") for line in lines if line[0] != "#")
    }


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((places.REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    names = {normal(re.split(r"[\[<>=~! ]", requirement)[0]) for requirement in wanted}
    assert names - set(pinned()) == set()
    assert "rackwright" not in pinned()


def test_a_pin_is_a_version_and_nothing_else() -> None:
    lines = (places.REPOSITORY / "constraints.txt").read_text().splitlines()[1:]
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+-]+", line)] == []
    assert lines == sorted(lines, key=str.lower)


@pytest.mark.parametrize("target", TARGETS)
def test_a_target_exists_and_sets_up_only_what_it_needs(target: str) -> None:
    make = ["make", "--dry-run", "--no-print-directory", target, "SPEC=some.yaml"]
    done = subprocess.run(make, cwd=places.REPOSITORY, capture_output=True, text=True, check=True)
    assert ("bootstrap/run.sh setup" in done.stdout) == (target in NEED_SET_UP)
    assert ("some.yaml" in done.stdout) == (target in {"lab", "lab-down"})


def test_a_lab_goes_without_its_spec_being_named() -> None:
    make = ["make", "--dry-run", "--no-print-directory", "lab-down"]
    plain = {name: value for name, value in os.environ.items() if name != "SPEC"}
    done = subprocess.run(make, cwd=places.REPOSITORY, env=plain, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["sh", "bootstrap/run.sh", "lab-down"]


def test_make_alone_lists_every_target() -> None:
    make = ["make", "--no-print-directory"]
    done = subprocess.run(make, cwd=places.REPOSITORY, capture_output=True, text=True, check=True)
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"help", *TARGETS}


def test_ci_runs_as_it_stands() -> None:
    subprocess.run(["bash", "-n", ".ci/run"], cwd=places.REPOSITORY, check=True)
    assert (places.REPOSITORY / ".ci" / "run").stat().st_mode & 0o111


def test_the_licence_is_whole() -> None:
    text = (places.REPOSITORY / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text
