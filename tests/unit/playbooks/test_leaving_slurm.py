"""What a host is let go of that leaves Slurm, and a controller whose plan has no link any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from rackwright import paths
from tests.unit.playbooks.plays import Play, check, load

if TYPE_CHECKING:
    from pathlib import Path

ROLES = paths.repository() / "roles"
DROP_IN = "/etc/systemd/system/slurmd.service.d/60-rackwright.conf"
HEALTH = "/usr/local/sbin/rackwright-node-health"
WATCHED = "/etc/systemd/system/timers.target.wants/rackwright-link-reasons.timer"
LOGINS = "/etc/rackwright/logins-by-job"
MODULES = {
    "tree": """\
#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
module = AnsibleModule(argument_spec={"files": {"type": "dict"}}, supports_check_mode=True)
files = module.params["files"]
there = [path for path in %r if files.get(path, {}).get("left")]
absent = sorted(path for path, wanted in files.items() if wanted.get("absent"))
module.exit_json(there=there, changed_paths=[], told=f"absent: {', '.join(absent)}.")
""",
    "daemon": """\
#!/usr/bin/python
from ansible.module_utils.basic import AnsibleModule
spec = {"name": {}, "gone": {"type": "bool"}, "files": {"type": "list"}, "ours": {"type": "bool"}}
spec |= {"reload": {"type": "list"}, "restart_keys": {"type": "list", "no_log": False}}
module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
module.exit_json(told=f"{module.params['name']} gone: {module.params['gone']}.")
""",
}
"""Stand for ours: what is to be brought about is what they say, and some files are there."""


def said(folder: Path, plays: list[Play], *groups: str, there: tuple[str, ...], **known: object) -> str:
    for name, text in MODULES.items():
        (folder / f"{name}.py").write_text(text % (list(there),) if "%r" in text else text)
    return "".join(
        f"{task}: {told}" for task, told in check(plays, *groups, known=known, library=folder).items()
    )


def leaving() -> list[Play]:
    """The play of hosts that are compute nodes no more."""
    return [play for play in load("site") if play["name"] == "Hosts that are no compute nodes any more"]


@pytest.mark.parametrize("marks", [(DROP_IN, HEALTH), (DROP_IN,), (HEALTH,)])
def test_a_host_that_is_a_compute_node_no_more_has_no_slurmd_and_no_health_check(
    tmp_path: Path, marks: tuple[str, ...]
) -> None:
    told = said(tmp_path, leaving(), there=(), base_files={"there": list(marks)})
    assert ("slurmd.service gone: True" in told) == (DROP_IN in marks)
    assert (f"absent: {HEALTH}" in told) == (HEALTH in marks)
    assert said(tmp_path, leaving(), "slurm_nodes", there=(), base_files={"there": list(marks)}) == ""


def test_its_own_mark_goes_last(tmp_path: Path) -> None:
    told = said(tmp_path, leaving(), there=(), base_files={"there": [DROP_IN]})
    assert told.index("gone: True") < told.index("/etc/default/slurmd") < told.index(DROP_IN)


def test_logins_by_job_are_open_before_their_mark_goes(tmp_path: Path) -> None:
    told = said(tmp_path, leaving(), there=(LOGINS,), base_files={"there": [DROP_IN]})
    assert (
        told.index("rackwright-job.conf") < told.index("ssh.service gone: ") < told.index(f"absent: {LOGINS}")
    )


def test_role_base_looks_for_what_such_a_host_has_and_a_host_without_has_no_task_of_it(
    tmp_path: Path,
) -> None:
    looked_for = yaml.safe_load((ROLES / "base" / "vars" / "main.yml").read_text())["base_looked_for"]
    laid = [(ROLES / role / "tasks" / "configure.yml").read_text() for role in ("slurm_node", "node_health")]
    for mark, text in zip((DROP_IN, HEALTH), laid, strict=True):
        assert looked_for[mark] == {"left": True}
        assert f"{mark}:" in text
    assert said(tmp_path, leaving(), there=(), base_files={"there": []}) == ""
    assert said(tmp_path, leaving(), there=()) == "", "where role base has not looked"


def controller(folder: Path, *there: str, links: bool) -> str:
    rendered = folder / "rendered"
    rendered.mkdir()
    if links:
        (rendered / "links.json").write_text("[]")
    role = {
        "ansible.builtin.import_role": {"name": str(ROLES / "slurm_controller"), "tasks_from": "configure"}
    }
    play: Play = {"hosts": "all", "gather_facts": False, "tasks": [role]}
    return said(folder, [play], there=there, slurm_controller_rendered=str(rendered))


def test_links_are_watched_over_while_the_plan_has_one_and_not_after_the_last_has_gone(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / name for name in ("first", "there", "gone", "none")]
    for folder in folders:
        folder.mkdir()
    timer = "rackwright-link-reasons.timer gone: "
    assert f"{timer}False" in controller(folders[0], links=True)
    assert f"{timer}False" in controller(folders[1], WATCHED, links=True)
    assert f"{timer}True" in controller(folders[2], WATCHED, links=False)
    assert timer not in controller(folders[3], links=False)
