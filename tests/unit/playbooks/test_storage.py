"""Order of the plays of storage, and the marks by which a host that has no part any more is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from tests.unit.roles.programs import load

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAYS: list[dict[str, object]] = yaml.safe_load(
    (paths.repository() / "playbooks" / "storage.yml").read_text()
)


def _roles(play: dict[str, object]) -> Iterator[str]:
    """``role`` and ``role: tasks_from`` of a play."""
    roles, tasks = play.get("roles", []), play.get("tasks", [])
    assert isinstance(roles, list)
    assert isinstance(tasks, list)
    yield from roles
    for task in tasks:
        if imported := task.get("ansible.builtin.import_role"):
            yield f"{imported['name']}: {imported['tasks_from']}"


def test_links_come_first_who_leaves_leaves_before_its_target_goes_and_who_comes_comes_after() -> None:
    order = [role for play in PLAYS for role in _roles(play)]
    assert order == [
        "rdma_nics",
        "local_nvme_cache",
        "nvmeof_host: leave",
        "nvmeof_host: gone",
        "local_nvme_cache: gone",
        "nvmeof_target: gone",
        "rdma_nics: gone",
        "nvmeof_target",
        "nvmeof_host",
    ]


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
    program, text = load(role, name), (paths.repository() / "playbooks" / "storage.yml").read_text()
    look = next(
        task
        for play in PLAYS
        for task in play.get("tasks", [])  # type: ignore[attr-defined]  # (yaml has no types)
        if "tree" in task
    )
    for mark in marks:
        assert look["tree"]["files"][str(getattr(program, mark))] == {"left": True}
    assert f"'{group}'" in look["when"]
    assert f"\"'{group}' not in group_names\"" in text


@pytest.mark.parametrize("role", ["local_nvme_cache", "nvmeof_host", "nvmeof_target", "rdma_nics"])
def test_a_role_lays_nothing_before_its_program_has_noted_it(role: str) -> None:
    """What a first run that is cut off has laid would else be on a host that leaves, and unknown."""
    tasks = yaml.safe_load((paths.repository() / "roles" / role / "tasks" / "configure.yml").read_text())
    assert [next(name for name in ("program", "tree", "daemon") if name in task) for task in tasks][:2] == [
        "program",
        "tree",
    ]
