"""Order of the plays of storage; the marks of a host that has no part any more, and what looking costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from tests.unit.playbooks.plays import check, load
from tests.unit.roles import programs

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAYS = load("storage")
BASE = paths.repository() / "roles" / "base"


def _roles(play: dict[str, object]) -> Iterator[str]:
    """``role`` and ``role: tasks_from`` of a play."""
    roles, tasks = play.get("roles", []), play.get("tasks", [])
    assert isinstance(roles, list)
    assert isinstance(tasks, list)
    yield from roles
    for task in tasks:
        if imported := task.get("ansible.builtin.import_role"):
            yield f"{imported['name']}: {imported['tasks_from']}"


def test_what_goes_is_let_go_of_first_in_the_other_order_than_it_is_built_up_in() -> None:
    order = [role for play in PLAYS for role in _roles(play)]
    built = ["rdma_nics", "local_nvme_cache", "nvmeof_target", "nvmeof_host"]
    assert order == [
        "nvmeof_host: leave",
        "base: look",
        "nvmeof_host: gone",
        "nvmeof_target: gone",
        "local_nvme_cache: gone",
        "rdma_nics: gone",
        *built,
    ]
    assert [role.partition(":")[0] for role in order[2:6]] == list(reversed(built))


@pytest.mark.parametrize(
    ("role", "name", "marks", "group"),
    [
        ("local_nvme_cache", "local_nvme", ("PLAN", "NOTE"), "local_nvme"),
        ("nvmeof_host", "nvmeof_host", ("KEPT",), "nvmeof_hosts"),
        ("nvmeof_target", "nvmet", ("KEPT",), "nvmeof_targets"),
        ("rdma_nics", "rdma_nics", ("KEPT",), "rdma_nics"),
    ],
)
def test_a_host_that_left_is_known_by_what_a_role_has_noted_there(
    role: str, name: str, marks: tuple[str, ...], group: str
) -> None:
    program, looked_for = programs.load(role, name), yaml.safe_load((BASE / "vars" / "main.yml").read_text())
    for mark in (str(getattr(program, mark)) for mark in marks):
        assert looked_for["base_looked_for"][mark] == {"left": True}
        assert _ran(base_files={"there": [mark]}) == [f"{role} : What is left of it"]
        assert _ran(group, base_files={"there": [mark]}) == []


def test_a_host_without_storage_has_no_task_of_its_own_and_one_where_nobody_has_looked() -> None:
    assert _ran(base_files={"there": []}) == []
    assert _ran() == ["base : What other roles have left here"]


def test_role_base_looks_with_the_files_of_every_host() -> None:
    files = yaml.safe_load((BASE / "tasks" / "configure.yml").read_text())[0]
    assert files["register"] == "base_files"
    assert files["tree"]["files"] == "{{ base__files | combine(base_looked_for) }}"


def _ran(*groups: str, **known: object) -> list[str]:
    """Remote tasks of those plays of storage that every host is in."""
    (leaving,) = (play for play in PLAYS if play["hosts"] == "all")
    return list(check([leaving], *groups, known=known))


@pytest.mark.parametrize("role", ["local_nvme_cache", "nvmeof_host", "nvmeof_target", "rdma_nics"])
def test_a_role_lays_nothing_before_its_program_has_noted_it(role: str) -> None:
    """What a first run that is cut off has laid would else be on a host that leaves, and unknown."""
    tasks = yaml.safe_load((paths.repository() / "roles" / role / "tasks" / "configure.yml").read_text())
    assert [next(name for name in ("program", "tree", "daemon") if name in task) for task in tasks][:2] == [
        "program",
        "tree",
    ]
