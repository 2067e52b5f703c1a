"""Every role keeps its contract: entry points, arguments, packages, a README, a test on hosts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from bootstrap import image, packages
from rackwright import paths

if TYPE_CHECKING:
    from pathlib import Path

ROLES = sorted(path for path in (paths.repository() / "roles").iterdir() if path.is_dir())
STAGES = ("install", "configure", "validate")
each_role = pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)


def loaded(path: Path) -> object:
    return yaml.safe_load(path.read_text())


def mapping(value: object) -> dict[str, object]:
    assert isinstance(value, dict), value
    return value


@each_role
def test_arguments_and_defaults_agree_in_names_and_values(role: Path) -> None:
    main = mapping(mapping(mapping(loaded(role / "meta" / "argument_specs.yml"))["argument_specs"])["main"])
    options = {name: mapping(option) for name, option in mapping(main["options"]).items()}
    assert {name: option["default"] for name, option in options.items()} == loaded(
        role / "defaults" / "main.yml"
    )
    for name, option in options.items():
        assert name.startswith(f"{role.name}_")
        assert str(option["description"]).endswith("."), f"{name}: a sentence"


@each_role
def test_main_only_imports_the_three_stages_each_under_its_tag(role: Path) -> None:
    tasks = loaded(role / "tasks" / "main.yml")
    assert isinstance(tasks, list)
    imports = [(task["ansible.builtin.import_tasks"], task["tags"]) for task in tasks]
    assert imports == [(f"{stage}.yml", [stage]) for stage in STAGES]
    assert all(set(task) == {"name", "ansible.builtin.import_tasks", "tags"} for task in tasks)
    assert all((role / "tasks" / f"{stage}.yml").exists() for stage in STAGES)


@each_role
def test_it_says_what_it_needs_and_is_and_is_shown_on_hosts_or_in_guests(role: Path) -> None:
    assert packages.names(role / "files" / f"packages.{image.SYSTEM}.txt")
    readme = (role / "README.md").read_text()
    assert readme.startswith(f"# {role.name}\n")
    shown = (paths.repository() / "tests" / folder / f"test_{role.name}.py" for folder in ("roles", "kernel"))
    assert any(test.exists() for test in shown)


MADE_BY = {"munge": {"munge"}, "slurm": {"slurm-client", "slurmctld", "slurmd", "slurmdbd"}}
"""User → packages that make it, by themselves or by what they depend on (Debian 13)."""


@each_role
def test_a_user_that_owns_its_files_comes_with_its_own_packages(role: Path) -> None:
    """A host that is not of our image has nothing but what roles before this one install."""
    owners = set(re.findall(r"owner: (\w+)", (role / "tasks" / "configure.yml").read_text())) - {"root"}
    installed = set(packages.names(role / "files" / f"packages.{image.SYSTEM}.txt"))
    assert {owner for owner in owners if not MADE_BY[owner] & installed} == set()


@each_role
def test_every_argument_is_in_its_readme(role: Path) -> None:
    readme = (role / "README.md").read_text()
    names = mapping(loaded(role / "defaults" / "main.yml"))
    assert [name for name in names if f"`{name}`" not in readme] == []
