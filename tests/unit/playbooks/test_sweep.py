"""Programs that no role of a host has any more: which those are, and that they go last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from tests.unit.playbooks.plays import check, load

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = "/usr/local/lib/rackwright"
ROLES = paths.repository() / "roles"
SWEEP = load("site")[-1]
STAYING = {"slurm_controllers": "all"}
"""Who is no controller any more has slurmctld still, and the timer that runs this program."""
SHOWS = """\
#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule(argument_spec={"files": {"type": "dict"}}, supports_check_mode=True)
module.exit_json(gone=sorted(module.params["files"].items()))
"""
"""Stands for the module `tree`: what is to be brought about is what it says."""


def _laid(role: str) -> set[str]:
    """Programs that a role lays in our folder."""
    text = (ROLES / role / "tasks" / "configure.yml").read_text()
    return set(re.findall(rf"^ +{FOLDER}/(\w+)\.py:", text, re.MULTILINE))


def test_each_group_keeps_the_programs_that_its_roles_lay() -> None:
    wanted: dict[str, set[str]] = {}
    for play in (*load("site"), *load("storage")):
        for role in play.get("roles", []):  # type: ignore[attr-defined]  # (yaml has no types)
            group = str(play["hosts"])
            wanted.setdefault(STAYING.get(group, group), set()).update(_laid(role))
    known = yaml.safe_load((ROLES / "base" / "vars" / "main.yml").read_text())["base_programs"]
    assert {group: set(names) for group, names in known.items()} == {
        group: names for group, names in wanted.items() if names
    }


@pytest.fixture
def shows(tmp_path: Path) -> Path:
    (tmp_path / "tree.py").write_text(SHOWS)
    return tmp_path


def swept(shows: Path, *groups: str) -> list[str]:
    names = ("nvmet.py", "on_host.py", "clock.py", "kernel_host.py", "burst_pool.py", "clock_old.py")
    cached = ("nvmet.cpython-313.pyc", "on_host.cpython-313.pyc")
    there = [f"{FOLDER}/{name}" for name in names] + [f"{FOLDER}/__pycache__/{name}" for name in cached]
    known: dict[str, object] = {"base_files": {"there": [*there, "/var/lib/rackwright/nvmet.json"]}}
    said = "".join(check([SWEEP], *groups, known=known, library=shows).values())
    return re.findall(rf"{FOLDER}/([\w/.-]+)\W+absent\W+true", said)


def test_what_no_role_of_a_host_has_any_more_goes_and_what_one_has_stays(shows: Path) -> None:
    assert swept(shows, "slurm_nodes") == [
        "__pycache__/nvmet.cpython-313.pyc",
        "__pycache__/on_host.cpython-313.pyc",
        "burst_pool.py",
        "clock_old.py",
        "nvmet.py",
        "on_host.py",
    ]
    assert swept(shows, "slurm_nodes", "rdma_nics", "nvmeof_targets") == ["burst_pool.py", "clock_old.py"]


def test_a_host_on_which_nothing_is_left_has_no_task_of_it() -> None:
    there = [f"{FOLDER}/kernel_host.py", "/var/lib/rackwright/nvmet.json"]
    assert check([SWEEP], known={"base_files": {"there": there}}) == {}
    assert check([SWEEP], known={}) == {}, "where role base has not looked"
