from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from bootstrap import lab, places

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.bootstrap.conftest import Program

ANSIBLE = """
echo "$ANSIBLE_CONFIG" > {folder}/config
case "$*" in
    *--list-hosts) printf '  hosts (%s):\\n%s' {count} "{hosts}"; exit ;;
esac
exit {code}
"""


def ping(folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(places.DATA / "ping.sh"), "some.yaml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", [0, 2, 4])
def test_the_answer_of_the_hosts_is_ansibles(tmp_path: Path, program: Program, code: int) -> None:
    program("python", f"echo {tmp_path}/inventory")
    program("ansible", ANSIBLE.format(folder=tmp_path, count=1, hosts="    node-001", code=code))
    assert ping(tmp_path).returncode == code
    assert (tmp_path / "config").read_text() == f"{tmp_path}/inventory/ansible.cfg\n"


def test_an_empty_inventory_is_no_success(tmp_path: Path, program: Program) -> None:
    program("python", f"echo {tmp_path}/inventory")
    program("ansible", ANSIBLE.format(folder=tmp_path, count=0, hosts="", code=0))
    done = ping(tmp_path)
    assert done.returncode == 3
    assert "holds no host" in done.stderr


def test_a_spec_that_cannot_be_read_is_no_success(tmp_path: Path, program: Program) -> None:
    program("python", "echo broken >&2; exit 2")
    program("ansible", "exit 0")
    assert ping(tmp_path).returncode == 2


def test_the_stages_come_in_the_order_of_the_flow() -> None:
    assert [stage.name for stage in lab.up("x.yaml")] == ["lab up", "plan", "up", "inventory", "ping"]
    assert all("x.yaml" in stage.command for stage in lab.up("x.yaml"))
