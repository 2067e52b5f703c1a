"""Counter-examples: an example spec, edited in one place, and what the rules say of it."""

from __future__ import annotations

import shutil
from datetime import date
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from rackwright import paths
from rackwright.catalogue.load import load as load_catalogue
from rackwright.checks.registry import PlanSubject, SpecSubject
from rackwright.checks.run import check
from rackwright.errors import SpecInvalid
from rackwright.plan.build import build
from rackwright.spec.load import load

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rackwright.checks.run import Report

TODAY = date(2026, 11, 28)


@pytest.fixture
def edited(tmp_path: Path) -> Callable[[str, Mapping[str, object]], Path]:
    """Write an example with edits: dotted path to new value, None to take a key away."""

    def write(example: str, edits: Mapping[str, object]) -> Path:
        clusters = paths.repository() / "clusters"
        values = YAML(typ="safe").load(clusters / f"{example}.yaml")
        for path, value in edits.items():
            _set(values, path.split("."), value)
        shutil.copytree(clusters / "assets", tmp_path / "assets", dirs_exist_ok=True)
        spec = tmp_path / f"{example.rpartition('/')[2]}.yaml"
        with spec.open("w", encoding="utf-8") as file:
            YAML().dump(values, file)
        return spec

    return write


def _set(values: dict[str, object], path: list[str], value: object) -> None:
    here: dict[str, object] = values
    for key in path[:-1]:
        below = here.setdefault(key, {})
        assert isinstance(below, dict)
        here = below
    if value is None:
        del here[path[-1]]
    else:
        here[path[-1]] = value


@pytest.fixture
def judged() -> Callable[[Path], Report]:
    """What the rules say of a spec file, with its plan where it has one."""
    return report


def report(spec: Path) -> Report:
    loaded, catalogue = load(spec), load_catalogue()
    try:
        plan, _ = build(loaded, catalogue, None)
    except SpecInvalid:
        return check(SpecSubject(loaded, catalogue), TODAY)
    return check(PlanSubject(loaded, catalogue, plan), TODAY)
